"""What each opcode makes of values with run-time sizes.

A rule is a function of the instruction and its operands' values. Opcodes without a rule take only
values of which all elements count.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, cast

from emit_c.dynamic.values import Padded, Tree, instruction_of, static
from hlo.element_type import S32
from hlo.error import HloError
from optimizer.expanders.monoids import identity, operation_of
from optimizer.expanders.parts import counting, number, spread, to_dims
from optimizer.make import make, splat

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hlo import attributes as a
    from hlo.instruction import Instruction

Sizes = dict[int, "Instruction"]
Rule = "Callable[..., Tree]"
RULES: dict[str, Callable[..., Tree]] = {}
CUSTOM_CALLS: dict[str, Callable[..., Tree]] = {}


def rule(
    *names: str, table: dict[str, Callable[..., Tree]] = RULES
) -> Callable[[Callable[..., Tree]], Callable[..., Tree]]:
    """Register the decorated function for opcodes, or for custom calls of some names."""

    def register(function: Callable[..., Tree]) -> Callable[..., Tree]:
        table.update(dict.fromkeys(names, function))
        return function

    return register


def refusal(instr: Instruction, why: str) -> HloError:
    """The error for what has no static form here."""
    message = f"{instr.name}: {instr.opcode} can't be compiled to C: {why}"
    return HloError("HLO181", message, instr.span, ["the interpreter evaluates such modules"])


def need(instr: Instruction, condition: bool, why: str) -> None:
    """Refuse an instruction unless a condition holds."""
    if not condition:
        raise refusal(instr, why)


def remade(
    instr: Instruction, operands: Sequence[Padded], sizes: Mapping[int, Instruction]
) -> Padded:
    """The instruction on the arrays of the bounds."""
    values = tuple(o.value for o in operands)
    made = instr.with_(operands=values, shape=static(instr.shape), control_predecessors=())
    return Padded(made, sizes)


def elementwise(instr: Instruction, *operands: Padded) -> Padded:
    """As many elements as the operands have."""
    sizes: Sizes = {}
    for operand in operands:
        if operand.value.shape.rank == instr.shape.rank:
            sizes |= operand.sizes
    return remade(instr, operands, sizes)


@rule("broadcast")
def broadcast(instr: Instruction, operand: Padded) -> Padded:
    """Sizes go where their dimensions go."""
    attrs: a.Broadcast = instr.attrs  # type: ignore[assignment]
    return remade(instr, [operand], {attrs.dimensions[d]: s for d, s in operand.sizes.items()})


@rule("transpose")
def transpose(instr: Instruction, operand: Padded) -> Padded:
    """Sizes go where their dimensions go."""
    attrs: a.Dimensions = instr.attrs  # type: ignore[assignment]
    return remade(
        instr, [operand], {attrs.dimensions.index(d): s for d, s in operand.sizes.items()}
    )


@rule("reshape")
def reshape(instr: Instruction, operand: Padded) -> Padded:
    """A dimension that has as much in front of it as before, and is as large, is the same one."""
    before, after = operand.value.shape.dims, instr.shape.dims
    sizes: Sizes = {}
    for d, size in operand.sizes.items():
        found = [
            j for j, n in enumerate(after) if n == before[d] and prod(after[:j]) == prod(before[:d])
        ]
        need(instr, bool(found), "it splits or joins a dimension of run-time size")
        sizes[found[0]] = size
    return remade(instr, [operand], sizes)


@rule("get-dimension-size")
def get_dimension_size(instr: Instruction, operand: Padded) -> Padded:
    """The size beside the array."""
    attrs: a.Dimensions = instr.attrs  # type: ignore[assignment]
    d = attrs.dimensions[0]
    return Padded(operand.sizes.get(d) or number(operand.value.shape.dims[d]))


@rule("set-dimension-size")
def set_dimension_size(instr: Instruction, operand: Padded, size: Padded) -> Padded:
    """Another size; where it is larger than before, zeros are what is new."""
    attrs: a.Dimensions = instr.attrs  # type: ignore[assignment]
    d = attrs.dimensions[0]
    value = Padded(operand.zeroed([d]))
    return Padded(
        value.value, {**operand.sizes, d: within(size.value, operand.value.shape.dims[d])}
    )


def within(size: Instruction, bound: int) -> Instruction:
    """A size that is no larger than its bound, and not negative: C does not look again."""
    return make("clamp", number(0), size, number(bound))


@rule("dynamic-reshape")
def dynamic_reshape(instr: Instruction, operand: Padded, *sizes: Padded) -> Padded:
    """The elements that count, in their order, under other sizes."""
    dims = instr.shape.dims
    bounded = [within(s.value, n) for s, n in zip(sizes, dims, strict=True)]
    if not operand.value.shape.size:
        return Padded(splat(0, static(instr.shape)), dict(enumerate(bounded)))
    place = spread(number(0), dims)
    for d, size in enumerate(bounded):
        place = make("add", make("multiply", place, spread(size, dims)), counting(S32, dims, d))
    source = operand.value.shape
    rest, index = place, spread(number(0), dims)
    for d in reversed(range(source.rank)):
        size = operand.sizes.get(d) or number(source.dims[d])
        stride = prod(source.dims[d + 1 :])
        digit = make("remainder", rest, spread(size, dims))
        rest = make("divide", rest, spread(size, dims))
        index = make("add", index, make("multiply", digit, stride))
    flat, count = to_dims(operand.value, (source.size,)), prod(dims)
    starts = to_dims(index, (count, 1))
    taken = make(
        *("gather", flat, starts),
        offset_dims=(),
        collapsed_slice_dims=(0,),
        start_index_map=(0,),
        index_vector_dim=1,
        slice_sizes=(1,),
    )
    return Padded(to_dims(taken, dims), dict(enumerate(bounded)))


@rule("reduce")
def reduce(instr: Instruction, *operands: Padded) -> Tree:
    """What does not count is replaced by what the computation leaves others alone with."""
    attrs: a.Dimensions = instr.attrs  # type: ignore[assignment]
    folded = [d for d in operands[0].sizes if d in attrs.dimensions]
    values = [o.value for o in operands]
    if folded:
        need(instr, len(operands) == 2, "it folds several arrays of run-time size")
        kind = instr.shape.element_type
        neutral = identity(operation_of(instr.called[0]), kind)
        need(instr, neutral is not None, "what its computation leaves alone is not known")
        values[0] = operands[0].masked(number(cast("Any", neutral), kind), folded)
    kept = [d for d in range(operands[0].value.shape.rank) if d not in attrs.dimensions]
    sizes = {kept.index(d): s for d, s in operands[0].sizes.items() if d in kept}
    made = instr.with_(operands=tuple(values), shape=static(instr.shape), control_predecessors=())
    if not instr.shape.is_tuple:
        return Padded(made, sizes)
    count = len(instr.shape.elements)
    return tuple(Padded(make("get-tuple-element", made, index=i), sizes) for i in range(count))


@rule("dot")
def dot(instr: Instruction, lhs: Padded, rhs: Padded) -> Padded:
    """Zeros on both sides, where what is summed up does not count."""
    attrs: a.DotDims = instr.attrs  # type: ignore[assignment]
    sides = (
        (lhs, attrs.lhs_batch_dims, attrs.lhs_contracting_dims),
        (rhs, attrs.rhs_batch_dims, attrs.rhs_contracting_dims),
    )
    masked: list[Padded] = []
    sizes: Sizes = {}
    place = len(attrs.lhs_batch_dims)
    for (side, batch, contracting), other in zip(sides, (rhs, lhs), strict=True):
        both = dict(zip(contracting, sides[side is lhs][2], strict=True))
        known = {d: other.sizes[e] for d, e in both.items() if e in other.sizes} | dict(side.sizes)
        masked.append(Padded(Padded(side.value, known).zeroed(contracting)))
        sizes |= {batch.index(d): s for d, s in side.sizes.items() if d in batch}
        free = [d for d in range(side.value.shape.rank) if d not in (*batch, *contracting)]
        sizes |= {place + k: side.sizes[d] for k, d in enumerate(free) if d in side.sizes}
        place += len(free)
    return remade(instr, masked, sizes)


@rule("concatenate")
def concatenate(instr: Instruction, *operands: Padded) -> Padded:
    """Along another dimension than those of run-time size."""
    attrs: a.Dimensions = instr.attrs  # type: ignore[assignment]
    along = any(attrs.dimensions[0] in o.sizes for o in operands)
    need(instr, not along, "it joins along a dimension of run-time size")
    return elementwise(instr, *operands)


@rule("slice")
def slice_(instr: Instruction, operand: Padded) -> Padded:
    """Dimensions of run-time size stay whole."""
    attrs: a.Slice = instr.attrs  # type: ignore[assignment]
    dims = operand.value.shape.dims
    for d in operand.sizes:
        cut = attrs.slice[d]
        whole = (cut.start, cut.limit, cut.stride) == (0, dims[d], 1)
        need(instr, whole, "it cuts a dimension of run-time size")
    return remade(instr, [operand], operand.sizes)


@rule("gather")
def gather(instr: Instruction, operand: Padded, indices: Padded) -> Padded:
    """As many slices as there are index vectors; those behind read what is there."""
    attrs: a.Gather = instr.attrs  # type: ignore[assignment]
    need(instr, not operand.sizes, "it reads from dimensions of run-time size")
    batch = [d for d in range(instr.shape.rank) if d not in attrs.offset_dims]
    vectors = [d for d in range(indices.value.shape.rank) if d != attrs.index_vector_dim]
    need(instr, set(indices.sizes) <= set(vectors), "its index vectors have a run-time size")
    sizes = {batch[vectors.index(d)]: size for d, size in indices.sizes.items()}
    return remade(instr, [operand, indices], sizes)


@rule("tuple")
def tuple_(_instr: Instruction, *operands: Tree) -> Tree:
    """The operands."""
    return operands


@rule("get-tuple-element")
def get_tuple_element(instr: Instruction, operand: Tree) -> Tree:
    """One of them."""
    attrs: a.GetTupleElement = instr.attrs  # type: ignore[assignment]
    return cast("tuple[Tree, ...]", operand)[attrs.index]


@rule("opt-barrier", "copy", "domain")
def identity_(_instr: Instruction, operand: Tree) -> Tree:
    """The operand."""
    return operand


@rule("SetBound", table=CUSTOM_CALLS)
def set_bound(_instr: Instruction, operand: Padded, *_bounds: Padded) -> Padded:
    """The operand."""
    return operand


@rule("SliceToDynamic", table=CUSTOM_CALLS)
def slice_to_dynamic(_instr: Instruction, operand: Padded, *sizes: Padded) -> Padded:
    """An array of the bounds and its sizes are what they are here anyway."""
    dims = operand.value.shape.dims
    return Padded(
        operand.value,
        {d: within(s.value, n) for d, (s, n) in enumerate(zip(sizes, dims, strict=True))},
    )


@rule("PadToStatic", table=CUSTOM_CALLS)
def pad_to_static(_instr: Instruction, operand: Padded) -> Tree:
    """The array with zeros behind what counts, then each size."""
    dims = operand.value.shape.dims
    sizes = (Padded(operand.sizes.get(d) or number(n)) for d, n in enumerate(dims))
    return Padded(operand.zeroed()), *sizes


def unruled(instr: Instruction, *operands: Tree) -> Tree:
    """Any other opcode, on arrays of which all elements count."""
    made = instr.with_(
        operands=tuple(map(instruction_of, operands)),
        shape=static(instr.shape),
        control_predecessors=(),
    )
    if not instr.shape.is_tuple:
        return Padded(made)
    return elements(made)


def elements(whole: Instruction) -> Tree:
    """The elements of a tuple, at any depth."""
    if not whole.shape.is_tuple:
        return Padded(whole)
    count = len(whole.shape.elements)
    return tuple(elements(make("get-tuple-element", whole, index=i)) for i in range(count))
