"""The dynamic padder's rule for each opcode.

A rule is a function of the instruction and its operands' values. Opcodes without a rule take only
values of which all elements count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from hlo import attributes as a
from hlo.errors.error import HloError
from hlo.types.element_type import S32
from interpreter.custom_calls.registry import function_of
from optimizer.dynamic_padder.values import Padded, Tree, instruction_of, static
from optimizer.expanders.parts import number, to_type
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType

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
    """The error for an instruction that has no static form here."""
    message = f"{instr.name}: {instr.opcode} can't be compiled to C: {why}"
    evaluated = "evaluates such modules" if _is_evaluated(instr) else "cannot evaluate it either"
    return HloError("HLO181", message, instr.span, [f"the interpreter {evaluated}"])


def _is_evaluated(instr: Instruction) -> bool:
    """Whether the interpreter knows such instructions."""
    match instr.attrs:
        case a.CustomCall(custom_call_target=target):
            return function_of(target) is not None
        case a.Convolution():
            return not any(o.shape.is_tuple for o in instr.operands)
        case _:
            return True


def require(instr: Instruction, condition: bool, why: str) -> None:
    """Refuse an instruction unless a condition holds."""
    if not condition:
        raise refusal(instr, why)


def identity(instr: Instruction, neutral: complex | None, kind: ElementType) -> Instruction:
    """The number that a computation leaves others alone with; an instruction that needs one."""
    if neutral is None:
        raise refusal(instr, "what its computation leaves alone is not known")
    return number(neutral, kind)


def remade(
    instr: Instruction, operands: Sequence[Padded], sizes: Mapping[int, Instruction]
) -> Padded:
    """The instruction on the arrays of the bounds."""
    values = tuple(o.value for o in operands)
    value = instr.with_(operands=values, shape=static(instr.shape), control_predecessors=())
    return Padded(value, sizes)


@rule("map")
def elementwise(instr: Instruction, *operands: Padded) -> Padded:
    """An elementwise result has as many elements as its shortest operand."""
    rank = instr.shape.rank
    return remade(instr, operands, common([o for o in operands if o.value.shape.rank == rank]))


def common(operands: Sequence[Padded]) -> Sizes:
    """The smallest size that some operands have in each dimension."""
    sizes: Sizes = {}
    for operand in operands:
        for d, size in operand.sizes.items():
            other = sizes.setdefault(d, size)
            if other is not size:
                sizes[d] = make("minimum", other, size)
    return sizes


@rule("broadcast")
def broadcast(instr: Instruction, operand: Padded) -> Padded:
    """Sizes go where their dimensions go."""
    attrs = a.Broadcast.of(instr)
    return remade(instr, [operand], {attrs.dimensions[d]: s for d, s in operand.sizes.items()})


@rule("bitcast-convert")
def bitcast_convert(instr: Instruction, operand: Padded) -> Tree:
    """A change of type: the dimension of the parts of elements, the last, has no run-time size."""
    return _leading(instr, operand, min(instr.shape.rank, operand.value.shape.rank))


@rule("fft")
def fft(instr: Instruction, operand: Padded) -> Tree:
    """A run-time number of Fourier transforms, all of one length."""
    attrs = a.Fft.of(instr)
    return _leading(instr, operand, instr.shape.rank - len(attrs.fft_length))


@rule("topk")
def topk(instr: Instruction, operand: Padded) -> Tree:
    """The largest elements of a run-time number of rows, all of one length."""
    return _leading(instr, operand, operand.value.shape.rank - 1)


def _leading(instr: Instruction, operand: Padded, count: int) -> Tree:
    """The sizes of all dimensions but the last, along which the opcode works."""
    require(instr, all(d < count for d in operand.sizes), "it works along a run-time size")
    return several(instr, [operand.value], dict(operand.sizes))


@rule("transpose")
def transpose(instr: Instruction, operand: Padded) -> Padded:
    """Sizes go where their dimensions go."""
    attrs = a.Dimensions.of(instr)
    return remade(
        instr, [operand], {attrs.dimensions.index(d): s for d, s in operand.sizes.items()}
    )


@rule("get-dimension-size")
def get_dimension_size(instr: Instruction, operand: Padded) -> Padded:
    """The size beside the array."""
    attrs = a.Dimensions.of(instr)
    d = attrs.dimensions[0]
    return Padded(operand.sizes.get(d) or number(operand.value.shape.dims[d]))


@rule("set-dimension-size")
def set_dimension_size(instr: Instruction, operand: Padded, size: Padded) -> Padded:
    """Another size; where it is larger than before, the new elements are zeros."""
    attrs = a.Dimensions.of(instr)
    d = attrs.dimensions[0]
    sizes = {**operand.sizes, d: within(size.value, operand.value.shape.dims[d])}
    if not instr.shape.dynamic_at(d):
        del sizes[d]  # it is the bound
    return Padded(operand.zeroed([d]), sizes)


def bounded(instr: Instruction, sizes: Sequence[Padded]) -> Sizes:
    """Sizes, one a dimension, of the dimensions that have one at run time."""
    pairs = enumerate(zip(sizes, instr.shape.dims, strict=True))
    return {d: within(size.value, n) for d, (size, n) in pairs if instr.shape.dynamic_at(d)}


def within(size: Instruction, bound: int) -> Instruction:
    """A size, as an s32, that is no larger than its bound, and not negative.

    C does not look again.
    """
    own = size.shape.element_type
    if own.bits < S32.bits:
        size, own = to_type(size, S32), S32
    low, high = (to_type(number(n), own) for n in (0, bound))
    return to_type(make("clamp", low, size, high), S32)


def several(instr: Instruction, values: Sequence[Instruction], sizes: Sizes) -> Tree:
    """The instruction on arrays of the bounds, whose results, one or several, have some sizes."""
    value = instr.with_(operands=tuple(values), shape=static(instr.shape), control_predecessors=())
    if not instr.shape.is_tuple:
        return Padded(value, sizes)
    count = len(instr.shape.elements)
    return tuple(Padded(make("get-tuple-element", value, index=i), sizes) for i in range(count))


@rule("dot")
def dot(instr: Instruction, lhs: Padded, rhs: Padded) -> Padded:
    """A dot with zeros on both sides, where contracted elements do not count."""
    attrs = a.DotDims.of(instr)
    sides = (
        (lhs, attrs.lhs_batch_dims, attrs.lhs_contracting_dims),
        (rhs, attrs.rhs_batch_dims, attrs.rhs_contracting_dims),
    )
    masked: list[Padded] = []
    sizes: Sizes = {}
    first = len(attrs.lhs_batch_dims)
    for (side, batch, contracting), other in zip(sides, (rhs, lhs), strict=True):
        both = dict(zip(contracting, sides[side is lhs][2], strict=True))
        known = {d: other.sizes[e] for d, e in both.items() if e in other.sizes} | dict(side.sizes)
        masked.append(Padded(Padded(side.value, known).zeroed(contracting)))
        sizes |= {batch.index(d): s for d, s in side.sizes.items() if d in batch}
        free = [d for d in range(side.value.shape.rank) if d not in (*batch, *contracting)]
        sizes |= {first + k: side.sizes[d] for k, d in enumerate(free) if d in side.sizes}
        first += len(free)
    return remade(instr, masked, sizes)


@rule("tuple")
def tuple_(_instr: Instruction, *operands: Tree) -> Tree:
    """The operands."""
    return operands


@rule("get-tuple-element")
def get_tuple_element(instr: Instruction, operand: Tree) -> Tree:
    """The element of the tuple."""
    attrs = a.GetTupleElement.of(instr)
    return cast("tuple[Tree, ...]", operand)[attrs.index]


@rule("copy")
def copy(instr: Instruction, operand: Padded) -> Padded:
    """The operand, unless a bitcast may read it in the order of the copy."""
    if static(instr.shape) == operand.value.shape:
        return operand
    return remade(instr, [operand], operand.sizes)


@rule("opt-barrier", "domain")
def identity_(_instr: Instruction, operand: Tree) -> Tree:
    """The operand."""
    return operand


@rule("SetBound", table=CUSTOM_CALLS)
def set_bound(_instr: Instruction, operand: Padded, *_bounds: Padded) -> Padded:
    """The operand."""
    return operand


@rule("SliceToDynamic", table=CUSTOM_CALLS)
def slice_to_dynamic(instr: Instruction, operand: Padded, *sizes: Padded) -> Padded:
    """The operands themselves: an array of the bounds with its sizes is the form of values here."""
    return Padded(operand.value, bounded(instr, sizes))


@rule("PadToStatic", table=CUSTOM_CALLS)
def pad_to_static(_instr: Instruction, operand: Padded) -> Tree:
    """The array with zeros after the elements that count, then each size."""
    dims = operand.value.shape.dims
    sizes = (Padded(operand.sizes.get(d) or number(n)) for d, n in enumerate(dims))
    return Padded(operand.zeroed()), *sizes


def unruled(instr: Instruction, *operands: Tree) -> Tree:
    """Any other opcode, on arrays of which all elements count."""
    value = instr.with_(
        operands=tuple(map(instruction_of, operands)),
        shape=static(instr.shape),
        control_predecessors=(),
    )
    if not instr.shape.is_tuple:
        return Padded(value)
    return elements(value)


def elements(whole: Instruction) -> Tree:
    """The elements of a tuple, at any depth."""
    if not whole.shape.is_tuple:
        return Padded(whole)
    count = len(whole.shape.elements)
    return tuple(elements(make("get-tuple-element", whole, index=i)) for i in range(count))
