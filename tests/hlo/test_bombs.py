"""Short texts that stand for much, or make readers look at the same again and again.

Each is refused, or is read in a time that grows with its length. No test measures time: what used
to take minutes would not end here either.
"""

import pytest

import hlo
import optimizer
from hlo.errors.error import MOST_COMPARED, did_you_mean
from hlo.read.budget import MOST_BYTES, MOST_LEAVES


def entry(*lines: str) -> str:
    return "HloModule m\n\nENTRY e {\n" + "\n".join(f"  {line}" for line in lines) + "\n}\n"


def doubled(times: int) -> str:
    steps = [f"t{i + 1} = tuple(t{i}, t{i})" for i in range(times)]
    return entry("t0 = f32[] parameter(0)", *steps, "ROOT n = f32[] negate(t0)")


def nested(depth: int) -> str:
    steps = [f"t{i + 1} = tuple(t{i})" for i in range(depth)]
    return entry("t0 = f32[] parameter(0)", *steps, f"ROOT n = tuple(t{depth})")


@pytest.mark.parametrize("times", [18, 21, 60, 1000])
def test_tuples_of_tuples_are_bounded_where_their_shapes_are_left_out(times: int) -> None:
    with pytest.raises(hlo.HloError, match=f"more than {MOST_LEAVES:,} arrays") as caught:
        hlo.parse(doubled(times))
    assert caught.value.code == "HLO020"
    assert caught.value.span is not None
    assert caught.value.span.line == 22


def test_tuples_of_tuples_within_the_bound_are_optimized() -> None:
    module = hlo.parse(doubled(14))
    hlo.verify(module)
    assert len(optimizer.optimize(module).entry.instructions) == 2
    assert hlo.parse(str(module)).to_string() == str(module)


def test_a_text_may_write_out_as_many_arrays_as_it_likes() -> None:
    shape = "(" + ", ".join(["f32[]"] * 1000) + ")"
    lines = [f"p{i} = {shape} parameter({i})" for i in range(2 * MOST_LEAVES // 1000)]
    assert len(hlo.parse(entry(*lines, "ROOT n = tuple()")).entry.instructions) == len(lines) + 1


@pytest.mark.parametrize("depth", [320, 1000, 5000])
def test_inferred_tuples_are_nested_no_deeper_than_written_ones(depth: int) -> None:
    with pytest.raises(hlo.HloError, match="nested more than 90 deep") as caught:
        hlo.parse(nested(depth))
    assert caught.value.code == "HLO020"


def test_the_deepest_nesting_is_optimized_and_printed() -> None:
    module = hlo.parse(nested(89))
    hlo.verify(module)
    assert str(hlo.parse(str(module))) == str(module)
    assert optimizer.optimize(module).entry.root.shape == module.entry.root.shape


@pytest.mark.parametrize("piece", ['"\\', "'\"\\", '"/* ', '"', "\"'"])
def test_quotes_that_nothing_closes(piece: str) -> None:
    with pytest.raises(hlo.HloError) as caught:
        hlo.parse("// x\n" + piece * 200_000)
    assert caught.value.code == "HLO001"


def test_comments_behind_a_quote_in_quotes_are_comments() -> None:
    line = "ROOT p = f32[] parameter(0), frontend_attributes={a='\"'} // a comment"
    assert hlo.parse(entry(line + "\n/* another */")).entry.root.name == "p"


def test_constants_of_one_element_are_bounded_together() -> None:
    lines = [f"k{i} = f32[1048576] constant({i})" for i in range(1000)]
    with pytest.raises(hlo.HloError, match=f"more than {MOST_BYTES:,} bytes") as caught:
        hlo.parse(entry(*lines, "ROOT n = tuple()"))
    assert caught.value.code == "HLO003"
    assert caught.value.span is not None
    assert caught.value.span.line <= 80


def test_no_word_is_compared_with_too_many() -> None:
    words = [f"{'a' * 150}{i:043}" for i in range(20_000)]
    assert did_you_mean("a" * 150 + "x" * 43, words)
    assert not did_you_mean("a" * MOST_COMPARED, words)
