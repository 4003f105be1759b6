"""The two tables of the derivative: tangents of results, and transposes of linear opcodes.

`differentiates` says how a result changes with its operands. A rule takes the instruction and the
tangents of its operands, and gives the tangents of its result:

    @differentiates("sine")
    def sine(instr, tangents): ...         # d sin(x) = cos(x) dx

`transposes` says how an instruction that is linear in some operands hands a cotangent back to
them: where y = A x, the cotangent of x is A^T times that of y.

A value may be a tuple, so its tangents are Python tuples: one a leaf of its shape, in order; None
is a zero. Integers, preds and tokens have no others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from hlo.errors.error import HloError
from hlo.instruction import Computation, Instruction
from hlo.operators import BUILDING
from hlo.table import OpTable
from hlo.types.shape import array
from optimizer.expanders.parts import folded, number
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from hlo.types.element_type import ElementType
    from hlo.types.shape import Shape

Leaves = tuple[Instruction | None, ...]


@dataclass(frozen=True, slots=True)
class Dual:
    """A value with its tangents, from a rule that computes both at once."""

    value: Instruction
    tangents: Leaves


# From the instruction on the new operands, and the tangents of each operand.
Tangents = Leaves | Dual | Instruction | None
Derivative = Callable[[Instruction, Sequence[Leaves]], Tangents]
# From a linear instruction, the cotangents of its leaves, and which operands it is linear in; to
# the cotangents of each operand's leaves. One of an array may be given without the tuple.
Transpose = Callable[[Instruction, Leaves, Sequence[bool]], Sequence[Leaves | Instruction | None]]

# Opcodes that are written as others before, or where they are differentiated.
_BESIDE = "it is one half of an exchange in the background; differentiate before scheduling"
UNDIFFERENTIATED = {
    "bitcast": "bitcast-expander makes a reshape of it first",
    "call": "it is inlined first",
    "fusion": "its instructions are inlined first",
    "map": "its computation is applied to whole arrays first",
    "async-start": "async-unwrapper makes a call of it first",
    "async-update": "async-unwrapper makes a call of it first",
    "async-done": "async-unwrapper makes a call of it first",
    "scan": "scan_expander makes a loop of it first",
    "batch-norm-grad": "it is written as batchnorm_expander writes it",
    "batch-norm-inference": "it is written as batchnorm_expander writes it",
    "batch-norm-training": "it is written as batchnorm_expander writes it",
    "ragged-dot": "it is written as ragged-dot-rewriter writes it",
    "scaled-dot": "it is written as scaled-dot-rewriter writes it",
    "copy-start": _BESIDE,
    "copy-done": _BESIDE,
    "all-gather-start": _BESIDE,
    "all-gather-done": _BESIDE,
    "all-reduce-start": _BESIDE,
    "all-reduce-done": _BESIDE,
    "collective-permute-start": _BESIDE,
    "collective-permute-done": _BESIDE,
    "while": "its rule, in optimizer/derivative/loops.py, needs that of its body",
    "conditional": "its rule, in optimizer/derivative/branches.py, needs those of its branches",
    "set-dimension-size": "gradients have no run-time sizes",
    "dynamic-reshape": "gradients have no run-time sizes",
    "infeed": "values of the host have no gradients",
    "outfeed": "the host takes no gradients",
    "recv": "values of another program have no gradients",
    "recv-done": "values of another program have no gradients",
    "send": "another program takes no gradients",
    "send-done": "another program takes no gradients",
    "ragged-all-to-all": "the receiver's offsets decide which pieces overwrite others",
}
differentiates: OpTable[Derivative] = OpTable(
    "differentiates", UNDIFFERENTIATED, package="optimizer.derivative"
)
transposes: OpTable[Transpose] = OpTable("transposes", package="optimizer.derivative")


class Detached:
    """A builder whose instructions belong to no computation yet: operators append to nothing."""

    def number(self, number: Any, like: Instruction) -> Instruction:
        """A number in the shape of another instruction."""
        return splat(number, plain(like.shape))

    def add(self, opcode: str, *operands: Instruction, **rest: Any) -> Instruction:
        """A new instruction."""
        return make(opcode, *operands, **rest)


@contextmanager
def detached() -> Generator[None]:
    """Let `x * y` make an instruction that belongs to no computation yet."""
    token = BUILDING.set(Detached())
    try:
        yield
    finally:
        BUILDING.reset(token)


def has_tangents(shape: Shape) -> bool:
    """Whether values of a shape that is no tuple can change by small amounts."""
    return shape.element_type.kind in ("float", "complex")


def plain(shape: Shape) -> Shape:
    """An array's shape with its dimensions in order in memory."""
    return array(shape.element_type, shape.dims)


def zeros(shape: Shape) -> Instruction:
    """Zeros of an array's shape."""
    return splat(0, plain(shape))


def filled(tangent: Instruction | None, shape: Shape) -> Instruction:
    """A tangent, with zeros for None."""
    return zeros(shape) if tangent is None else tangent


def leaf_shapes(shape: Shape) -> list[Shape]:
    """The shapes of a value's leaves, in order."""
    return [leaf for _, leaf in shape.leaves()]


def refusal(instr: Instruction, why: str, *notes: str) -> HloError:
    """The error for an instruction that cannot be differentiated."""
    message = f"{instr.name}: {instr.opcode} has no derivative here: {why}"
    return HloError("HLO155", message, instr.span, notes)


def as_leaves(leaves: Leaves | Instruction | None) -> Leaves:
    """The tangents of a value, from a rule that may give the one of an array by itself."""
    return leaves if isinstance(leaves, tuple) else (leaves,)


def element(whole: Instruction, index: int) -> Instruction:
    """An element of a tuple: an operand of the instruction that makes it, if that is there."""
    if whole.opcode == "tuple":
        return whole.operands[index]
    return make("get-tuple-element", whole, index=index)


def leaves_of(value: Instruction) -> list[Instruction]:
    """The instructions of a value's leaves, in order."""
    leaves: list[Instruction] = []
    stack = [value]
    while stack:
        whole = stack.pop()
        if whole.shape.is_tuple:
            count = len(whole.shape.elements)
            stack += [element(whole, i) for i in range(count)][::-1]
        else:
            leaves.append(whole)
    return leaves


def again(instr: Instruction, *operands: Instruction, **changes: Any) -> Instruction:
    """The same opcode on operands of the same shapes, for tangents; attributes can be changed."""
    return instr.with_(
        name=instr.opcode,
        operands=operands,
        attrs=replace(instr.attrs, **changes) if changes else instr.attrs,
        shape=plain(instr.shape) if instr.shape.is_array else instr.shape,
        control_predecessors=(),
    )


def linear_in(*positions: int) -> Derivative:
    """The rule of an opcode that is linear in some operands: it is its own derivative.

    Parameters
    ----------
    positions : of these operands; all if none is given.
    """

    def rule(instr: Instruction, tangents: Sequence[Leaves]) -> Instruction | None:
        chosen = positions or range(len(instr.operands))
        operands = list(instr.operands)
        if all(tangents[k][0] is None for k in chosen):
            return None
        for k in chosen:
            operands[k] = filled(tangents[k][0], operands[k].shape)
        return again(instr, *operands)

    return rule


def nothing(instr: Instruction, _tangents: Sequence[Leaves]) -> Leaves:
    """The rule of a result that does not change with small changes of its operands."""
    return (None,) * instr.shape.leaf_count


@cache
def adder(element_type: ElementType) -> Computation:
    """The computation that adds two scalars."""
    scalar = array(element_type)
    x, y = (make("parameter", shape=scalar, number=k).with_(name=f"x.{k}") for k in (0, 1))
    both = make("add", x, y)
    return Computation("sum", (x, y, both), both)


def total(x: Instruction, axes: Iterable[int]) -> Instruction:
    """The sum over some dimensions."""
    axes, kind = tuple(axes), x.shape.element_type
    return folded(x, number(0, kind), axes, adder(kind)) if axes else x
