"""ragged-all-to-all of a device that is alone: rows of its input go to rows of its output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.callees import BUILTINS, FUNCTIONS
from codegen.elements.table import Rewritten, WholeArray, elements
from codegen.expressions import Name, item
from hlo.errors.error import HloError
from optimizer.expanders.degenerate_collective_remover import ALONE, ENDS, STARTS, is_alone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.body import Body
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape

# A compiled module runs on one device, so every group has one member.
OTHERS = "it works with other devices, and compiled modules run on one; the interpreter on several"


def write_ragged_all_to_all(body: Body, instr: Instruction, outputs: Sequence[Name]) -> None:
    """The output, with slices of rows of the input; rows that do not exist are not copied.

    Raises
    ------
    HloError
        HLO181 if other devices take part.
    """
    if not is_alone(instr):
        raise HloError("HLO181", f"{instr.name}: {instr.opcode}: {OTHERS}", instr.span)
    rows, result, starts, sizes, targets, _ = instr.operands
    from_, to = rows.shape.dims[0], result.shape.dims[0]
    bytes_ = _row_bytes(result.shape)
    body.call(BUILTINS["memcpy"], outputs[0], body.pointer(result), to * bytes_)
    for k in range(starts.shape.size):
        body.call(
            FUNCTIONS["copy_rows"],
            *(outputs[0], to, body.pointer(rows), from_, bytes_),
            *(item(body.pointer(vector), k) for vector in (starts, sizes, targets)),
        )


def _row_bytes(shape: Shape) -> int:
    return shape.size // max(shape.dims[0], 1) * shape.element_type.bytes


elements.define("ragged-all-to-all", WholeArray(write_ragged_all_to_all))
elements.define_all(
    dict.fromkeys((*ALONE, *STARTS, *ENDS), Rewritten("degenerate-collective-remover", OTHERS))
)
