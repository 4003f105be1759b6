"""The orders of searches, on numbers."""

import pytest

from hlo_tools.search.orders import Judge, chunks, downhill, first, halving


def test_the_first_finding_ends_a_search():
    told = []
    judge = Judge(lambda n: f"{n} is odd" if n % 2 else None, lambda *each: told.append(each))
    assert first([2, 4, 5, 7], judge) == (5, "5 is odd")
    assert told == [(2, None), (4, None), (5, "5 is odd")]
    assert first([2, 4], judge) is None


def test_after_its_last_question_a_judge_finds_nothing():
    """It asks for no more candidates then, of which there may be no end."""
    asked = []
    judge = Judge(asked.append, tries=2)
    assert first(iter(int, 1), judge) is None
    assert asked == [0, 0]
    clock = iter([0, 1, 1, 3, 3])
    late = Judge(asked.append, deadline=2, clock=lambda: next(clock))
    assert first(iter(int, 1), late) is None
    assert asked == [0, 0, 0, 0]


def test_nothing_is_asked_twice_of_which_the_text_was_refused():
    asked = []
    judge = Judge(asked.append, text=str)
    assert first([1, 2, 1, 2, 3], judge) is None
    assert asked == [1, 2, 3]


def test_a_way_down_ends_where_no_step_will_do():
    judge = Judge(lambda n: n >= 11 or None)
    assert downhill(100, lambda n: (n // 2, n - 1), judge) == 11


@pytest.mark.parametrize("place", range(1, 9))
def test_halving_finds_the_first_wrong_one(place):
    asked = []
    judge = Judge(lambda n: n if n >= place else None, lambda n, _: asked.append(n))
    assert halving(0, 8, 8, judge) == (place, place)
    assert len(asked) == 3


def test_chunks_are_halves_and_then_quarters():
    assert list(map("".join, chunks("abcdefgh", 2))) == ["abcd", "efgh", "ab", "cd", "ef", "gh"]
    assert list(chunks("abc", 2)) == []
