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
from codegen.functions import Function, Parameter
from codegen.interpret import UnsupportedError, final_memory
from codegen.kinds import Pointer
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
LEAST_WORK = {"block-reductions": 64, "parallelize": 512}
# They call other functions for the same values.
OF_OTHER_FUNCTIONS = {"outline-math", "scalar-conversions", "divide-by-reciprocals"}


def conversion(name, of_one):
    """A function of the runtime library that converts numbers, one after the other."""
    each = f"for (s64 k = 0; k < n; k++) {{\n  to[k] = {of_one}(from[k]);\n}}"
    arrays = (Parameter(Pointer("f32"), name) for name in ("to", "from"))
    return Function(name, (*arrays, Parameter("s64", "n")), loops(each))


LIBRARY = {
    f"{verb}_each_f16": conversion(f"{verb}_each_f16", f"{verb}_f16")
    for verb in ("load", "narrow", "store")
}


def expect_same_memory(before, after, functions):
    """Loops must leave what they left before. Of some, only compiled code can tell."""
    known = {**LIBRARY, **functions}
    try:
        meant = final_memory(before, steps=25_000)
        assert final_memory(after, functions=known) == meant
        assert final_memory(after, functions=known, lanes=True) == meant
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
        expect_same_memory(before, after, kernel.writer.functions)
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
