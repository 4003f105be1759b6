"""Each pass over kernels makes of the loops in `tests/cases/loops` what these files say."""

import pytest
from loop_cases import CASES, check_file
from loops import loops

from codegen.functions import Function, Parameter
from codegen.kinds import Pointer
from emit_c.kernels.passes import PASSES

FILES = sorted((CASES / "loops").glob("*/*.c"))
RUNS = {each.name: each.run for each in PASSES}
# So little work is enough for threads: loops are short enough to be run in tests.
LEAST_WORK = {"block-reductions": 64, "parallelize": 512}
# They call other functions for the same values.
OF_OTHER_FUNCTIONS = {
    "outline-math", "scalar-conversions", "divide-by-reciprocals", "round-products", "cast-pointers"
}  # fmt: skip


def conversion(name, of_one):
    """A function of the runtime library that converts numbers, one after the other."""
    each = f"for (s64 k = 0; k < n; k++) {{\n  to[k] = {of_one}(from[k]);\n}}"
    arrays = (Parameter(Pointer("f32"), name) for name in ("to", "from"))
    return Function(name, (*arrays, Parameter("s64", "n")), loops(each))


LIBRARY = {
    f"{verb}_each_f16": conversion(f"{verb}_each_f16", f"{verb}_f16")
    for verb in ("load", "narrow", "store")
}


def check_pass(path, bless):
    name = path.parent.name
    library = None if name in OF_OTHER_FUNCTIONS else LIBRARY

    def run(case):
        return RUNS[name](case.kernel, "kernel", case.before)

    with pytest.MonkeyPatch.context() as patch:
        if name in LEAST_WORK:
            patch.setattr(f"emit_c.kernels.{name.replace('-', '_')}.LEAST_WORK", LEAST_WORK[name])
        check_file(
            path, lambda case: RUNS[name](case.kernel, "kernel", case.before), bless, library
        )


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_case(path, bless):
    check_pass(path, bless)


def test_every_pass_has_cases():
    assert {path.parent.name for path in FILES} == RUNS.keys()


def test_a_pass_that_changes_memory_is_not_blessed(tmp_path, monkeypatch):
    """A loop of one iteration less: the file keeps what it says."""
    path = tmp_path / "parallelize/shorter.c"
    path.parent.mkdir()
    path.write_text("for (s64 i = 0; i < 9; i++) {\n  y[i] = x[i];\n}\n// STAYS\n")
    before = path.read_text()
    shorter = loops(before.replace("9", "8").partition("//")[0])
    monkeypatch.setitem(RUNS, "parallelize", lambda *_: shorter)
    with pytest.raises(AssertionError):
        check_pass(path, bless=True)
    assert path.read_text() == before
