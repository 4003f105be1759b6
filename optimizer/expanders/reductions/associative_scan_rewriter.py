"""Writes an associative scan as a reduce-window that reaches back to the start.

scan(x, c), add   =>   y = add(reduce-window(x, 0), size=n pad=n-1_0, broadcast(c));
                       the outputs are y, the last carry is its last slice

It rewrites only scans whose computation yields one associative operation twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import Scan
from hlo.monoid import MONOIDS
from hlo.types.values import WindowDim
from interpreter.numbers.compare import ROUNDING
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import cut, number, spread, to_dims
from optimizer.expanders.reductions.reduce_window_rewriter import to_end, to_start
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction


@expander(
    "associative-scan-rewriter",
    "scan",
    promise=ROUNDING,
    xla="xla/service/associative_scan_rewriter.cc",
)
def window_to_the_start(site: ExpansionSite) -> Instruction | None:
    """Replaces associative scans by reduce-window."""
    instr, attrs = site.instr, Scan.of(site.instr)
    opcode = folded_opcode(instr.called[0])
    if not (attrs.is_associative and attrs.num_carries == 1 and len(instr.operands) == 2):
        return None
    x, carry = instr.operands
    neutral = MONOIDS[opcode].identity(x.shape.element_type) if opcode else None
    axis, dims, element_type = attrs.dimensions[0], x.shape.dims, x.shape.element_type
    n = dims[axis]
    if neutral is None or not n or len(instr.shape.elements) != 2:
        return None
    reach = to_end(n) if attrs.is_reverse else to_start(n)
    window = tuple(reach if d == axis else WindowDim(1) for d in range(len(dims)))
    initial = number(neutral, element_type)
    folder = site.binary(opcode, element_type)
    runs = make("reduce-window", x, initial, window=window, called=(folder,))
    others = [d for d in range(len(dims)) if d != axis]
    outputs = make(opcode, runs, spread(carry, dims, others))
    last = cut(outputs, axis, 0, 1) if attrs.is_reverse else cut(outputs, axis, n - 1, n)
    return make("tuple", outputs, to_dims(last, carry.shape.dims))


def folded_opcode(body: Computation) -> str:
    """The associative operation that a step yields twice; "" if it does something else."""
    root = body.root
    if root.opcode != "tuple" or len(set(root.operands)) != 1 or len(body.parameters) != 2:
        return ""
    step = root.operands[0]
    simple = step.opcode in MONOIDS and set(step.operands) == set(body.parameters)
    return step.opcode if simple else ""
