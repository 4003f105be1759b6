"""Collectives: calls of the runtime library, which lets devices exchange arrays.

    r = f32[4] all-reduce(x), to_apply=add
        =>  const void *given[1] = {x};  void *made[1] = {r};
            static const s64 sizes[3] = {1, 16, 4};
            const void *folds[1] = {fold_add};
            hlo_collective(0, 0, 1, given, made, sizes, folds, 0);

A reduction brings the C function that combines two arrays.
See `emit_c/executable/runtime/devices.h`.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, cast

from codegen.callees import BUILTINS, FUNCTIONS
from codegen.elements.table import WholeArray
from codegen.expressions import Cast, Literal, Name, Struct, apply, array_of, item
from codegen.functions import Function, Parameter
from codegen.kinds import Pointer, Table
from codegen.opcodes.alone import write_ragged_all_to_all
from codegen.statements import LocalVariable, Try, vectorized
from emit_c.code.constants import CConstants
from emit_c.table import HOST_QUEUES, emits_c
from hlo import attributes as a
from hlo.errors.error import HloError
from hlo.opcode import STARTS
from interpreter.plumbing import CONTEXT
from optimizer.expanders.degenerate_collective_remover import is_alone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.callees import Callee
    from codegen.elements.body import Body
    from codegen.expressions import Expr
    from hlo.instruction import Computation, Instruction
    from hlo.types.element_type import ElementType
    from hlo.types.shape import Shape

_ANY, _READ = Pointer("void"), Pointer("void", const=True)
NOTHING = Literal(0)
_COLLECTIVE, _START = FUNCTIONS["hlo_collective"], FUNCTIONS["hlo_start"]
# As in devices.h.
_KINDS = {
    name: number
    for number, name in enumerate(
        (
            *("all-reduce", "reduce-scatter", "all-gather", "all-to-all", "all-to-all of arrays"),
            *("collective-broadcast", "collective-permute", "ragged-all-to-all", "slices"),
        )
    )
}


def _call(
    body: Body,
    function: Callee,
    kind: str,
    instr: Instruction,
    inputs: Sequence[Expr],
    results: Sequence[Expr],
    sizes: Sequence[int],
    *,
    folds: Sequence[Expr] = (),
    numbers: Expr = NOTHING,
) -> None:
    """Call a function of the runtime library that takes a collective's description."""
    functions: Expr = (
        body.variable(_READ, "folds", Struct(None, tuple(folds)), len(folds)) if folds else NOTHING
    )
    arguments = (
        Literal(_KINDS[kind]), _site(body, instr), Literal(len(inputs)),
        body.variable(_READ, "given", Struct(None, tuple(inputs)), len(inputs)),
        body.variable(_ANY, "made", Struct(None, tuple(results)), len(results)),
        _table(body, "sizes", sizes), functions, numbers,
    )  # fmt: skip
    _try(body, function, *arguments)


def _try(body: Body, function: Callee, *arguments: Expr) -> None:
    body.writer.fails = True
    body.add(Try(function, arguments))


def _site(body: Body, instr: Instruction) -> Literal:
    constants = body.writer.constants
    assert isinstance(constants, CConstants)
    return Literal(constants.collectives.site(instr))


def _table(body: Body, name: str, numbers: Sequence[int]) -> Name:
    """A local array of constants."""
    return body.variable(Table("s64"), name, array_of(numbers), len(numbers))


def _blocks(shape: Shape, along: int) -> tuple[int, int, int]:
    """The blocks of an array that is cut along a dimension, and the bytes of one and of an element.

    A block has all elements with the same indices before that dimension.
    """
    item_bytes = shape.element_type.bytes
    return prod(shape.dims[:along]), prod(shape.dims[along:]) * item_bytes, item_bytes


def _whole(shape: Shape) -> tuple[int, int, int]:
    """An array as one block."""
    return 1, shape.size * shape.element_type.bytes, shape.element_type.bytes


def _start_or_all(instr: Instruction) -> Callee:
    return _START if instr.opcode in STARTS else _COLLECTIVE


# ---------------------------------------------------------------------------------- reductions


def write_reduction(body: Body, instr: Instruction, outputs: Sequence[Name]) -> None:
    """all-reduce, and its start; reduce-scatter."""
    scatters = isinstance(instr.attrs, a.ReduceScatter)
    shapes = [o.shape for o in instr.operands]
    along = instr.attrs.dimensions[0] if isinstance(instr.attrs, a.ReduceScatter) else 0
    sizes = [n for s in shapes for n in (_blocks(s, along) if scatters else _whole(s))]
    folds = [_fold(body, s.element_type, instr.called[0]) for s in shapes]
    inputs = [body.pointer(o) for o in instr.operands]
    kind = "reduce-scatter" if scatters else "all-reduce"
    _call(body, _start_or_all(instr), kind, instr, inputs, outputs, sizes, folds=folds)


def _fold(body: Body, kind: ElementType, computation: Computation) -> Name:
    """The C function that combines two arrays element by element, in the order of the operands."""
    names = [body.name(name) for name in ("to", "left", "right", "count")]
    to, left, right, count = map(Name, names)
    stored = kind.name
    arrays = [body.name(name) for name in ("result", "x", "y")]
    with body.block() as statements:
        for array, pointer in zip(arrays, (to, left, right), strict=True):
            const = pointer is not to
            body.add(_named(Pointer(stored, const=const), array, pointer))
        result, *operands = map(Name, arrays)
        with body.loop("i", count) as i:
            values = [body.loaded_from(kind, item(x, i), x.name) for x in operands]
            (value, *_) = body.apply(computation, *values)
            body.assign(item(result, i), body.stored(kind, value))
    parameters = (
        Parameter(_ANY, names[0]), Parameter(_READ, names[1]),
        Parameter(_READ, names[2]), Parameter("s64", names[3]),
    )  # fmt: skip

    def define(name: str) -> Function:
        return Function(name, parameters, vectorized(statements))

    return body.function(f"fold_{computation.name}", define)


def _named(kind: Pointer, name: str, value: Expr) -> LocalVariable:
    return LocalVariable(kind, name, Cast(kind, value))


# ------------------------------------------------------------------------------------ movement


def write_all_gather(body: Body, instr: Instruction, outputs: Sequence[Name]) -> None:
    """all-gather, and its start, whose outputs begin with the operands."""
    along = a.AllGather.of(instr).dimensions[0]
    inputs = [body.pointer(o) for o in instr.operands]
    sizes = [n for o in instr.operands for n in _blocks(o.shape, along)]
    _call(body, _start_or_all(instr), "all-gather", instr, inputs, outputs[-len(inputs) :], sizes)


def write_all_to_all(body: Body, instr: Instruction, outputs: Sequence[Name]) -> None:
    """all-to-all of pieces of one array, or of several arrays."""
    dimensions = a.AllToAll.of(instr).dimensions
    inputs = [body.pointer(o) for o in instr.operands]
    sizes = [
        n
        for o in instr.operands
        for n in (_blocks(o.shape, dimensions[0]) if dimensions else _whole(o.shape))
    ]
    kind = "all-to-all" if dimensions else "all-to-all of arrays"
    _call(body, _COLLECTIVE, kind, instr, inputs, outputs, sizes)


def write_broadcast(body: Body, instr: Instruction, outputs: Sequence[Name]) -> None:
    """collective-broadcast: the position of the root is 0, or the last operand."""
    operands = list(instr.operands)
    root: Expr = NOTHING
    if a.CollectiveBroadcast.of(instr).has_dynamic_root:
        root = Cast("s64", body.element(operands.pop(), ()))
    read = [body.pointer(o) for o in operands]
    sizes = [n for o in operands for n in _whole(o.shape)]
    number = body.variable("s64", "root", Struct(None, (root,)), 1)
    _call(body, _COLLECTIVE, "collective-broadcast", instr, read, outputs, sizes, numbers=number)


def write_permute(body: Body, instr: Instruction, outputs: Sequence[Name]) -> None:
    """collective-permute, and its start."""
    if a.CollectivePermute.of(instr).slice_sizes:
        _write_slices(body, instr, outputs)
        return
    # The outputs of a start: the operands, the results, and contexts without meaning.
    count, results = len(instr.operands), outputs
    if instr.opcode in STARTS and instr.shape.is_tuple:
        results, contexts = outputs[count : 2 * count], outputs[2 * count :]
        _write_contexts(body, contexts)
    inputs = [body.pointer(o) for o in instr.operands]
    sizes = [n for o in instr.operands for n in _whole(o.shape)]
    _call(body, _start_or_all(instr), "collective-permute", instr, inputs, results, sizes)


def _write_contexts(body: Body, outputs: Sequence[Name]) -> None:
    for output in outputs:
        body.assign(item(output, 0), Literal(int(CONTEXT)))


def _write_slices(body: Body, instr: Instruction, outputs: Sequence[Name]) -> None:
    """The form that sends slices of arrays to their places in others, of which the rest stays."""
    attrs = a.CollectivePermute.of(instr)
    inputs, results, reads, writes = instr.operands
    sources, held = (_pointers(body, value) for value in (inputs, results))
    shapes = [[s for _, s in value.shape.leaves()] for value in (inputs, results)]
    targets = outputs
    if instr.opcode in STARTS and instr.shape.is_tuple:
        first = len(sources)
        targets = outputs[first : first + len(held)]
        _write_contexts(body, outputs[first + len(held) :])
    for output, pointer, shape in zip(targets, held, shapes[1], strict=True):
        size = shape.size * shape.element_type.bytes
        body.call(BUILTINS["memcpy"], output, pointer, size)
    starts: list[Expr] = []
    numbers: list[int] = []
    sizes = iter(attrs.slice_sizes)
    columns = [_slices_of(body, inputs, reads), _slices_of(body, results, writes)]
    for source, target, read, write in zip(*shapes, *columns, strict=True):
        numbers += (source.element_type.bytes, source.rank, len(read), *source.dims, *target.dims)
        numbers += (n for _ in read for n in next(sizes))
        starts += (number for column in (read, write) for start in column for number in start)
    places = body.variable(
        "s64", "starts", Struct(None, tuple(starts) or (NOTHING,)), max(len(starts), 1)
    )
    brought = [n for shape in shapes[0] for n in _whole(shape)]
    _call(
        body, _COLLECTIVE, "slices", instr, [*sources, places], targets,
        [*brought, 1, 8 * len(starts), 8], numbers=_table(body, "boxes", numbers),
    )  # fmt: skip


def _pointers(body: Body, instr: Instruction) -> list[Name]:
    """The pointers to the arrays of a value, in order; tokens have none."""
    pointers: list[Name] = []
    stack = [body.pointers_of(instr)]
    while stack:
        tree = stack.pop()
        if isinstance(tree, tuple):
            stack += reversed(cast("tuple[object, ...]", tree))
        elif isinstance(tree, Name):
            pointers.append(tree)
    return pointers


def _slices_of(body: Body, arrays: Instruction, starts: Instruction) -> list[list[list[Expr]]]:
    """For each array the starts of its slices, each an index of as many numbers as dimensions."""
    numbers = iter([Cast("s64", item(pointer, 0)) for pointer in _pointers(body, starts)])
    ranks = [shape.rank for _, shape in arrays.shape.leaves()]
    parts = starts.shape.elements if arrays.shape.is_tuple else (starts.shape,)
    counts = [len(s.elements) if s.elements and s.elements[0].is_tuple else 1 for s in parts]
    return [
        [[next(numbers) for _ in range(rank)] for _ in range(count)]
        for rank, count in zip(ranks, counts, strict=True)
    ]


def write_ragged(body: Body, instr: Instruction, outputs: Sequence[Name]) -> None:
    """ragged-all-to-all; a device that is alone needs nobody."""
    constants = body.writer.constants
    assert isinstance(constants, CConstants)
    if constants.collectives.grid == (1, 1) and is_alone(instr):
        write_ragged_all_to_all(body, instr, outputs)
        return
    rows, result, *vectors = instr.operands
    inputs = [body.pointer(o) for o in (rows, *vectors[:3])]
    sizes = [n for o in (rows, *vectors[:3]) for n in _whole(o.shape)]
    row = result.shape.size // max(result.shape.dims[0], 1) * result.shape.element_type.bytes
    body.call(BUILTINS["memcpy"], outputs[0], body.pointer(result), row * result.shape.dims[0])
    numbers = (
        rows.shape.dims[0], result.shape.dims[0], row, vectors[0].shape.size,
        *(v.shape.element_type.bytes for v in vectors[:3]),
    )  # fmt: skip
    _call(
        body, _COLLECTIVE, "ragged-all-to-all", instr, inputs, outputs, sizes,
        numbers=_table(body, "rows", numbers),
    )  # fmt: skip


# ----------------------------------------------------------------- one device, and pairs of them


def write_device_number(body: Body, instr: Instruction, outputs: Sequence[Name]) -> None:
    """The number of this device among replicas or partitions."""
    number = apply(FUNCTIONS["hlo_device_number"], int(instr.opcode == "partition-id"))
    body.assign(item(outputs[0], 0), Cast("u32", number))


def write_done(body: Body, instr: Instruction, _outputs: Sequence[Name]) -> None:
    """The end of a collective, whose results the start has given a place."""
    start = instr.operands[0]
    if not getattr(start.attrs, "slice_sizes", ()):
        _try(body, FUNCTIONS["hlo_finish"], _site(body, start))


def write_send(body: Body, instr: Instruction, outputs: Sequence[Name]) -> None:
    """send: the operand again, and a context."""
    _refuse_host(instr)
    operand = instr.operands[0]
    inputs = _pointers(body, operand)
    sizes = [s.size * s.element_type.bytes for _, s in operand.shape.leaves() if s.is_array]
    for output, pointer, size in zip(outputs, inputs, sizes, strict=False):
        body.call(BUILTINS["memcpy"], output, pointer, size)
    _write_contexts(body, outputs[len(inputs) :])
    _mail(body, FUNCTIONS["hlo_send"], [_site(body, instr)], _READ, inputs, sizes)


def write_receive(body: Body, instr: Instruction, outputs: Sequence[Name]) -> None:
    """recv: zeros until the end, and a context that tells the end where it began."""
    _refuse_host(instr)
    shapes = [s for _, s in instr.shape.elements[0].leaves() if s.is_array]
    for output, shape in zip(outputs, shapes, strict=False):
        body.call(BUILTINS["memset"], output, 0, shape.size * shape.element_type.bytes)
    body.assign(item(outputs[-1], 0), _site(body, instr))


def write_receive_done(body: Body, instr: Instruction, outputs: Sequence[Name]) -> None:
    """recv-done: what was sent."""
    _refuse_host(instr)
    sizes = [s.size * s.element_type.bytes for _, s in instr.shape.leaves() if s.is_array]
    context = _pointers(body, instr.operands[0])[-1]
    begun = Cast("s64", item(context, 0))
    _mail(body, FUNCTIONS["hlo_receive"], [_site(body, instr), begun], _ANY, outputs, sizes)


def write_send_done(_body: Body, instr: Instruction, _outputs: Sequence[Name]) -> None:
    """send-done: the value was sent when it was given."""
    _refuse_host(instr)


def _mail(
    body: Body,
    function: Callee,
    sites: list[Expr],
    kind: Pointer,
    arrays: Sequence[Name],
    sizes: list[int],
) -> None:
    count = max(len(arrays), 1)
    listed = body.variable(kind, "values", Struct(None, tuple(arrays) or (NOTHING,)), count)
    bytes_ = _table(body, "bytes", sizes or [0])
    _try(body, function, *sites, Literal(len(arrays)), listed, bytes_)


def _refuse_host(instr: Instruction) -> None:
    if a.Channel.of(instr).is_host_transfer:
        message = f"{instr.name}: {instr.opcode} can't be compiled to C: {HOST_QUEUES}"
        raise HloError("HLO181", message, instr.span)


# Each is a call of the runtime library.
_WRITERS = {
    "all-gather": write_all_gather,
    "all-gather-start": write_all_gather,
    "all-reduce": write_reduction,
    "all-reduce-start": write_reduction,
    "all-to-all": write_all_to_all,
    "collective-broadcast": write_broadcast,
    "collective-permute": write_permute,
    "collective-permute-start": write_permute,
    "partition-id": write_device_number,
    "ragged-all-to-all": write_ragged,
    "recv": write_receive,
    "recv-done": write_receive_done,
    "reduce-scatter": write_reduction,
    "replica-id": write_device_number,
    "send": write_send,
    "send-done": write_send_done,
    **dict.fromkeys(("all-gather-done", "all-reduce-done", "collective-permute-done"), write_done),
}
emits_c.define_all({opcode: WholeArray(write) for opcode, write in _WRITERS.items()})
