"""Comparators of sorts: one key of the left elements beside the same key of the right.

Most comparators are `key(left) < key(right)`, or compare several keys, each where those before are
equal. Then the keys can be computed once, and sorted as the unsigned integers of the same order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS
from codegen.elements.body import Body
from codegen.elements.writer import Environment
from codegen.expressions import Cast, Expr, Group, Literal, apply
from codegen.kinds import is_narrow, wide
from codegen.opcodes.bits import bits_of
from hlo.attributes import Compare, Constant, ParameterNumber
from hlo.types.element_type import ELEMENT_TYPES, F32
from hlo.walk import post_order
from interpreter.numbers.widths import float_format

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codegen.expressions import Name
    from hlo.instruction import Computation, Instruction
    from hlo.types.element_type import ElementType
    from optimizer.analysis.indexing import Sum

    Part = tuple[Callable[[Sum], Expr], int]  # a key's word at an index of the row, and its bits


@dataclass(frozen=True, slots=True)
class SortKey:
    """One key of a comparator.

    Attributes
    ----------
    value : the instruction of the comparator that computes it; it reads parameters of one side.
    side : 0 where these are the parameters 0, 2, 4, ...; 1 where they are the others.
    total : floats are in total order, else -0 is 0. Where NaN goes in the usual order, HLO leaves
        open; here it goes where the total order has it.
    """

    value: Instruction
    side: int
    descending: bool
    total: bool

    @property
    def element_type(self) -> ElementType:
        """The type of the key."""
        return self.value.shape.element_type

    @property
    def bits(self) -> int:
        """The width in bits of the integer that stands for the key."""
        kind = self.element_type
        if not kind.is_floating:
            return kind.bits
        if not is_narrow(kind):
            return kind.bits
        # Widened to f32, which has a sign and 8 bits of exponent; the rest is all zeros or ones.
        # 2^-127, which f8e8m0fnu has and f32 has not but as a subnormal, takes a bit of mantissa.
        return 9 + max(float_format(kind.dtype).mantissa_bits, 1)

    def word(self, value: Expr) -> Expr:
        """The unsigned integer, of the requested order, of a key's wide value."""
        kind = self.element_type
        unsigned = f"u{64 if self.bits == 64 else 32}"
        if kind.is_floating:
            plain = value if self.total else value + 0
            word: Expr = apply(FUNCTIONS["order_bits", ELEMENT_TYPES[wide(kind)]], plain)
            word = Group(word >> (32 - self.bits)) if is_narrow(kind) else word
        else:
            sign = 1 << (self.bits - 1) if kind.kind == "signed" else 0
            word = Cast(unsigned, Group(value))
            word = Group(word ^ _bits(sign)) if sign else word
        mask = (1 << self.bits) - 1
        if self.descending:
            return Group(~word & _bits(mask))
        return Group(word & _bits(mask)) if kind.kind == "signed" else word

    def tells(self, element_type: ElementType) -> bool:
        """Whether most elements of a type can be made from their keys: see `bits_of_word`."""
        return element_type is self.element_type and element_type.bits == self.bits == 32

    def bits_of_word(self, word: Expr) -> Expr:
        """The bits of the element that is its own key, if there is one, for a word."""
        if self.descending:
            word = ~word
        kind = self.element_type.kind
        bits = word if kind == "unsigned" else Group(word ^ _bits(1 << 31))
        ordered = apply(FUNCTIONS["ordered_bits", F32], Cast("s32", bits))
        return Cast("u32", ordered) if kind == "float" else bits


def _bits(number: int) -> Literal:
    return Literal(number, "u32", hexadecimal=True)


def keys(comparator: Computation) -> tuple[SortKey, ...]:
    """The keys that a comparator compares, the most important first; none if it is another kind."""
    sort_keys: list[SortKey] = []
    root = comparator.root
    while root.opcode in ("or", "select"):
        first = _unequal_first(root)
        if first is None:
            return ()
        less, equal, root = first
        key = _key(less)
        same = _is(equal, "EQ") and set(equal.operands) == set(less.operands)
        if key is None or not same or Compare.of(equal).type != Compare.of(less).type:
            return ()
        sort_keys.append(key)
    last = _key(root)
    return (*sort_keys, last) if last else ()


def operands_of(*keys: SortKey) -> list[int]:
    """The numbers of the sort's operands of whose elements keys are made."""
    inside = (i for key in keys for i in post_order(key.value) if i.opcode == "parameter")
    return sorted({ParameterNumber.of(i).number // 2 for i in inside})


def word_of_key(body: Body, instr: Instruction, key: SortKey, values: Sequence[Expr]) -> Expr:
    """The word of a comparator's key, for an element of each of the sorted arrays."""
    environment = Environment()
    for parameter in instr.called[0].parameters:
        number = ParameterNumber.of(parameter).number
        if number % 2 == key.side:
            environment.scalars[parameter] = (values[number // 2],)
    return key.word(Body(body.writer, environment).element(key.value, ()))


def parts_of(key: SortKey, value: Callable[[Sum], Expr]) -> list[Part]:
    """A key's word, or its halves."""
    if key.bits <= 32:
        return [(value, key.bits)]
    return [(lambda j: Group(value(j) >> 32), 32), (lambda j: Cast("u32", value(j)), 32)]


def note_loss(body: Body, lost: Name, key: SortKey, word: Expr, value: Expr) -> None:
    """Note whether an element can't be made from its key's word."""
    bits = bits_of(body, value, key.element_type)
    body.assign(lost, lost | Group(key.bits_of_word(word) ^ bits))


def _unequal_first(root: Instruction) -> tuple[Instruction, Instruction, Instruction] | None:
    """The comparisons `less` and `equal` of one key, and the rest for where that is equal.

    The two forms are `less or (equal and rest)` and `equal ? rest : less`.
    """
    if root.opcode == "select":
        equal, rest, less = root.operands
        return less, equal, rest
    for less, other in (root.operands, root.operands[::-1]):
        if less.opcode == "compare" and other.opcode == "and":
            for equal, rest in (other.operands, other.operands[::-1]):
                if _is(equal, "EQ") and set(equal.operands) == set(less.operands):
                    return less, equal, rest
    return None


def _is(instr: Instruction, *directions: str) -> bool:
    return instr.opcode == "compare" and Compare.of(instr).direction in directions


def _key(less: Instruction) -> SortKey | None:
    if not _is(less, "LT", "GT") or less.operands[0].shape.element_type.is_complex:
        return None
    left, right = less.operands
    side = _twins(left, right)
    if side is None:
        return None
    attrs = Compare.of(less)
    # Where the right element is on the left, less is more.
    descending = (attrs.direction == "GT") != (side == 1)
    return SortKey(left, side, descending, attrs.type == "TOTALORDER")


def _twins(left: Instruction, right: Instruction) -> int | None:
    """The side that the left term reads, if the right term is the same of the other side."""
    sides: set[int] = set()
    stack = [(left, right)]
    seen: set[tuple[Instruction, Instruction]] = set()
    while stack:
        pair = stack.pop()
        if pair in seen:
            continue
        seen.add(pair)
        x, y = pair
        if x.opcode == y.opcode == "parameter":
            one, other = (_number(i) for i in pair)
            if one ^ 1 != other:
                return None
            sides.add(one % 2)
            continue
        if not _same_operation(x, y):
            return None
        stack += zip(x.operands, y.operands, strict=True)
    return sides.pop() if len(sides) == 1 else None


def _number(parameter: Instruction) -> int:
    attrs = ParameterNumber.of(parameter)
    return attrs.number


def _same_operation(x: Instruction, y: Instruction) -> bool:
    if x is y:
        return True
    if x.opcode != y.opcode or x.shape != y.shape or x.called or y.called:
        return False
    if x.opcode == "constant":
        return _bytes(x) == _bytes(y) is not None
    return x.attrs == y.attrs


def _bytes(constant: Instruction) -> bytes | None:
    attrs = Constant.of(constant)
    return None if attrs.literal.array is None else attrs.literal.array.tobytes()
