"""Scatters by a thread for each element of the updates, which meet in atomic operations.

Where updates may meet, an operation is needed that hardware does in one step, and whose order does
not count; of sums of floats it changes the rounding, as it does in XLA. Where they never meet, any
computation does. In all other scatters one thread combines the updates of an element, in their
order; where windows lie side by side, there is such a thread for each of their elements. Where few
threads would have many updates, or the same bits are required on every run
(`--xla_gpu_deterministic_ops`), the pass `scatter_determinism_expander` lets updates never meet.

Where many updates meet in few elements, as in a histogram, each block combines its updates in a
copy in shared memory first, and then each element of that with the result (*privatization*).

References
----------
XLA, `xla/backends/gpu/codegen/emitters/scatter.cc`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS
from codegen.elements.folds import OPERATIONS, neutral
from codegen.expressions import Cast, Name, Op, binary, indexed, item
from codegen.kinds import Pointer, Vector
from codegen.opcodes.updating import combine_elements, copy, write_scatter
from codegen.statements import Call, For, Let, LocalVariable
from emit_cuda.grids.groups import WAVE
from emit_cuda.grids.stages import (
    BARRIER,
    LARGE_BLOCK,
    SHARED_BYTES,
    in_turns,
    iterations,
    needed,
    stages,
    thread_number,
)
from emit_cuda.grids.tile_sizes import MULTIPROCESSORS
from hlo import attributes as a
from hlo.types.element_type import F32
from optimizer.analysis.indexing import linear
from optimizer.gpu.atomics import NARROW, atomic_of, update_dims_apart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Expr
    from emit_cuda.grids.kernel import CudaKernel
    from emit_cuda.grids.stages import Launches
    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType
    from optimizer.analysis.indexing import Index

# Floats that a GPU adds to memory in one instruction.
FOUR = 4
# CUDA's functions, by opcode.
_ATOMICS = {
    "add": FUNCTIONS["atomicAdd"],
    "and": FUNCTIONS["atomicAnd"],
    "maximum": FUNCTIONS["atomicMax"],
    "minimum": FUNCTIONS["atomicMin"],
    "or": FUNCTIONS["atomicOr"],
    "xor": FUNCTIONS["atomicXor"],
}
# Updates for each element of a block's copy.
MANY_EACH = 8
# Sums and bits of signed words are those of unsigned ones.
_UNSIGNED = {"s32": "u32", "s64": "u64"}


def write_scatter_in_parallel(body: Body, instr: Instruction, outputs: Sequence[Name]) -> None:
    """The operands, then all updates combined into them at once, where that is possible."""
    attrs = a.Scatter.of(instr)
    if attrs.unique_indices:
        write_scatter(body, instr, outputs, combine_elements)
    elif _are_neighbours(instr):
        write_scatter(body, instr, outputs, _add_four, together=FOUR)
    elif atomic_of(instr) is not None:
        write_scatter(body, instr, outputs, _combine_atomically)
    else:
        write_scatter(body, instr, outputs, apart=update_dims_apart(instr))


def scatter_stages(
    kernel: CudaKernel, instr: Instruction, outputs: Sequence[Name]
) -> Launches | None:
    """Launches for many updates of few elements; None for others.

    The first copies the operand, and the second has a copy of neutral elements in each block.
    """
    operand, operation = instr.operands[0], atomic_of(instr)
    kind, size, count = (
        operand.shape.element_type,
        operand.shape.size,
        instr.operands[-1].shape.size,
    )
    blocks = min(WAVE, count // (MANY_EACH * max(size, 1)))
    start = neutral(OPERATIONS[operation], kind.name) if operation else None
    many = not a.Scatter.of(instr).unique_indices and blocks >= MULTIPROCESSORS
    if operation is None or start is None or not many or size * kind.bytes > SHARED_BYTES:
        return None
    body = kernel.body
    own = Name(body.name("own"))
    with body.block() as written:
        write_scatter(body, instr, [own], _combine_atomically)
    *values, loops = written
    total, iteration = iterations(loops)
    if not total:
        return None
    known = [v for v in values if isinstance(v, Let | LocalVariable)]
    with body.block() as statements:
        with in_turns(body, "element", size, LARGE_BLOCK) as element:
            body.assign(item(own, element), start)
        body.add(BARRIER, *needed(known, iteration))
        first, step = thread_number(LARGE_BLOCK), blocks * LARGE_BLOCK
        body.add(For("iteration", total, iteration, start=first, step=step), BARRIER)
        with in_turns(body, "element", size, LARGE_BLOCK) as element:
            mine = body.let(kind.name, "mine", item(own, element))
            with body.when(binary("!=", mine, start)):
                address = Op("&", (item(outputs[0], element),))
                body.add(_atomically(operation, kind, address, mine))
    with body.block() as copied:
        copy(body, outputs[0], operand)
    names = {argument.name for argument in kernel.arguments.values()}
    shared = ((kind.name, own.name, size),)
    launch = kernel.stage(
        statements, blocks, LARGE_BLOCK, "scatter in shared memory", shared=shared
    )
    return [*stages(copied, 0, names), launch]


def _are_neighbours(instr: Instruction) -> bool:
    """Whether each four updates are added to four floats that lie in 16 bytes."""
    attrs, dims = a.Scatter.of(instr), instr.operands[0].shape.dims
    updates, dropped = instr.operands[-1].shape.dims, attrs.inserted_window_dims
    if atomic_of(instr) != "add" or instr.operands[0].shape.element_type is not F32:
        return False
    last = len(updates) - 1
    in_window = last in update_dims_apart(instr) and last == attrs.update_window_dims[-1]
    whole = len(dims) - 1 not in (*dropped, *attrs.input_batching_dims)
    return in_window and whole and dims[-1] % FOUR == updates[-1] % FOUR == 0


def _add_four(
    body: Body, instr: Instruction, outputs: Sequence[Name], at: Index, index: Index
) -> None:
    """Add four neighbours, which one load reads where they are in memory."""
    update = instr.operands[2]
    pointer = body.pointers_of(update)
    if isinstance(pointer, Name):
        vector = Cast(Pointer(Vector("f32", FOUR), const=True), pointer)
        first = linear(index, update.shape.dims) // FOUR
        values = body.let(Vector("f32", FOUR), "updates", item(vector, first))
    else:
        values = body.variable(Vector("f32", FOUR), "updates")
        for k in range(FOUR):
            value = body.element(update, (*index[:-1], index[-1] + k))
            body.assign(item(values, k), value)
    number = body.let("s64", "at", indexed(linear(at, instr.operands[0].shape.dims)))
    body.call(FUNCTIONS["add_four"], Op("&", (item(outputs[0], number),)), values)


def _combine_atomically(
    body: Body, instr: Instruction, outputs: Sequence[Name], at: Index, index: Index
) -> None:
    operation, kind = atomic_of(instr), instr.operands[0].shape.element_type
    assert operation is not None
    number = body.let("s64", "at", indexed(linear(at, instr.operands[0].shape.dims)))
    value = body.element(instr.operands[2], index)
    body.add(_atomically(operation, kind, Op("&", (item(outputs[0], number),)), value))


def _atomically(operation: str, kind: ElementType, address: Expr, value: Expr) -> Call:
    """A call that combines a value with an element, in one step."""
    is_narrow = kind.name in NARROW
    function = FUNCTIONS["atomic_add", kind] if is_narrow else _ATOMICS[operation]
    ordered = operation in ("maximum", "minimum")
    if kind.name in _UNSIGNED and not ordered:
        unsigned = _UNSIGNED[kind.name]
        return Call(function, (Cast(Pointer(unsigned), address), Cast(unsigned, value)))
    return Call(function, (address, value))
