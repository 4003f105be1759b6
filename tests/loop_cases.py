"""Golden cases of loops: `tests/cases/loops` are of passes, `tests/cases/schedule` of primitives.

    // What the case shows.
    // RUN: divide(body, loop, 4, block)
    // GIVEN: const f32 x[], f32 y[64]
    loops
    // EXPECT
    the loops that become of them

Cases of one file have empty lines between them. `// STAYS` follows loops that stay as they are, and
`// REFUSED: why` those that a primitive does not take. `RUN` stands in cases of primitives only: a
pass is called as its folder. `GIVEN` says what is known of the kernel's arguments; `tests/loops.py`
says how loops are written. `--bless` rewrites what is expected, but only where both leave the same
memory: see `codegen.interpret`.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from loops import arguments, reader_of, shown

from codegen.elements.constants import Constants
from codegen.elements.kernel import Scope
from codegen.interpret import UnsupportedError, final_memory
from codegen.schedule.legality import IllegalError
from codegen.statements import changed_in, names_in
from emit_c.code.names import CNames
from emit_c.kernels.kernel import CKernel

CASES = Path(__file__).parent / "cases"
FORM = re.compile(
    r"(?P<source>(// (?!RUN|GIVEN)[^\n]+\n)*(// RUN: (?P<run>[^\n]+)\n)?"
    r"(// GIVEN: (?P<given>[^\n]+)\n)?(?P<loops>[^/].+?))"
    r"(// STAYS|// REFUSED: [^\n]+|// EXPECT\n?.*?)\n*",
    re.DOTALL,
)


class Case(NamedTuple):
    """Loops of a kernel, what is done to them, and what reads an expression of theirs."""

    source: str
    run: str
    kernel: CKernel
    before: tuple
    tree: Callable


def parsed(text):
    form = FORM.fullmatch(text)
    assert form, f"no case:\n{text}"
    before, tree = reader_of(form["loops"])
    kernel = CKernel(Constants(CNames()), Scope())
    for known in dict.fromkeys((*names_in(before), *changed_in(before))):
        kernel.names.unique(known)
    kernel.arguments.update(arguments(form["given"] or ""))
    return Case(form["source"], form["run"] or "", kernel, before, tree)


def expect_same_memory(case, after, library):
    """Loops must leave what they left before. Of some, only compiled code can tell."""
    functions = {**library, **case.kernel.writer.functions}
    try:
        meant = final_memory(case.before, steps=25_000)
        assert final_memory(after, functions=functions) == meant
        assert final_memory(after, functions=functions, lanes=True) == meant
    except UnsupportedError:
        pass


def rewritten(text, transform, library=None):
    """A case as text, with what really becomes of its loops.

    Parameters
    ----------
    library : other functions that the loops may call; None to compare no memory.
    """
    case = parsed(text)
    try:
        after = tuple(transform(case))
    except IllegalError as error:
        return f"{case.source}// REFUSED: {error}\n"
    if after == case.before:
        return f"{case.source}// STAYS\n"
    if library is not None:
        expect_same_memory(case, after, library)
    return f"{case.source}// EXPECT\n{shown(after)}"


def check_file(path, transform, bless, library=None):
    """Whether the cases of a file are as it says; or let it say what they are."""
    text = path.read_text()
    got = "\n".join(rewritten(case, transform, library) for case in text.split("\n\n"))
    if bless:
        path.write_text(got)
    else:
        assert got == text, f"{path} is now:\n{got}"
