"""Iterations maps into the array operations that they stand for.

    add { a = f32[] parameter(0)             ROOT m = f32[4] add(x, y)
          b = f32[] parameter(1)
          ROOT c = f32[] add(a, b) }
    ROOT m = f32[4] map(x, y), dimensions={0}, to_apply=add

XLA does this for bodies of one instruction and expands others later; here any body of elementwise
instructions and constants is inlined, each scalar made an array of the map's dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.opcode import GIVEN
from hlo.types.shape import array
from hlo.walk import names_of
from optimizer.passes import register
from optimizer.rewriting.make import make
from optimizer.rewriting.sites import replace_each

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module
    from hlo.names import NameSupply
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class MapInliner:
    """Replaces maps by elementwise instructions on arrays."""

    name = "map-inline"
    xla = "xla/service/map_inliner.cc"

    def run(self, module: Module, log: Log) -> Module:
        """The module without maps of elementwise bodies."""
        names = names_of(module)

        def inlined(instr: Instruction) -> Instruction | None:
            simple = instr.opcode == "map" and is_elementwise(instr.called[0])
            return over_arrays(instr, names) if simple else None

        return replace_each(module, log, "inline", inlined)


def is_elementwise(body: Computation) -> bool:
    """Whether a scalar computation can be applied to whole arrays instruction by instruction."""
    return all(i.opcode in GIVEN or i.row.elementwise for i in body.instructions)


def over_arrays(instr: Instruction, names: NameSupply) -> Instruction:
    """The map's body, applied to whole arrays."""
    body, dims = instr.called[0], instr.shape.dims
    became = dict(zip(body.parameters, instr.operands, strict=True))
    for scalar in body.instructions:
        if scalar in became:
            continue
        shape = array(scalar.shape.element_type, dims)
        elementwise = scalar.with_(
            name=names.unique(scalar.name),
            operands=tuple([became[o] for o in scalar.operands]),
            control_predecessors=(),
            annotations=instr.annotations,
        )
        if scalar.opcode == "constant":
            spread = make("broadcast", elementwise, shape=shape, dimensions=())
            became[scalar] = spread.with_(name=names.unique("broadcast"))
        else:
            became[scalar] = elementwise.with_(shape=shape)
    return became[body.root]
