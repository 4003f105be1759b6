"""Golden cases of passes over loops: `tests/cases/loops/<pass>/<what is shown>.c`.

    // What the case shows.
    // GIVEN: const f32 x[], f32 y[64]
    loops
    // EXPECT
    the loops after the pass

Cases of one file have empty lines between them. `// STAYS` follows loops that the pass leaves as
they are; `GIVEN` says what it knows of the kernel's arguments; `tests/loops.py` says how loops are
written. `pytest tests/emit_c/test_loop_cases.py --bless` rewrites what is expected, but only if
both leave the same memory: see `codegen.interpret`.
"""

import re
from pathlib import Path

import pytest
from loops import arguments, loops, shown

from codegen.elements.constants import Constants
from codegen.elements.kernel import Argument, Scope
from codegen.interpret import UnsupportedError, final_memory
from codegen.statements import changed_in, names_in
from emit_c.code.names import CNames
from emit_c.kernels.kernel import CKernel
from emit_c.kernels.passes import PASSES
from optimizer import machine

CASES = Path(__file__).parents[1] / "cases/loops"
FILES = sorted(CASES.glob("*/*.c"))
FORM = re.compile(
    r"(?P<head>(// [^\n]+\n)*?)(// GIVEN: (?P<given>[^\n]+)\n)?(?P<loops>[^/].+?)"
    r"(// STAYS|// EXPECT\n?.*?)\n*",
    re.DOTALL,
)
RUNS = {each.name: each.run for each in PASSES}
# So little work is enough for threads: loops are short enough to be run in tests.
LEAST_WORK = {"block-reductions": 64}
# They call other functions for the same values.
OF_OTHER_FUNCTIONS = {"outline-math", "scalar-conversions", "divide-by-reciprocals"}


def expect_same_memory(before, after):
    """Loops must leave what they left before. Of some, only compiled code can tell."""
    try:
        meant = final_memory(before, steps=10_000)
        assert final_memory(after) == meant
        assert final_memory(after, lanes=True) == meant
    except UnsupportedError:
        pass


def run_case(name, case):
    """A case as text, with what the pass really makes of its loops."""
    form = FORM.fullmatch(case)
    assert form, f"no case:\n{case}"
    before = loops(form["loops"])
    kernel = CKernel(Constants(CNames()), Scope())
    for known in dict.fromkeys((*names_in(before), *changed_in(before))):
        kernel.names.unique(known)
    for known, (kind, size) in arguments(form["given"] or "").items():
        kernel.arguments[known] = Argument(kind, known, known, size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine, "LEAST_WORK", LEAST_WORK.get(name, machine.LEAST_WORK))
        after = tuple(RUNS[name](kernel, "kernel", before))
    if name not in OF_OTHER_FUNCTIONS and after != before:
        expect_same_memory(before, after)
    source = case[: form.end("loops")]
    return source + ("// STAYS\n" if after == before else f"// EXPECT\n{shown(after)}")


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_case(path, bless):
    cases = path.read_text().split("\n\n")
    got = "\n".join(run_case(path.parent.name, case) for case in cases)
    if bless:
        path.write_text(got)
    else:
        assert got == path.read_text()


def test_cases_are_of_passes():
    assert {path.name for path in CASES.iterdir()} <= RUNS.keys()
