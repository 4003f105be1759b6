"""Modules as arrays of elements' numbers: what computes the same has the same numbers.

Calls and fusions are inlined and tuples are taken apart. What moves elements moves their numbers;
what computes element by element, folds or contracts makes new ones; any other opcode makes an array
of what its operands' arrays are, as a whole. What is constant is evaluated. A computation that an
opcode calls again and again is what it makes of unknown arguments.

The order in which a fold or a contraction adds is XLA's to choose: of the same elements in the same
order, two are equal.
"""

from __future__ import annotations

from hashlib import blake2b
from math import prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hlo.attributes import NO_ATTRS, Compare, ParameterNumber
from hlo.build import alone, instruction
from hlo.build import module as module_of
from hlo.infer.precision import mixed_precision
from hlo.instruction import Instruction
from hlo.opcode import COMPILE_TIME, FORWARDING, GIVEN, having
from hlo.table import OpTable
from hlo.types.element_type import PRED
from hlo.types.shape import array
from hlo.walk import post_order
from hlo_tools.running import EndlessError, run
from interpreter.engine.frame import quiet
from interpreter.monoid import monoid_of
from interpreter.table import evaluates
from optimizer.effects import has_effect, has_own_effect

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from hlo import attributes as a
    from hlo.instruction import Computation
    from hlo.types.element_type import ElementType
    from hlo.types.shape import Shape
    from hlo_tools.proofs.elements import Array, Ids, NumberedElements

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
            self.unite(*(self.value(each, arguments, depth, known) for each in (old, new)))
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
        found = special(self, instr, instr.attrs, operands, depth) if special else None
        if found is None and not has_effect(instr) and instr.row.pure:
            found = self.folded(instr, operands)
        return self.whole(instr, operands, depth) if found is None else found

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
        made = self.elements.number(key, result, *rows)
        if opcode == "select":
            return self.chosen(made, *rows).reshape(dims)
        fixed = np.logical_and.reduce([self.elements.is_constant[row] for row in rows])
        if fixed.any() and result.bits <= 64:
            given = [
                self.elements.values(row[fixed], t) for row, t in zip(rows, types, strict=True)
            ]
            step = scalar_operation(opcode, attrs, types, result, (int(fixed.sum()),))
            with quiet():
                values = np.asarray(evaluates[opcode](step, attrs, *given))
            made = made.copy()
            made[fixed] = self.elements.constants(values.astype(result.dtype), result)
        return made.reshape(dims)

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

    def chosen(self, made: Ids, condition: Ids, x: Ids, y: Ids) -> Ids:
        """The results of `select`: one of the elements where the choice is known, or none."""
        fixed = self.elements.is_constant[condition]
        made = np.where(x == y, x, made)
        return np.where(fixed, np.where(self.elements.first[condition] != 0, x, y), made)

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
        given = [
            self.elements.values(value.reshape(-1), operand.shape.element_type).reshape(value.shape)
            for value, operand in zip(operands, instr.operands, strict=True)
        ]
        try:
            return self.literal(run(module_of(alone(instr)), given), instr.shape)
        except (EndlessError, Exception):
            return None

    def literal(self, value: Any, shape: Shape) -> Value:
        """The numbers of a known value."""
        if shape.is_tuple:
            pairs = zip(value, shape.elements, strict=True)
            return tuple(self.literal(each, element) for each, element in pairs)
        known = self.elements.constants(np.asarray(value), shape.element_type)
        return known.reshape(np.shape(value))

    def whole(self, instr: Instruction, operands: list[Value], depth: int) -> Value:
        """A value of which only this is known: it follows from the operands' values."""
        named = instr.name if acts(instr) else ""
        called = tuple(self.body(each, depth) for each in instr.called)
        attrs = instr.attrs
        told = instr.annotations if instr.opcode == "custom-call" else None
        config = (told.backend_config, told.sharding) if told else ()
        given = self.digest(tuple(operands))
        key = ("whole", instr.opcode, attrs, config, named, called, given)
        if has_effect(instr):
            self.effects.append(key)
        return self.parts(key, instr.shape)

    def parts(self, key: tuple[Hashable, ...], shape: Shape, *path: int) -> Value:
        """The elements of a value that is known as a whole."""
        if shape.is_tuple:
            return tuple(self.parts(key, e, *path, n) for n, e in enumerate(shape.elements))
        dims = shape.dims if shape.is_array else ()
        element_type = shape.element_type if shape.is_array else None
        made = self.elements.number((*key, path, dims), element_type, np.arange(prod(dims)))
        return made.reshape(dims)

    def body(self, computation: Computation, depth: int) -> Hashable:
        """A short name for the value of a computation of unknown arguments."""
        monoid = monoid_of(computation)
        if monoid is not None:
            return (computation.root.opcode, computation.root.shape.element_type)

        def make() -> Hashable:
            given = [
                self.symbols(p.shape, "parameter", depth + 1, n)
                for n, p in enumerate(computation.parameters)
            ]
            value, effects = self.computed(computation, given, depth + 1)
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
            parts = b"".join(self.digest(each) for each in cast("tuple[Value, ...]", value))
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
        return [leaf for each in cast("tuple[Value, ...]", value) for leaf in leaves(each)]
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


@numbers("constant")
def _constant(here: Numbering, instr: Instruction, attrs: a.Constant, *_: Any) -> Value:
    if attrs.literal.elided:
        return here.symbols(instr.shape, "elided", attrs.literal.first)
    return here.literal(attrs.literal.value, instr.shape)


@numbers("iota")
def _iota(here: Numbering, instr: Instruction, attrs: a.Iota, *_: Any) -> Value:
    return here.literal(evaluates["iota"](instr, attrs), instr.shape)


@numbers("tuple")
def _tuple(
    _here: Numbering, _instr: Instruction, _attrs: a.Attrs, operands: list[Value], _: int
) -> Value:
    return tuple(operands)


@numbers("get-tuple-element")
def _element(
    _here: Numbering, _instr: Instruction, attrs: a.GetTupleElement, operands: list[Value], _: int
) -> Value:
    return operands[0][attrs.index]


@numbers("call", "fusion")
def _call(
    here: Numbering, instr: Instruction, _attrs: a.Attrs, operands: list[Value], depth: int
) -> Value | None:
    return here.inlined(instr.called[0], operands, depth)


@numbers("bitcast")
def _bitcast(
    _here: Numbering, instr: Instruction, _attrs: a.Attrs, operands: list[Ids], _: int
) -> Value | None:
    source, target = instr.operands[0].shape, instr.shape
    if source.element_type is not target.element_type or source.size != target.size:
        return None
    return as_bytes_lie(source, target, operands[0])


def as_bytes_lie(source: Shape, target: Shape, operand: Array) -> Array:
    """The elements of an array under another shape with the same bytes."""
    order = target.memory_order
    in_memory = operand.transpose(source.memory_order)
    dims = [target.dims[d] for d in order]
    return in_memory.reshape(dims).transpose(np.argsort(order))


@numbers("bitcast-convert")
def _bitcast_convert(
    here: Numbering, instr: Instruction, attrs: a.Attrs, operands: list[Ids], _: int
) -> Value | None:
    if instr.shape.element_type.bits != instr.operands[0].shape.element_type.bits:
        return None
    return here.elementwise(instr, attrs, operands)


@numbers("conditional")
def _conditional(
    here: Numbering, instr: Instruction, _attrs: a.Attrs, operands: list[Value], depth: int
) -> Value | None:
    if has_effect(instr):
        return None
    index, *given = operands
    element_type = instr.operands[0].shape.element_type
    values = [here.computed(c, [v], depth)[0] for c, v in zip(instr.called, given, strict=True)]
    if element_type is PRED:
        return here.select(index, values[0], values[1], instr.shape)
    chosen = values[-1]
    for n, value in enumerate(values[:-1]):
        number = here.elements.constants(np.array([n], element_type.dtype), element_type)
        step = scalar_operation("compare", Compare(direction="EQ"), [element_type] * 2, PRED)
        taken = here.elementwise(step, step.attrs, [index, number.reshape(())])
        chosen = here.select(taken, value, chosen, instr.shape)
    return chosen


@numbers("async-start")
def _async_start(
    here: Numbering, instr: Instruction, _attrs: a.Attrs, operands: list[Value], depth: int
) -> Value | None:
    if not instr.called or any(map(has_effect, instr.called[0].instructions)):
        return None
    if len(instr.called[0].parameters) != len(operands):
        return None
    rest = [here.symbols(e, "context") for e in instr.shape.elements[2:]]
    return (tuple(operands), here.computed(instr.called[0], operands, depth)[0], *rest)


@numbers("async-update")
def _async_update(
    _here: Numbering, _instr: Instruction, _attrs: a.Attrs, operands: list[Value], _: int
) -> Value:
    return operands[0]


@numbers("async-done")
def _async_done(
    _here: Numbering, _instr: Instruction, _attrs: a.Attrs, operands: list[Value], _: int
) -> Value:
    return operands[0][1]


@numbers("copy-start")
def _copy_start(
    here: Numbering, instr: Instruction, _attrs: a.Attrs, operands: list[Value], _: int
) -> Value:
    return (operands[0], operands[0], here.symbols(instr.shape.elements[2], "context"))


@numbers("copy-done")
def _copy_done(
    _here: Numbering, _instr: Instruction, _attrs: a.Attrs, operands: list[Value], _: int
) -> Value:
    return operands[0][0]


@numbers("map")
def _map(
    here: Numbering, instr: Instruction, _attrs: a.Attrs, operands: list[Ids], depth: int
) -> Value | None:
    body = instr.called[0]
    if not all(i.row.elementwise or i.opcode in GIVEN | COMPILE_TIME for i in body.instructions):
        return None
    value: Ids = here.computed(body, operands, depth)[0]
    return np.broadcast_to(value, instr.shape.dims)


@numbers("reduce")
def _reduce(
    here: Numbering, instr: Instruction, attrs: a.Dimensions, operands: list[Ids], depth: int
) -> Value:
    half = len(operands) // 2
    kept = [d for d in range(operands[0].ndim) if d not in attrs.dimensions]
    dims = [operands[0].shape[d] for d in kept]
    order = [*kept, *sorted(attrs.dimensions)]
    count = prod(operands[0].shape[d] for d in attrs.dimensions)
    rows = [x.transpose(order).reshape(prod(dims), count) for x in operands[:half]]
    initial = [np.broadcast_to(x, (prod(dims),)) for x in operands[half:]]
    body = instr.called[0]
    if count <= 1:
        elements = [row.reshape(-1) for row in rows]
        value = here.computed(body, [*initial, *elements], depth)[0] if count else tuple(initial)
        made = list(leaves(value))
    else:
        if exact_in_any_order(body):
            rows = [np.sort(rows[0], axis=1)]
        together = np.concatenate([np.stack(initial, axis=1), *rows], axis=1)
        key = ("reduce", here.body(body, depth), half)
        made = [
            here.elements.of_rows((*key, n, x.shape.element_type), x.shape.element_type, together)
            for n, x in enumerate(instr.operands[:half])
        ]
    values = tuple(np.broadcast_to(x, (prod(dims),)).reshape(dims) for x in made)
    return values if instr.shape.is_tuple else values[0]


def exact_in_any_order(computation: Computation) -> bool:
    """Whether a fold by a computation gives the same bits in any order."""
    monoid = monoid_of(computation)
    if monoid is None:
        return False
    return monoid.compares or not computation.root.shape.element_type.real.is_floating


@numbers("dot")
def _dot(
    here: Numbering, instr: Instruction, attrs: a.DotDims, operands: list[Ids], _: int
) -> Value | None:
    x, y = operands
    if not x.size or not y.size:
        return None
    # Which of the summed dimensions comes first is left open; the left side's order decides.
    summed = sorted(zip(attrs.lhs_contracting_dims, attrs.rhs_contracting_dims, strict=True))
    left = rows_of(here, x, attrs.lhs_batch_dims, [pair[0] for pair in summed])
    right = rows_of(here, y, attrs.rhs_batch_dims, [pair[1] for pair in summed])
    pairs = np.broadcast_arrays(left[:, :, None], right[:, None, :])
    first, second = (pair.reshape(-1) for pair in pairs)
    types = [operand.shape.element_type for operand in instr.operands]
    if types[0] is types[1] and len(set(attrs.operand_precision)) <= 1:
        first, second = np.minimum(first, second), np.maximum(first, second)
    key = ("dot", *types, instr.shape.element_type, attrs.algorithm, attrs.operand_precision)
    made = here.elements.number(key, instr.shape.element_type, first, second)
    return made.reshape(instr.shape.dims)


def rows_of(here: Numbering, x: Ids, batch: Sequence[int], summed: Sequence[int]) -> Ids:
    """The numbers of the rows over which a dot sums: by batch, and by the other dimensions."""
    free = [d for d in range(x.ndim) if d not in batch and d not in summed]
    count = prod(x.shape[d] for d in summed)
    batches = prod(x.shape[d] for d in batch)
    rows = x.transpose([*batch, *free, *summed]).reshape(x.size // count, count)
    return here.elements.of_rows(("elements of a row",), None, rows).reshape(batches, -1)


@numbers("dynamic-slice", "dynamic-update-slice", "gather")
def _at_known_places(
    here: Numbering, instr: Instruction, attrs: a.Attrs, operands: list[Ids], _: int
) -> Value | None:
    places = 2 if instr.opcode == "dynamic-update-slice" else 1
    if not all(here.elements.is_constant[o].all() for o in operands[places:]):
        return None
    known = [
        here.elements.values(value.reshape(-1), operand.shape.element_type).reshape(value.shape)
        for value, operand in zip(operands[places:], instr.operands[places:], strict=True)
    ]
    return np.asarray(evaluates[instr.opcode](instr, attrs, *operands[:places], *known))
