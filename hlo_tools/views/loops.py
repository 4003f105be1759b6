"""The loops of kernels, after each pass over them, as the C that they would be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import emit_c
from codegen.printer import text
from emit_c.kernels.passes import PASSES
from hlo.errors.error import HloError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.statements import Statement
    from hlo.instruction import Module


def loops(module: Module, kernel: str | None = None, until: str | None = None) -> str:
    """The loops of a module's kernels as they are written, and after each pass that changes them.

    Parameters
    ----------
    kernel : the instruction whose kernel is shown; all kernels are, if none is named.
    until : the last pass that is shown.

    Raises
    ------
    HloError
        HLO204 if there is no such kernel or pass.
    """
    names = [each.name for each in PASSES]
    if until is not None and until not in names:
        note = f"there are {', '.join(names)}"
        raise HloError("HLO204", f"there is no pass over kernels {until!r}", notes=[note])
    shown = names if until is None else names[: names.index(until) + 1]
    found: list[str] = []
    seen: list[str] = []
    last = [""]

    def watch(name: str, pass_: str, statements: Sequence[Statement]) -> None:
        if not pass_:
            seen.append(name)
        if kernel not in (None, name) or (pass_ and pass_ not in shown):
            return
        made = text(statements)
        if not pass_ or made != last[0]:
            title = f"after {pass_}" if pass_ else "as it is written"
            found.append(f"// {name}: {title}\n{made}")
        last[0] = made

    emit_c.emit(module, watch=watch)
    if kernel is not None and kernel not in seen:
        note = f"there are those of {', '.join(dict.fromkeys(seen))}" if seen else "there is none"
        raise HloError("HLO204", f"no kernel is that of {kernel!r}", notes=[note])
    return "\n".join(found)
