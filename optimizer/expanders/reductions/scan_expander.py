"""Writes a scan as a while loop that takes a slice of each array an iteration.

scan(x, c), to_apply=f   =>   for i in 0, 1, ..., n - 1:   y, c = f(x[i], c);   out[i] = y
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import Scan
from optimizer.expanders.op_expander import ExpansionSite, elements, expander
from optimizer.expanders.parts import number, to_dims
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander("scan_expander", "scan", xla="xla/hlo/transforms/expanders/scan_expander.cc", always=True)
def loop_over_slices(site: ExpansionSite) -> Instruction:
    """Replaces scan by while."""
    instr, attrs = site.instr, Scan.of(site.instr)
    axis, inputs = attrs.dimensions[0], len(instr.operands) - attrs.num_carries
    count = instr.operands[0].shape.dims[axis]
    shapes = instr.shape.elements if instr.shape.is_tuple else (instr.shape,)
    outputs = [splat(0, shape) for shape in shapes[: len(shapes) - attrs.num_carries]]
    body, first_state = instr.called[0], inputs + len(outputs)

    def step(iteration: Instruction, *state: Instruction) -> list[Instruction]:
        index = make("subtract", count - 1, iteration) if attrs.is_reverse else iteration
        slices = [slice_at(x, axis, index) for x in state[:inputs]]
        result = make("call", *slices, *state[first_state:], called=(body,))
        values = elements(result) if result.shape.is_tuple else [result]
        written = [
            put_at(output, axis, index, value)
            for output, value in zip(state[inputs:first_state], values, strict=False)
        ]
        return [*state[:inputs], *written, *values[len(written) :]]

    state = [*instr.operands[:inputs], *outputs, *instr.operands[inputs:]]
    # No slice can be cut from nothing.
    state = site.repeat(count, state, step) if count else state
    return make("tuple", *state[inputs:]) if instr.shape.is_tuple else state[inputs]


def slice_at(x: Instruction, axis: int, index: Instruction) -> Instruction:
    """The slice at one index of a dimension, without that dimension."""
    dims = list(x.shape.dims)
    sizes = (*dims[:axis], 1, *dims[axis + 1 :])
    taken = make("dynamic-slice", x, *starts(x, axis, index), dynamic_slice_sizes=sizes)
    return to_dims(taken, dims[:axis] + dims[axis + 1 :])


def put_at(x: Instruction, axis: int, index: Instruction, value: Instruction) -> Instruction:
    """The array with another slice at one index of a dimension."""
    dims = x.shape.dims
    slab = to_dims(value, (*dims[:axis], 1, *dims[axis + 1 :]))
    return make("dynamic-update-slice", x, slab, *starts(x, axis, index))


def starts(x: Instruction, axis: int, index: Instruction) -> list[Instruction]:
    """The start of a slice: at an index of one dimension, and at 0 in the others."""
    zero = number(0, index.shape.element_type)
    return [index if d == axis else zero for d in range(x.shape.rank)]
