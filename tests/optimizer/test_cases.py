"""Golden cases: `tests/cases/<pass>/<case>.hlo` holds an input and the whole expected output.

    // What the case shows.
    // RUN: algebraic-simplifier,dce
    HloModule ...
    // EXPECT
    HloModule ...

`pytest tests/optimizer/test_cases.py --bless` rewrites what is expected, but only if the output
verifies, the interpreter gives the same values as for the input, and a second run changes nothing;
the values of a pass that makes the module compute something else are tested with the pass.
"""

import re
from pathlib import Path
from random import Random

import pytest

import hlo
import interpreter
from hlo.sharded import devices_given
from hlo.verify import verify
from hlo_tools.generate.values import tame
from interpreter.numbers.compare import Promise, compare
from optimizer import Log, parse_pipeline
from optimizer.observers import Silent, keeps_values, promise_of
from tests.sharded import expect_parts

CASES = Path(__file__).parents[1] / "cases"
# Those of `text` are about reading and printing: tests/hlo/test_text_forms.py runs them.
FILES = sorted(path for path in CASES.glob("*/*.hlo") if path.parent.name != "text")
FORM = re.compile(r"(?P<head>(//[^\n]*\n)*)// RUN: (?P<run>[^\n]+)\n(?P<input>.*)", re.DOTALL)
EXPECT = "// EXPECT\n"


class Promises(Silent):
    """Adds up what the passes that change something promise."""

    def __init__(self) -> None:
        self.promise = Promise()

    def after(self, pass_, before, after, log):  # noqa: ARG002
        if after is not before:
            self.promise |= promise_of(pass_)


def check(before, after, pipeline, promise, *, parts):
    """The checks that hold for every case, whatever it expects.

    `parts`: whether each of several devices is given its part of the arguments.
    """
    verify(after)
    assert str(hlo.parse(str(after))) == str(after)
    if not keeps_values(pipeline):
        return
    assert pipeline.run(after) is after, "a second run changes the module again"
    devices = devices_given(before, before.header.replica_count)
    for seed in range(3):
        random, shapes = Random(seed), [p.shape for p in before.entry.parameters]
        if parts:
            expect_parts(before, after, [tame(shape, Random(seed)) for shape in shapes])
            continue
        given = [[tame(shape, random) for shape in shapes] for _ in range(devices)]
        want = interpreter.evaluate(before, per_device=given)
        got = interpreter.evaluate(after, per_device=given)
        for one, other in zip(got, want, strict=True):
            assert compare(one, other, promise) is None


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_case(path, bless):
    text = path.read_text()
    form = FORM.fullmatch(text)
    assert form, "no `// RUN:` line"
    source, _, expected = form["input"].partition(EXPECT)
    before, pipeline, promises = hlo.parse(source), parse_pipeline(form["run"]), Promises()
    after = pipeline.run(before, Log(observers=[promises]))
    check(before, after, pipeline, promises.promise, parts="entry=true" in form["run"])
    got = str(after).strip() + "\n"
    if bless:
        head = text[: text.index(source)] if source in text else text
        path.write_text(head + source.rstrip() + "\n\n" + EXPECT + got)
    else:
        assert got == expected.strip() + "\n"
