"""The loops of each kernel after each pass over them, for a module that is optimized."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from optimizer.dynamic_padder.boundary import static_form
from optimizer.pipelines import prepare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.statements import Statement
    from hlo.instruction import Module
    from optimizer.log import Place


@dataclass(frozen=True)
class KernelStop:
    """A pass over one kernel that changed its loops.

    Attributes
    ----------
    kernel : the instruction whose value it computes.
    pass_ : the name of the pass.
    why : what the pass is for.
    place : where the pass is written.
    before, after : the loops as C, a line each.
    """

    kernel: str
    pass_: str
    why: str
    place: Place
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True)
class KernelState:
    """The loops of a kernel after a pass; as they are written, for the pass ""."""

    kernel: str
    pass_: str
    why: str
    place: Place | None
    lines: tuple[str, ...]


def kernel_stops(module: Module) -> list[KernelStop]:
    """What each pass over kernels changed, kernel by kernel.

    Raises
    ------
    HloError
        HLO181 if the module can't be emitted as C.
    """
    found: list[KernelStop] = []
    last: dict[str, tuple[str, ...]] = {}
    for each in kernel_states(module):
        if each.place is not None:
            before = last[each.kernel]
            stop = KernelStop(each.kernel, each.pass_, each.why, each.place, before, each.lines)
            found.append(stop)
        last[each.kernel] = each.lines
    return found


def kernel_states(module: Module) -> list[KernelState]:
    """The loops of each kernel as they are written, and after each pass that changes them.

    Raises
    ------
    HloError
        HLO181 if the module can't be emitted as C.
    """
    # It takes as long to import as all the rest.
    import emit_c  # noqa: PLC0415
    from codegen.printer import text  # noqa: PLC0415
    from emit_c.kernels.passes import PASSES  # noqa: PLC0415
    from optimizer.log import place_of  # noqa: PLC0415

    passes = {each.name: each for each in PASSES}
    found: list[KernelState] = []
    last: dict[str, tuple[str, ...]] = {}

    def watch(name: str, pass_: str, statements: Sequence[Statement]) -> None:
        lines = tuple(text(statements).splitlines())
        if not pass_:
            found.append(KernelState(name, "", "", None, lines))
        elif lines != last[name]:
            each = passes[pass_]
            found.append(KernelState(name, pass_, each.why, place_of(each.run), lines))
        last[name] = lines

    emit_c.emit(prepare(static_form(module)), watch=watch)
    return found
