"""Value numbering by elements: elements that compute the same get the same number.

Calls and fusions are inlined and tuples are taken apart. An opcode that moves elements moves their
numbers. One that computes element by element makes new ones; `opcodes`, `places` and `loops` say
what others make. All other opcodes make an array of their operands' arrays, as a whole. Constants
are evaluated. A computation that an opcode calls again and again is what it makes of unknown
arguments.
"""

from __future__ import annotations

from hashlib import blake2b
from math import prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hlo.attributes import NO_ATTRS, Compare, ParameterNumber
from hlo.build import alone, instruction
from hlo.build import module as module_of
from hlo.effects import has_effect, has_own_effect
from hlo.infer.precision import mixed_precision
from hlo.instruction import Instruction
from hlo.monoid import monoid_of
from hlo.opcode import FORWARDING, having
from hlo.table import OpTable
from hlo.types.element_type import PRED
from hlo.types.shape import array
from hlo.walk import post_order
from hlo_tools.values.bounded import EndlessError, run
from interpreter.engine.frame import quiet
from interpreter.table import evaluates

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from hlo import attributes as a
    from hlo.instruction import Computation
    from hlo.types.element_type import ElementType
    from hlo.types.shape import Shape
    from hlo_tools.proofs.elements import Ids, NumberedElements

Value = Any  # an array of elements' numbers, or a tuple of values
Rewrites = tuple[tuple["Instruction", "Instruction"], ...]

# Functions of opcodes with a way of their own. They give None where that does not help.
numbers: OpTable[Callable[..., Value | None]] = OpTable("numbers")
PLUMBING = {"tuple", "get-tuple-element", "call", "fusion", "constant", "async-start", "async-done"}
# What they do besides computing a value is to wait for other devices, which all run the same.
EXCHANGES = having("collective") - having("async")
# Of so many elements, an array that follows from constants is evaluated.
MOST_FOLDED = 1 << 16
MIRRORED = {"GT": "LT", "GE": "LE"}
COMMUTING = {"EQ", "NE"}


class Numbering:
    """Numbers the elements of computations.

    Parameters
    ----------
    elements : the table of all of them.
    rewrites : pairs of instructions that are equal whatever their operands are, by the name of
        their computation.
    """

    def __init__(self, elements: NumberedElements, rewrites: Mapping[str, Rewrites]) -> None:
        self.elements, self.rewrites = elements, rewrites
        self.memory: dict[Hashable, Any] = {}
        self.effects: list[Hashable] = []

    def computed(
        self, computation: Computation, arguments: Sequence[Value], depth: int
    ) -> tuple[Value, tuple[Hashable, ...]]:
        """The value of a computation of arguments, and its effects.

        Parameters
        ----------
        depth : how many computations with unknown arguments are around it.
        """
        known: dict[Instruction, Value] = {}
        for old, new in self.rewrites.get(computation.name, ()):
            self.unite(*(self.value(instr, arguments, depth, known) for instr in (old, new)))
        known, outer, self.effects = {}, self.effects, []
        value = self.value(computation.root, arguments, depth, known)
        for instr in computation.instructions:
            if has_effect(instr):
                self.value(instr, arguments, depth, known)
        effects, self.effects = tuple(self.effects), outer
        return value, effects

    def inlined(self, computation: Computation, arguments: Sequence[Value], depth: int) -> Value:
        """The value of a computation of arguments, whose effects are those of the caller."""
        value, effects = self.computed(computation, arguments, depth)
        self.effects += effects
        return value

    def unite(self, some: Value, others: Value) -> None:
        """Take the elements of a value for equal to those of another one."""
        for one, other in zip(leaves(some), leaves(others), strict=True):
            if one.shape == other.shape:
                self.elements.unite(one.reshape(-1), other.reshape(-1))

    def value(
        self,
        root: Instruction,
        arguments: Sequence[Value],
        depth: int,
        known: dict[Instruction, Value],
    ) -> Value:
        """The value of an instruction of a computation with these arguments."""
        for instr in [i for i in post_order(root) if i not in known]:
            if instr.opcode == "parameter":
                known[instr] = arguments[ParameterNumber.of(instr).number]
            else:
                operands = [self.canonical(known[operand]) for operand in instr.operands]
                known[instr] = self.of_instruction(instr, operands, depth)
        return known[root]

    def of_instruction(self, instr: Instruction, operands: list[Value], depth: int) -> Value:
        """The value of an instruction over its operands' values."""
        traits, opcode = instr.row.traits, instr.opcode
        if opcode in FORWARDING:
            return operands[0]
        if mixed_precision(instr) is not None:
            return self.whole(instr, operands, depth)
        special = numbers.get(opcode)
        shapes = [instr.shape, *[operand.shape for operand in instr.operands]]
        if any(leaf.is_dynamic for shape in shapes for _, leaf in shape.leaves() if leaf.is_array):
            special = special if opcode in PLUMBING else None
        elif "movement" in traits and "data_dependent" not in traits and opcode != "bitcast":
            return np.asarray(evaluates[opcode](instr, instr.attrs, *operands))
        elif instr.row.elementwise:
            return self.elementwise(instr, instr.attrs, operands)
        value = special(self, instr, instr.attrs, operands, depth) if special else None
        if value is None and not has_effect(instr) and instr.row.pure:
            value = self.folded(instr, operands)
        return self.whole(instr, operands, depth) if value is None else value

    def canonical(self, value: Value) -> Value:
        """A value in the numbers that stand for all that are equal to them by now."""
        if isinstance(value, tuple):
            return tuple(map(self.canonical, cast("tuple[Value, ...]", value)))
        return self.elements.leader[value]

    def symbols(self, shape: Shape, *name: Hashable) -> Value:
        """A value whose elements are unknown."""
        if shape.is_tuple:
            return tuple(self.symbols(e, *name, n) for n, e in enumerate(shape.elements))
        dims = shape.dims if shape.is_array else ()
        element_type = shape.element_type if shape.is_array else None
        key = ("unknown", *name, dims, element_type)
        return self.elements.number(key, element_type, np.arange(prod(dims))).reshape(dims)

    def elementwise(self, instr: Instruction, attrs: a.Attrs, operands: list[Ids]) -> Ids:
        """An operation on elements at the same index."""
        opcode = instr.opcode
        types = [operand.shape.element_type for operand in instr.operands]
        result = instr.shape.element_type
        rows = np.broadcast_arrays(*operands)
        dims, rows = rows[0].shape, [row.reshape(-1) for row in rows]
        if opcode == "convert" and types == [result]:
            return rows[0].reshape(dims)
        swapped = "commutative" in instr.row.traits
        if isinstance(attrs, Compare):
            swapped = attrs.direction in COMMUTING
            if attrs.direction in MIRRORED:
                rows.reverse()
                types.reverse()
                attrs = Compare(direction=MIRRORED[attrs.direction], type=attrs.type)
        if swapped and types[0] is types[1]:
            rows = [np.minimum(*rows), np.maximum(*rows)]
        key = (opcode, attrs, *types, result)
        ids = self.elements.number(key, result, *rows)
        if opcode == "select":
            return self.chosen(ids, *rows).reshape(dims)
        fixed = np.logical_and.reduce([self.elements.is_constant[row] for row in rows])
        if fixed.any() and result.bits <= 64:
            operand_values = [
                self.elements.values(row[fixed], t) for row, t in zip(rows, types, strict=True)
            ]
            step = scalar_operation(opcode, attrs, types, result, (int(fixed.sum()),))
            with quiet():
                values = np.asarray(evaluates[opcode](step, attrs, *operand_values))
            ids = ids.copy()
            ids[fixed] = self.elements.constants(values.astype(result.dtype), result)
        return ids.reshape(dims)

    def select(self, condition: Ids, x: Value, y: Value, shape: Shape) -> Value:
        """One of two values, as a scalar decides."""
        if shape.is_tuple:
            rows = zip(x, y, shape.elements, strict=True)
            return tuple(self.select(condition, *row) for row in rows)
        if not shape.is_array:
            return x
        step = scalar_operation(
            "select", NO_ATTRS, [PRED, *[shape.element_type] * 2], shape.element_type
        )
        return self.elementwise(step, NO_ATTRS, [condition, x, y])

    def chosen(self, ids: Ids, condition: Ids, x: Ids, y: Ids) -> Ids:
        """The results of `select`: one of the elements where the choice is known, or none."""
        fixed = self.elements.is_constant[condition]
        ids = np.where(x == y, x, ids)
        return np.where(fixed, np.where(self.elements.first[condition] != 0, x, y), ids)

    def folded(self, instr: Instruction, operands: list[Value]) -> Value | None:
        """The value of an instruction whose operands are constants, if it is small."""
        flat = [leaf for operand in operands for leaf in leaves(operand)]
        size = sum(leaf.size for leaf in flat) + sum(
            leaf.size for _, leaf in instr.shape.leaves() if leaf.is_array
        )
        if size > MOST_FOLDED or not all(self.elements.is_constant[leaf].all() for leaf in flat):
            return None
        if not all(operand.shape.is_array for operand in instr.operands):
            return None
        operand_values = [
            self.elements.values(value.reshape(-1), operand.shape.element_type).reshape(value.shape)
            for value, operand in zip(operands, instr.operands, strict=True)
        ]
        try:
            return self.literal(run(module_of(alone(instr)), operand_values), instr.shape)
        except (EndlessError, Exception):
            return None

    def literal(self, value: Any, shape: Shape) -> Value:
        """The numbers of a known value."""
        if shape.is_tuple:
            pairs = zip(value, shape.elements, strict=True)
            return tuple(self.literal(part, element) for part, element in pairs)
        known = self.elements.constants(np.asarray(value), shape.element_type)
        return known.reshape(np.shape(value))

    def whole(self, instr: Instruction, operands: list[Value], depth: int) -> Value:
        """A value of which only this is known: it follows from the operands' values."""
        named = instr.name if acts(instr) else ""
        called = tuple(self.body(callee, depth) for callee in instr.called)
        attrs = instr.attrs
        notes = instr.annotations if instr.opcode == "custom-call" else None
        config = (notes.backend_config, notes.sharding) if notes else ()
        digests = self.digest(tuple(operands))
        key = ("whole", instr.opcode, attrs, config, named, called, digests)
        if has_effect(instr):
            self.effects.append(key)
        return self.parts(key, instr.shape)

    def parts(self, key: tuple[Hashable, ...], shape: Shape, *path: int) -> Value:
        """The elements of a value that is known as a whole."""
        if shape.is_tuple:
            return tuple(self.parts(key, e, *path, n) for n, e in enumerate(shape.elements))
        dims = shape.dims if shape.is_array else ()
        element_type = shape.element_type if shape.is_array else None
        key = (*key, path, dims, element_type)
        ids = self.elements.number(key, element_type, np.arange(prod(dims)))
        return ids.reshape(dims)

    def body(self, computation: Computation, depth: int) -> Hashable:
        """A short name for the value of a computation of unknown arguments."""
        monoid = monoid_of(computation)
        if monoid is not None:
            return (computation.root.opcode, computation.root.shape.element_type)

        def make() -> Hashable:
            parameters = [
                self.symbols(p.shape, "parameter", depth + 1, n)
                for n, p in enumerate(computation.parameters)
            ]
            value, effects = self.computed(computation, parameters, depth + 1)
            return (self.digest(value), effects)

        return self.remembered((computation, depth), make)

    def remembered(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """A value that is made once."""
        if key not in self.memory:
            self.memory[key] = make()
        return self.memory[key]

    def digest(self, value: Value) -> bytes:
        """A few bytes that stand for a value."""
        if isinstance(value, tuple):
            parts = b"".join(self.digest(part) for part in cast("tuple[Value, ...]", value))
            return blake2b(b"(" + parts + b")", digest_size=16).digest()
        ids: Ids = self.elements.leader[value]
        return blake2b(f"{ids.shape}".encode() + ids.tobytes(), digest_size=16).digest()


def acts(instr: Instruction) -> bool:
    """Whether an instruction, or any that it calls, does more than exchange values of devices."""
    if has_own_effect(instr) and instr.opcode not in EXCHANGES:
        return True
    return has_effect(instr) and any(acts(i) for c in instr.called for i in c.instructions)


def leaves(value: Value) -> list[Ids]:
    """The arrays of a value, in order."""
    if isinstance(value, tuple):
        return [leaf for part in cast("tuple[Value, ...]", value) for leaf in leaves(part)]
    return [value]


def scalar_operation(
    opcode: str,
    attrs: a.Attrs,
    types: Sequence[ElementType],
    result: ElementType,
    dims: tuple[int, ...] = (),
) -> Instruction:
    """An elementwise instruction by itself."""
    operands = tuple(
        instruction("parameter", name=f"x{n}", shape=array(t, dims), number=n)
        for n, t in enumerate(types)
    )
    return Instruction(opcode, opcode, array(result, dims), operands, attrs)
