"""Elements that are folds: reduce and map; and folding itself.

A computation that is one known operation folds in the wide type and is rounded once, as in the
interpreter; its loop can run in vector lanes. Any other is inlined, and rounds as it says.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from codegen.callees import FUNCTIONS
from codegen.elements.folds import EXTREMES, OPERATIONS, SUM_OF_FLOATS, joined, neutral
from codegen.elements.types import load, narrowed
from codegen.expressions import (
    Apply,
    Cast,
    Choose,
    Expr,
    Group,
    Name,
    Op,
    binary,
    condition_of,
    item,
)
from codegen.kinds import is_narrow, number_of, wide
from codegen.opcodes.extremes import first_extreme
from codegen.opcodes.movement import define
from codegen.opcodes.scalar import expression
from codegen.statements import Assign, For, If, Statement, base, straight
from hlo import attributes as a
from hlo.monoid import monoid_of
from hlo.support import machine
from hlo.types.element_type import ELEMENT_TYPES
from optimizer.analysis.indexing import Index, Sum, Within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.callees import Callee
    from codegen.elements.body import Body
    from codegen.elements.writer import Values
    from codegen.opcodes.extremes import Extreme
    from hlo.instruction import Computation, Instruction
    from hlo.types.element_type import ElementType
    from hlo.types.values import Window, WindowDim

ROWS_OF_WORDS = range(machine.LANES + 1, 32 * machine.LANES + 1)
"""Measured: lengths of rows whose extremes of few bits are found as words of numbers and indices:
where lanes are joined often. Along shorter and longer ones this takes 1.1 times as long."""


def parts_of(value: Expr) -> list[Expr]:
    """The real and the imaginary part of a complex number."""
    return [Op("real", (value,)), Op("imag", (value,))]


class Fold:
    """Variables that a computation folds values into.

    Parameters
    ----------
    types : of the folded arrays.
    initial : values to begin with.
    size, counter : for many folds side by side, whose variables are arrays of `size`: the name of
        the loop's counter, which is the index into them.

    Attributes
    ----------
    names : of the variables.
    lanes : the operator and the variable of each result, as in `For.reductions`; None where the
        loop can't run in vector lanes.
    """

    names: tuple[Expr, ...]
    lanes: tuple[tuple[str, str], ...] | None

    def __init__(
        self, body: Body, computation: Computation, types: Sequence[ElementType],
        initial: Sequence[Expr], name: str, *, size: int | None = None, counter: str = "",
    ) -> None:  # fmt: skip
        self.body, self.computation, self.types = body, computation, types
        monoid = monoid_of(computation)
        self.operation = monoid.opcode if monoid else None
        kinds = [wide(t) for t in types]
        # The extremes of floats are found among integers of the same order, whose maximum is
        # simple: NaN is beyond all of them. See `ordered_f32` in prelude/floats.c. A GPU has an
        # instruction for f32.
        extreme = self.operation in EXTREMES and types[0].is_floating
        self.ordered = extreme and not (body.writer.has_extremes and kinds[0] == "f32")
        values = list(initial)
        # The parts of complex numbers are added up for themselves, which can be done in lanes.
        self.in_parts = self.operation == "add" and types[0].is_complex
        if self.ordered:
            kinds, values = [self._key_type], [self._key(values[0])]
        if self.in_parts:
            kinds, values = [types[0].real.name] * 2, parts_of(values[0])
        pairs = list(zip(kinds, values, strict=True))
        if size is None:
            self.names = tuple(body.variable(kind, name, value) for kind, value in pairs)
        else:
            arrays = [body.variable(kind, name, size=size) for kind in kinds]
            self.names = tuple(item(array, Name(counter)) for array in arrays)
            starts = [Assign(n, v) for n, v in zip(self.names, values, strict=True)]
            body.add(For(counter, size, tuple(starts), simd=True))
        self.lanes = None
        if monoid and (self.in_parts or not types[0].is_complex):
            sign = OPERATIONS[monoid.opcode]
            if types[0].kind == "pred":
                # Added up as bytes, lanes that are true would wrap to 0.
                sign = OPERATIONS[monoid.of_preds]
            elif sign == "+" and (types[0].is_floating or self.in_parts):
                sign = SUM_OF_FLOATS
            elif extreme and not self.ordered:
                sign = monoid.opcode
            self.lanes = tuple((sign, base(name)) for name in self.names)

    @property
    def _is_stored(self) -> bool:
        """Whether the keys are those of floats of 16 bits as they are stored."""
        return is_narrow(self.types[0]) and self.types[0].bits == 16

    @property
    def _key_type(self) -> str:
        return number_of(self._to_key.result)

    @property
    def _to_key(self) -> Callee:
        """The function that gives the key of a number, stored or wide."""
        return FUNCTIONS[f"{self.operation}_key", self._type_of_numbers]

    @property
    def _type_of_numbers(self) -> ElementType:
        """The type of the numbers that have keys."""
        return self.types[0] if self._is_stored else ELEMENT_TYPES[wide(self.types[0])]

    def _key(self, value: Expr) -> Expr:
        kind = self.types[0]
        if self._is_stored:
            value = self.body.stored(kind, value)
        return Apply(self._to_key, (value,))

    def add(self, values: Sequence[Expr]) -> None:
        """Fold in one more value of each array."""
        body = self.body
        if self.ordered:
            key = body.let(self._key_type, "key", self._key(values[0]))
            sign = ">" if self.operation == "maximum" else "<"
            most = self.names[0]
            body.assign(most, Choose(binary(sign, key, most), key, most))
            return
        if self.in_parts:
            value = body.let(self.types[0].name, "value", values[0])
            for name, part in zip(self.names, parts_of(value), strict=True):
                body.assign(name, name + part)
            return
        if self.operation is not None:
            wraps = body.writer.wraps
            total = expression(self.operation, self.types[0], self.names[0], values[0], wraps=wraps)
            assert total is not None
            body.assign(self.names[0], total)
            return
        before = [
            body.let(wide(t), "folded", n) for t, n in zip(self.types, self.names, strict=True)
        ]
        total = body.apply(self.computation, *before, *values)
        for name, value in zip(self.names, total, strict=True):
            body.assign(name, value)

    @property
    def results(self) -> Values:
        """The results of the reduction."""
        if self.ordered:
            return (self._from_key(),)
        if self.in_parts:
            return (Apply(FUNCTIONS["complex", self.types[0]], self.names),)
        if self.operation is not None:
            return (narrowed(self.types[0], self.names[0]),)
        return self.names

    def _from_key(self) -> Expr:
        from_key = FUNCTIONS[f"{self.operation}_of_key", self._type_of_numbers]
        if self._is_stored:
            kind = self.types[0]
            bits = Apply(from_key, (self.names[0],))
            value = load(kind, bits)
            self.body.writer.raw[value] = (kind, bits)
            return value
        return narrowed(self.types[0], Apply(from_key, (self.names[0],)))

    @property
    def columns(self) -> tuple[tuple[str, str], ...] | None:
        """The operators and arrays of many folds side by side, as in `For.reductions`."""
        return self.lanes


class ExtremeFold(Fold):
    """A fold that looks for the first extreme of a row: of the numbers' keys and their indices.

    Parameters
    ----------
    initial : a number and index that the row's extreme is folded with at the end.
    """

    def __init__(
        self, body: Body, instr: Instruction, extreme: Extreme, initial: Sequence[Expr]
    ) -> None:
        self.body, self.computation, self.operation = body, instr.called[0], "maximum"
        self.types = [o.shape.element_type for o in instr.operands[:2]]
        self.extreme, self.initial = extreme, initial
        self._declare(instr.name)

    def _declare(self, name: str) -> None:
        """Declare the variables of the fold: a key, an index, and a zero where its sign counts."""
        body = self.body
        kinds = [("max", self.extreme.key_type), ("first", "s32")]
        kinds += [("max", "u32")] if self.extreme.has_zeros else []
        wanted = (name, "index", "zero")
        names = [
            body.variable(kind, name, neutral(operation, kind))
            for (operation, kind), name in zip(kinds, wanted, strict=False)
        ]
        pairs = zip(kinds, names, strict=True)
        self.names, self.lanes = tuple(names), tuple((op, name.name) for (op, _), name in pairs)

    def add(self, values: Sequence[Expr]) -> None:
        """Fold in one more number and its index."""
        body, (number, index) = self.body, values
        most, first, *zero = self.names
        key = body.let(self.extreme.key_type, "key", self.extreme.key(number))
        here = index if wide(self.types[1]) == "s32" else Cast("s32", index)
        body.assign(first, Choose(binary(">", key, most), here, first))
        body.assign(most, joined("max", most, key))
        if zero:
            word = body.let("u32", "word", self.extreme.numbered_zero(number, index))
            body.assign(zero[0], joined("max", zero[0], word))

    @property
    def results(self) -> Values:
        """The number and the index that were found."""
        body, (most, first, *zero) = self.body, self.names
        best = self.extreme.number(most, *zero)
        number = body.let(wide(self.types[0]), "found", best)
        index = body.let(wide(self.types[1]), "index", first)
        return body.apply(self.computation, *self.initial, number, index)


class WordFold(ExtremeFold):
    """A fold that looks for the first extreme of a row of numbers of few bits.

    It folds words, each of a number's key and its index.
    """

    def _declare(self, name: str) -> None:
        """Declare the variable of the fold: a word."""
        most = self.body.variable("s32", name, neutral("max", "s32"))
        self.names, self.lanes = (most,), (("max", most.name),)

    def add(self, values: Sequence[Expr]) -> None:
        """Fold in one more number and its index."""
        (most,) = self.names
        word = self.body.let("s32", "word", self.extreme.word(*values))
        self.body.assign(most, joined("max", most, word))

    @property
    def results(self) -> Values:
        """The number and the index that were found."""
        body, word_pair = self.body, self.extreme.pair(self.names[0])
        pair = (
            body.let(wide(kind), name, Cast(wide(kind), Group(value)))
            for kind, name, value in zip(self.types, ("found", "index"), word_pair, strict=True)
        )
        return body.apply(self.computation, *self.initial, *pair)


def fold_of(body: Body, instr: Instruction, **beside: Any) -> Fold:
    """Variables for a reduce, with its initial values.

    Parameters
    ----------
    beside : for many folds side by side: see `Fold`.
    """
    half = len(instr.operands) // 2
    arrays, starts = instr.operands[:half], [body.scalar(i) for i in instr.operands[half:]]
    extreme = None if beside else first_extreme(body, instr)
    if extreme:
        along, length = a.Dimensions.of(instr).dimensions, arrays[1].shape.dims[-1]
        is_row = arrays[1].shape.rank - 1 in along and length in ROWS_OF_WORDS
        in_words = is_row and extreme.fits_words(length)
        return (WordFold if in_words else ExtremeFold)(body, instr, extreme, starts)
    types = [x.shape.element_type for x in arrays]
    return Fold(body, instr.called[0], types, starts, instr.name, **beside)


def in_lanes(statements: Sequence[Statement], folds: Sequence[Fold]) -> tuple[Statement, ...]:
    """Let the innermost loop of some folds run in vector lanes, if it is straight code."""
    lanes = [fold.lanes for fold in folds]
    if None in lanes:
        return tuple(statements)
    together = tuple(lane for names in lanes for lane in names or ())
    return tuple(_in_lanes(s, together) for s in statements)


def _in_lanes(statement: Statement, lanes: tuple[tuple[str, str], ...]) -> Statement:
    if isinstance(statement, If):
        return replace(statement, then=tuple(_in_lanes(s, lanes) for s in statement.then))
    if not isinstance(statement, For) or statement.simd:
        return statement
    if any(isinstance(s, For) for s in statement.body):
        return replace(statement, body=tuple(_in_lanes(s, lanes) for s in statement.body))
    if straight(statement.body):
        return replace(statement, simd=True, reductions=lanes)
    if len(statement.body) == 1:
        return replace(statement, body=tuple(_in_lanes(s, lanes) for s in statement.body))
    return statement


def over(
    name: str, stop: int | Expr, statements: Sequence[Statement], start: int | Expr = 0
) -> For:
    """A loop over columns, in vector lanes where it is straight code."""
    return For(name, stop, tuple(statements), start=start, simd=straight(statements))


@define("reduce")
def write_reduce(body: Body, instr: Instruction, index: Index) -> Values:
    """Fold the reduced dimensions, in row-major order, from the initial values on."""
    attrs = a.Dimensions.of(instr)
    half = len(instr.operands) // 2
    arrays = instr.operands[:half]
    fold = fold_of(body, instr)
    dims = arrays[0].shape.dims
    sizes = [dims[d] for d in sorted(attrs.dimensions)]

    def add(inner: Index) -> None:
        reduced, kept_dims = iter(inner), iter(index)
        at = tuple(next(reduced if d in attrs.dimensions else kept_dims) for d in range(len(dims)))
        fold.add([body.element(x, at) for x in arrays])

    # Measured: each element of a short fold has statements of its own, so that the loops around may
    # have lanes. Otherwise sums of 2 to 8 rows take 1.3 times as long, the places of extremes of so
    # many rows 1.7 to 2.3, and of 8 columns 10 times.
    if fold.lanes is None and prod(sizes) <= machine.HALF_VECTOR:
        for numbers in product(*map(range, sizes)):
            add(tuple(map(Sum, numbers)))
        return fold.results
    with body.block() as statements, body.loops("r" * len(sizes), sizes) as inner:
        add(inner)
    body.add(*in_lanes(statements, [fold]))
    return fold.results


@define("map")
def write_map(body: Body, instr: Instruction, index: Index) -> Values:
    """A computation of scalars, inlined."""
    return body.apply(instr.called[0], *(body.element(o, index) for o in instr.operands))


def window_element(
    index: Index, offset: Index, dims: Sequence[int], window: Window
) -> tuple[Expr | None, Index]:
    """The index of the element `offset` of the window at `index`, and conditions on it.

    Returns
    -------
    tuple
        a condition, None where it always holds, and the index.
    """
    inside: list[Within] = []
    at: list[Sum] = []
    for i, step, n, w in zip(index, offset, dims, window, strict=True):
        condition, element = window_step(i, step, n, w)
        inside.append(condition)
        at.append(element)
    return condition_of(inside), tuple(at)


def window_step(index: Sum, step: Sum, n: int, window: WindowDim) -> tuple[Within, Sum]:
    """The window's step that reaches an element, and the condition that one does."""
    position = index * window.stride + step * window.window_dilation + -window.pad_low
    apart = window.base_dilation
    return Within(position, 0, (n - 1) * apart + 1, apart), position // apart
