"""Arrays that devices hold parts of, in one or several cuts, and how to get another one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hlo.attributes import Iota
from hlo.types.element_type import S32
from hlo.types.shape import array
from optimizer.expanders.parts import less, to_type
from optimizer.partitioning.communication import looked_up
from optimizer.partitioning.cuts import ArrayCut, CutAxis
from optimizer.partitioning.resharding import Way, way
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape


@dataclass
class Held:
    """An array of which each device holds a part.

    Attributes
    ----------
    shape : of the whole array.
    versions : the instruction that computes the part of the device that runs it, for each cut
        that was computed so far; the first one comes from the instruction itself.
    made_by : for an array that needs no others, its instruction: see `is_free`.
    """

    shape: Shape
    versions: dict[ArrayCut, Instruction] = field(default_factory=dict[ArrayCut, "Instruction"])
    made_by: Instruction | None = None

    @property
    def cut(self) -> ArrayCut:
        """The cut in which it was computed."""
        return next(iter(self.versions))

    def nearest(self, cut: ArrayCut) -> tuple[ArrayCut, Way]:
        """The version from which a cut is had with fewest bytes, and the way.

        Of summands, blocks in their places before all of the array on one device.
        """
        dims = self.shape.dims
        ways = [(version, way(version, cut, dims)) for version in self.versions]
        return min(ways, key=lambda w: (w[1].cost, len(w[1].steps), w[0].is_whole))

    def price(self, cut: ArrayCut) -> int:
        """The bytes that a device receives for a cut."""
        if self.made_by or not self.shape.is_array or cut in self.versions:
            return 0
        cost = self.nearest(cut)[1].cost
        return -(-cost * self.shape.element_type.bits // 8)


def free_part(instr: Instruction, cut: ArrayCut) -> Instruction | None:
    """A device's part of an array that needs no others; None if it is to be cut from the whole."""
    shape = cut.local(instr.shape)
    if instr.opcode == "broadcast":
        return make("broadcast", instr.operands[0], shape=shape, dimensions=())
    if instr.opcode == "iota":
        along = Iota.of(instr).iota_dimension
        here = make("iota", shape=shape, iota_dimension=along)
        axis = cut.dims[along]
        if axis is None:
            return here
        start = looked_up([place * shape.dims[along] for place in axis.places])
        kind = shape.element_type
        return make(
            "add", here, make("broadcast", to_type(start, kind), shape=shape, dimensions=())
        )
    return None


def beyond(
    part: Instruction, dim: int, axis: CutAxis, extent: int, fill: Instruction
) -> Instruction:
    """A part with a value in the rows that reach past the end of the array.

    Parameters
    ----------
    extent : of the whole dimension.
    fill : a scalar.
    """
    size = part.shape.dims[dim]
    return within(part, dim, [place * size for place in axis.places], extent, fill)


def within(
    part: Instruction, dim: int, starts: list[int], extent: int, fill: Instruction
) -> Instruction:
    """Rows of a window that exist, and a value in others.

    Parameters
    ----------
    starts : the first row of each device's window.
    """
    dims, size = part.shape.dims, part.shape.dims[dim]
    index = make("iota", shape=array(S32, dims), iota_dimension=dim)
    if any(starts):
        start = make("broadcast", looked_up(starts), shape=array(S32, dims), dimensions=())
        index = make("add", index, start)
    exists = None
    if max(starts) + size > extent:
        exists = less(index, extent)
    if min(starts) < 0:
        late = make("compare", index, 0, direction="GE")
        exists = late if exists is None else make("and", exists, late)
    if exists is None:
        return part
    return make("select", exists, part, make("broadcast", fill, shape=part.shape, dimensions=()))
