"""A kernel for a grid of threads in the making, with the memory that its threads share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.elements.kernel import Kernel
from codegen.expressions import Name
from codegen.statements import live
from emit_cuda.grids.stages import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codegen.elements.constants import Constants
    from codegen.elements.kernel import Scope
    from codegen.elements.names import Names
    from codegen.elements.table import Entry
    from codegen.statements import Statement
    from emit_cuda.grids.stages import Shared
    from hlo.table import OpTable

    Schedule = Callable[["GridKernel", str, Sequence[Statement]], Sequence[Statement]]


class GridKernel(Kernel):
    """A kernel in the making, of one launch or several.

    Parameters
    ----------
    table, names, constants, scope : as of every kernel.
    repeats : it is in a loop, where launches are dear, and one block may do small ones in turns.
    most_shared : bytes of shared memory that a block may ask for.

    Attributes
    ----------
    schedule : gives other statements for plain loops of a kernel, by the name of its instruction.
    rooms : memory of the device in which one launch leaves something to the next: by its name in
        the kernel the element type and how many there are.
    """

    def __init__(
        self,
        table: OpTable[Entry],
        names: Names,
        constants: Constants,
        scope: Scope,
        *,
        repeats: bool,
        most_shared: int,
    ) -> None:
        super().__init__(table, names, constants, scope)
        self.repeats, self.most_shared = repeats, most_shared
        self.schedule: Schedule | None = None
        self.rooms: dict[str, tuple[str, int]] = {}
        self._shared: list[tuple[str, str, int]] = []

    def room(self, kind: str, wanted: str, size: int) -> Name:
        """An array that one launch leaves to the next."""
        name = self.body.name(wanted)
        self.rooms[name] = kind, size
        return Name(name)

    def shared_array(self, kind: str, wanted: str, size: int) -> Name:
        """An array in the memory that a block's threads share, for the launch that comes next."""
        name = self.body.name(wanted)
        self._shared.append((kind, name, size))
        return Name(name)

    def stage(
        self,
        statements: Sequence[Statement],
        blocks: int,
        threads: int | tuple[int, int],
        kind: str,
        *,
        shared: Shared = (),
        aligned: int = 0,
        resident: int = 1,
    ) -> Stage:
        """A launch, with the shared arrays that were asked for; its other fields: see `Stage`."""
        x, y = threads if isinstance(threads, tuple) else (threads, 1)
        shared, self._shared = (*shared, *self._shared), []
        return Stage(
            live(statements), (blocks, 1, 1), (x, y, 1), shared,
            kind=kind, aligned=aligned, resident=resident,
        )  # fmt: skip
