"""Folds that find the first extreme of a row and its index: argmax and argmin.

Such a fold has numbers and their indices, which count up. If of two pairs its computation takes the
one with the greater number, and of equal numbers the earlier one, then the row may be folded in any
order: the numbers' keys, integers of the same order, to the maximum, and with them the indices.

A computation may say this in many ways. But what only compares and chooses treats all numbers of
one order alike: so it is tried on every order that two of them can have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from codegen.callees import FUNCTIONS
from codegen.expressions import Cast, Group, Literal, apply
from codegen.kinds import wide
from hlo import attributes as a
from hlo.attributes import ParameterNumber
from hlo.types.element_type import ELEMENT_TYPES
from hlo.types.limits import integer_range
from interpreter.engine.device import Device
from interpreter.engine.frame import Frame
from interpreter.lift import lifted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from codegen.elements.body import Body
    from codegen.expressions import Expr
    from hlo.instruction import Computation, Instruction
    from hlo.types.element_type import ElementType

# The longest row whose indices fit into 31 bits.
LONGEST_ROW = (1 << 31) - 1
# The numbers of 16 bits with a sign lie in between, without the first.
_HALF = 1 << 15
# Opcodes that tell nothing of numbers but which of two is the greater.
_CHOOSING = {"parameter", "compare", "select", "and", "or", "xor", "not", "maximum", "minimum",
             "tuple"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Extreme:
    """The extreme that is looked for: the greatest number of a type or the least; NaN is either.

    Attributes
    ----------
    last_zero : -0 and 0 are equal, so that the first one's index is found, but the last one itself.
    """

    element_type: ElementType
    greatest: bool
    last_zero: bool

    @property
    def has_zeros(self) -> bool:
        """Whether there are two zeros of one key."""
        return self.element_type.is_floating

    @property
    def key_type(self) -> str:
        """The C type of the keys."""
        return "s64" if wide(self.element_type) in ("f64", "s64", "u64") else "s32"

    def key(self, number: Expr) -> Expr:
        """The key of a number."""
        kind = wide(self.element_type)
        if self.has_zeros:
            stem = "greatest_key" if self.greatest else "least_key"
            return apply(FUNCTIONS[stem, ELEMENT_TYPES[kind]], number)
        key = Cast(self.key_type, _signed(kind, number))
        return key if self.greatest else ~key

    def fits_words(self, length: int) -> bool:
        """Whether a key and an index in a row of a length fit into the halves of a signed word."""
        low, high = integer_range(self.element_type) if not self.has_zeros else (0, 1 << 16)
        return low >= -_HALF and high < _HALF and length <= 2 * _HALF

    def word(self, number: Expr, index: Expr) -> Expr:
        """A word of a number's key and its index; the largest is that of the first extreme."""
        return self.key(number) * (2 * _HALF) + Group(2 * _HALF - 1 - Cast("s32", index))

    def pair(self, word: Expr) -> tuple[Expr, Expr]:
        """The number and the index of a word."""
        key, index = Group(word >> 16), 2 * _HALF - 1 - Group(word & Literal(2 * _HALF - 1))
        return self.number(key), index

    def number(self, key: Expr, *zero: Expr) -> Expr:
        """The number of a key; where that is 0, the numbered zero has its sign."""
        kind = wide(self.element_type)
        key = key if self.greatest else ~key
        if self.has_zeros:
            return apply(FUNCTIONS["extreme_of_key", ELEMENT_TYPES[kind]], key, *zero)
        return Cast(kind, _signed(kind, key))

    def numbered_zero(self, number: Expr, index: Expr) -> Expr:
        """A word of a zero's index and sign; the largest is that of the zero that is found."""
        index = Cast("u32", index)
        if not self.last_zero:
            index = Group(Literal(0x7FFFFFFF, hexadecimal=True) - index)
        kind = ELEMENT_TYPES[wide(self.element_type)]
        return apply(FUNCTIONS["numbered_zero", kind], number, index)


def _signed(kind: str, number: Expr) -> Expr:
    """An integer as a signed one of the same order, or back again."""
    signs = {"u32": 1 << 31, "u64": 1 << 63}
    if kind in signs:
        return Group(number ^ Literal(signs[kind], "u32", hexadecimal=True))
    return Group(number)


def first_extreme(body: Body, instr: Instruction) -> Extreme | None:
    """The extreme that a reduce looks for; None if it does something else."""
    if len(instr.operands) != 4 or not _counts_up(body, instr):
        return None
    element_type = instr.operands[0].shape.element_type
    is_number = element_type.is_floating or element_type.is_integer
    if not is_number or not _only_chooses(instr.called[0]):
        return None
    return _found(instr.called[0], element_type, instr.operands[1].shape.element_type)


def _counts_up(body: Body, instr: Instruction) -> bool:
    """Whether the second array holds the indices in the row, and the row has some."""
    attrs = a.Dimensions.of(instr)
    indices, first = instr.operands[1], body.literal(instr.operands[3])
    if indices.opcode != "iota" or first is None or first.array is None:
        return False
    iota = a.Iota.of(indices)
    along = iota.iota_dimension
    rest = (indices.shape.dims[d] for d in attrs.dimensions if d != along)
    if along not in attrs.dimensions or any(size != 1 for size in rest):
        return False
    kind = indices.shape.element_type
    size = indices.shape.dims[along]
    fits = kind.is_integer and 0 < size <= min(1 << (kind.bits - 1), LONGEST_ROW)
    return fits and int(first.array) == 0


def _only_chooses(computation: Computation) -> bool:
    """Whether a computation takes only comparisons and choices, numbers and indices apart."""
    sides: dict[Instruction, int] = {}
    for instr in computation.instructions:
        if instr.opcode not in _CHOOSING:
            return False
        if instr.opcode == "parameter":
            sides[instr] = ParameterNumber.of(instr).number % 2
        elif instr.opcode != "tuple":
            choices = {sides[o] for o in instr.operands if o in sides}
            # Logic on the results of comparisons chooses; on numbers it would compute.
            if len(choices) > 1 or (choices and instr.opcode in ("and", "or", "xor", "not")):
                return False
            if choices and instr.opcode != "compare":
                sides[instr] = choices.pop()
    return True


def _found(computation: Computation, kind: ElementType, indices: ElementType) -> Extreme | None:
    """The extreme that the computation takes of all pairs of numbers, the left one first."""
    numbers = _every_order(kind)
    x, y = (n.ravel() for n in np.meshgrid(numbers, numbers))
    first, later = (np.full(x.shape, n, indices.dtype) for n in (0, 1))
    frame = Frame(Device())
    with np.errstate(all="ignore"):
        taken = lifted(frame, computation, x, first, y, later)
        together = lifted(frame, computation, x, first, y, first)
    for greatest in (True, False):
        left, right = (_ranks(n, greatest=greatest) for n in (x, y))
        better, unequal = right > left, right != left
        number, index = np.where(better, y, x), np.where(better, later, first)
        if not _same(taken[1], index) or not _same(together[0][unequal], number[unequal]):
            continue
        for last_zero in (False, True) if kind.is_floating else (False,):
            zeros = (x == y) & (x == 0) & last_zero
            if _same(taken[0], np.where(zeros, y, number)):
                return Extreme(kind, greatest, last_zero)
    return None


def _every_order(kind: ElementType) -> NDArray[np.generic]:
    """Numbers of a type, such that two of them have any order that two numbers can have."""
    if not kind.is_floating:
        return np.array([0, 1, 2], kind.dtype)
    infinity, nan = np.array([np.inf, np.nan], np.float32)
    numbers = np.array([-nan, -infinity, -1, -0.0, 0, 1, infinity, nan], np.float32)
    return numbers.astype(kind.dtype)


def _ranks(numbers: NDArray[np.generic], *, greatest: bool) -> NDArray[np.float64]:
    """Numbers that are ordered as the keys are."""
    ranks = np.asarray(numbers, np.float64) * (1 if greatest else -1)
    # No number is as extreme as NaN, not even infinity.
    ranks = np.where(np.isinf(ranks), np.copysign(1e300, ranks), ranks)
    return np.where(np.isnan(ranks), np.inf, ranks)


def _same(x: NDArray[np.generic], y: NDArray[np.generic]) -> bool:
    return x.tobytes() == y.tobytes()
