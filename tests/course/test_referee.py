"""A referee asks answers in another process, and says the same of them as a check beside them.

Here a thread takes the place of the process; `test_forged` has processes, and answers that cheat.
"""

import json
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from course.test_exercises import COMPILED, WRONG, promised

import hlo
from hlo.types.element_type import F32
from hlo.types.shape import array
from hlo_tools.exercises.answer_process import called
from hlo_tools.exercises.apart import GradedAnswer, checked
from hlo_tools.exercises.catalogue import EXERCISES
from hlo_tools.exercises.exercise import Submission
from hlo_tools.exercises.finding import ToldError
from hlo_tools.exercises.referee import Performer, RemoteSubmission, ask
from hlo_tools.exercises.wire import Unknown, Wire, WireError, heard, told

SOLVED = [n for n, e in EXERCISES.items() if e.suffix == ".py"]
# One wrong answer of each exercise is tried in each run of the tests, but for those that call back
# thousands of times, and kernels.
QUICK = {p.parent: p for p in reversed(WRONG) if int(p.parts[-3]) not in (33, 36, *COMPILED)}
ASKED = [p for p in WRONG if p.suffix != ".hlo"]


@contextmanager
def wires(perform: Callable[[Wire], None]) -> Generator[Wire]:
    """The referee's end of pipes to a thread."""
    (asked, asks), (answers, gives) = os.pipe(), os.pipe()
    thread = Thread(target=perform, args=[Wire(asked, gives)])
    thread.start()
    try:
        yield Wire(answers, asks)
    finally:
        os.close(asks)
        thread.join()
        for end in (asked, answers, gives):
            os.close(end)


def refereed(number: int, answer: Submission, path: Path, examples: int) -> GradedAnswer:
    """What a referee says of an answer that a thread reads and runs."""

    def perform(wire: Wire) -> None:
        wire.send(json.dumps(told(("read",))).encode())
        Performer(answer, wire).all()

    exercise = EXERCISES[number]
    with wires(perform) as wire:
        return checked(exercise, lambda: ask(exercise, path, wire), examples, shrinking=0)


@pytest.mark.parametrize("number", SOLVED)
def test_the_projects_own_is_right(number: int) -> None:
    report = refereed(number, EXERCISES[number].own(), Path("own.py"), 5)
    assert report.status == "right", report


@pytest.mark.parametrize(
    "path",
    [p if QUICK.get(p.parent) == p else pytest.param(p, marks=pytest.mark.slow) for p in ASKED],
    ids=lambda path: f"{path.parts[-3]}-{path.stem}",
)
def test_a_wrong_answer_is_told_what_is_wrong(path: Path) -> None:
    number = int(path.parts[-3])
    report = refereed(number, EXERCISES[number].read(path), path, 100)
    assert not report.is_right
    assert promised(path) in report.message


@pytest.mark.parametrize(
    "value",
    [
        None, True, -7, 1 << 200, 1.5, float("inf"), "text", b"\x00\xff", 2 - 3j,
        [1, [2]], (1, (2,)), {3, 4}, frozenset((5,)), {"a": 1, (2, 3): [None]},
    ],
    ids=repr,
)  # fmt: skip
def test_data_arrives_as_it_is(value: Any) -> None:
    got = heard(json.dumps(told(value)).encode())
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize("kind", ["bool", "int8", "float32", "complex64", "bfloat16"])
def test_arrays_arrive_to_the_bit(kind: str) -> None:
    from ml_dtypes import bfloat16  # noqa: PLC0415

    given = np.arange(-3, 3).reshape(2, 3).astype(bfloat16 if kind == "bfloat16" else kind)
    for each in (given, given[0, 1], given[:0], np.asfortranarray(given)):
        got = heard(json.dumps(told(each)).encode())
        assert (got.dtype, got.shape, got.tobytes()) == (each.dtype, each.shape, each.tobytes())


def test_modules_arrive_with_their_order() -> None:
    """The text does not show in which order two effects happen."""
    text = """ENTRY e {
      t = token[] after-all()
      a = f32[] constant(1)
      b = f32[] constant(2)
      second = token[] outfeed(b, t)
      first = token[] outfeed(a, t)
      ROOT r = (token[], token[]) tuple(first, second)
    }"""
    module = hlo.parse(text)
    got = heard(json.dumps(told(module)).encode())
    assert [i.name for i in got.entry.instructions] == [i.name for i in module.entry.instructions]
    assert heard(json.dumps(told(module, [module])).encode(), [module]) is module
    assert heard(json.dumps(told(array(F32, (2, 3)))).encode()) == array(F32, (2, 3))


@pytest.mark.parametrize(
    "message",
    [
        b"", b"\xff", b"[" * 100000, b"1" * 10000, b'{"builtins.eval": "1"}', b'{"set": [[1]]}',
        b'{"a": 1, "b": 2}', b'{"array": ["object", [1], "AAAAAAAAAAA="]}', b'{"module": 3}',
        b'{"array": ["float32", [1000000000, 1000000000], ""]}', b'{"bytes": "?"}', b"{}",
    ],
)  # fmt: skip
def test_what_is_no_message_is_refused(message: bytes) -> None:
    with pytest.raises(WireError):
        heard(message)


def test_functions_are_called_back_and_errors_are_told() -> None:
    asked: list[Any] = []

    def fails(items: Any) -> bool:
        asked.append(items)
        return bool(items[0])

    def twice(items: Any, test: Callable[[Any], bool]) -> Any:
        return [test(items), test([0]), object()]

    def perform(wire: Wire) -> None:
        Performer(Submission({"twice": twice}, Path("answer.py")), wire).all()

    with wires(perform) as wire:
        answer = RemoteSubmission({}, Path("answer.py"), "", wire)
        *tests, other = called(answer, "twice", [1], fails)
        assert tests == [True, False]
        assert isinstance(other, Unknown)
        assert asked == [[1], [0]]
        with pytest.raises(ToldError, match="IndexError: list index out of range"):
            called(answer, "twice", [], fails)
