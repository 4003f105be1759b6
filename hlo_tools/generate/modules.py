"""Random modules: well-typed, of all element types, with calls, branches and loops inside.

Some are as a compiler leaves them, with arrays in any memory order and bitcasts that read them.

A value of a wanted shape is made from the result to the operands: some opcode that can have such a
result, over operands of the shapes that it needs, and so on until parameters, constants or values
that are there already end it.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from hlo.build import Builder, instruction, module
from hlo.errors.error import HloError
from hlo.infer import infer
from hlo.names import NameSupply
from hlo.opcode import EXPLICIT_SHAPE, OPCODES
from hlo.types.element_type import PRED, S32
from hlo.types.literal import literal
from hlo.types.shape import array, tuple_of
from hlo_tools.generate import structured
from hlo_tools.generate.layouts import laid_out
from hlo_tools.generate.operands import UnfitError, Wanted, need, operands_for, scalar_computation
from hlo_tools.generate.random_shapes import TYPES, random_shape
from hlo_tools.generate.values import nasty

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from hlo.instruction import Computation, Instruction, Module
    from hlo.types.element_type import ElementType
    from hlo.types.shape import Shape

# The makers of instructions of these opcodes.
CALLING = {"call": "call", "conditional": "conditional", "while": "loop"}
# Made only for who asks for them: they give NaN of most operands, or need two devices.
RARE = (
    *("fft", "cholesky", "triangular-solve"),
    *("all-reduce", "all-gather", "collective-permute"),
)
# Slices of slices of slices would have ever larger operands.
MOST_ELEMENTS = 2048
# How often to choose among all opcodes where some are favoured.
LEFT_TO_CHANCE = 0.35
# How many modules are those of a compiler, with arrays in any memory order.
LAID_OUT = 0.25
# How many opcodes to try for a shape before a parameter or constant has to do.
TRIES = 6


def random_module(
    random: Random,
    size: int = 12,
    types: tuple[ElementType, ...] = TYPES,
    favoured: Sequence[str] = (),
) -> Module:
    """A module whose entry computation yields some random values.

    Parameters
    ----------
    size : of the entry computation: about as many instructions, besides those that they call.
    types : the element types that occur; beside s32 for what counts and chooses.
    favoured : opcodes that are chosen more often than others.
    """
    maker = ModuleMaker(random, NameSupply(), types, favoured)
    whole = module(maker.computation("main", None, None, size, depth=2))
    return laid_out(whole, random) if random.random() < LAID_OUT else whole


class ModuleMaker:
    """Makes computations that share a supply of names."""

    def __init__(
        self,
        random: Random,
        names: NameSupply,
        types: tuple[ElementType, ...],
        favoured: Sequence[str] = (),
    ) -> None:
        self.random, self.names, self.types = random, names, types
        self.favoured = [opcode for opcode in favoured if opcode in (*OPCODES_MADE, *RARE)]
        self.calls = {opcode for opcode in favoured if opcode in CALLING}
        self.callees: list[Computation] = []

    def computation(
        self,
        name: str,
        parameters: list[Shape] | None,
        result: Shape | None,
        size: int,
        depth: int,
    ) -> Computation:
        """One computation.

        Parameters
        ----------
        parameters : None if it may have any.
        result : None for a tuple of random values.
        size : about how many instructions.
        depth : how deep calls may nest.
        """
        body = ComputationMaker(self, Builder(self.names.unique(name), self.names), size, depth)
        body.may_add_parameters = parameters is None
        for shape in parameters or ():
            body.builder.parameter(shape)
        if result is not None:
            return body.builder.build(body.value(result, size))
        count = self.random.randint(1, 3)
        values = [body.value(self.shape(), size) for _ in range(count)]
        return body.builder.build(body.keep("tuple", *values))

    def shape(self) -> Shape:
        """An array shape, if need be one that a favoured opcode can have."""
        shape = random_shape(self.random, self.types)
        if not self.favoured or self.random.random() < LEFT_TO_CHANCE:
            return shape
        opcode = self.random.choice(self.favoured)
        for _ in range(TRIES):
            try:
                operands_for[opcode](self.random, shape, {"types": self.types})
            except UnfitError:
                shape = random_shape(self.random, self.types)
        return shape


class ComputationMaker:
    """One computation that is being made."""

    def __init__(self, maker: ModuleMaker, builder: Builder, size: int, depth: int) -> None:
        self.maker, self.builder, self.depth = maker, builder, depth
        self.random, self.left = maker.random, size
        self.may_add_parameters = False
        self.made: list[Instruction] = []

    def keep(self, opcode: str, *operands: Instruction, **rest: Any) -> Instruction:
        """Add an instruction, or raise an HloError if there is no such one."""
        # A declared shape is taken as it is, so it is checked before.
        infer(instruction(opcode, operands, name=opcode, **rest))
        new = self.builder.add(opcode, *operands, **rest)
        self.made.append(new)
        return new

    def value(self, shape: Shape, height: int) -> Instruction:
        """An instruction of a shape, at most so many operands away from the leaves."""
        there = [i for i in self.made if i.shape.compatible(shape)]
        if there and self.random.random() < 0.4:
            return self.random.choice(there)
        if height > 0 and self.left > 0 and not shape.is_dynamic:
            for _ in range(TRIES):
                self.left -= 1
                try:
                    return self.computed(shape, height)
                except (UnfitError, HloError):
                    continue
        return self.random.choice(there) if there else self.leaf(shape)

    def leaf(self, shape: Shape) -> Instruction:
        """A parameter or a constant; if it has a run-time size, a parameter."""
        need(self.may_add_parameters or not shape.is_dynamic)
        if self.may_add_parameters and (shape.is_dynamic or self.random.random() < 0.7):
            new = self.builder.parameter(shape)
            self.made.append(new)
            return new
        if shape.is_tuple:
            return self.keep("tuple", *[self.leaf(element) for element in shape.elements])
        if shape.dims and self.random.random() < 0.7:
            scalar = self.leaf(array(shape.element_type))
            return self.keep("broadcast", scalar, shape=shape, dimensions=())
        return self.keep("constant", shape=shape, literal=literal(nasty(shape, self.random), shape))

    def computed(self, shape: Shape, height: int) -> Instruction:
        """The result of some opcode, or of something that calls computations."""
        if self.depth > 0 and self.random.random() < (0.4 if self.maker.calls else 0.15):
            return getattr(self, CALLING[self.random.choice(self.calling())])(shape)
        alike = [i for i in self.made if i.opcode in OPCODES_MADE and i.shape.compatible(shape)]
        if alike and self.random.random() < 0.2:
            return self.twin(self.random.choice(alike))
        opcode = "tuple" if shape.is_tuple else self.opcode()
        wanted = operands_for[opcode](self.random, shape, {"types": self.maker.types})
        need(all(s.size <= MOST_ELEMENTS for w in wanted.operands for _, s in w.leaves()))
        operands = [self.value(operand, height - 1) for operand in wanted.operands]
        return self.keep(
            opcode,
            *operands,
            shape=shape if opcode in EXPLICIT_SHAPE else None,
            called=self.called(wanted) if wanted.called else (),
            **wanted.attrs,
        )

    def calling(self) -> list[str]:
        """The opcodes of which to choose one that calls."""
        return sorted(self.maker.calls) if self.maker.calls else list(CALLING)

    def opcode(self) -> str:
        """Some opcode."""
        if self.maker.favoured and self.random.random() > LEFT_TO_CHANCE:
            return self.random.choice(self.maker.favoured)
        return self.random.choice(OPCODES_MADE)

    def twin(self, instr: Instruction) -> Instruction:
        """An equal instruction, or one that differs in its attributes only."""
        wanted = operands_for[instr.opcode](self.random, instr.shape, {"types": self.maker.types})
        same = self.random.random() < 0.5 or bool(instr.called)
        if instr.opcode == "compare" and instr.operands[0].shape.element_type.is_complex:
            # Attributes for other numbers may ask for an order, which complex ones do not have.
            same = True
        twin = instr if same else instr.with_(attrs=OPCODES[instr.opcode].attrs(**wanted.attrs))
        if not infer(twin).compatible(instr.shape):
            raise UnfitError
        attrs = {f.name: getattr(twin.attrs, f.name) for f in fields(twin.attrs)}
        declared = instr.shape if instr.opcode in EXPLICIT_SHAPE else None
        return self.keep(
            instr.opcode, *instr.operands, shape=declared, called=instr.called, **attrs
        )

    def called(self, wanted: Wanted) -> list[Computation]:
        """The computations of scalars that an opcode calls."""
        element_type = wanted.operands[0].element_type
        return [scalar_computation(kind, element_type, self.maker.names) for kind in wanted.called]

    def inner(self, name: str, parameters: list[Shape], result: Shape) -> Computation:
        """A computation that this one calls."""
        return self.maker.computation(name, parameters, result, 5, self.depth - 1)

    def some(self) -> list[Instruction]:
        """A few values that are there, or new ones."""
        count = self.random.randint(1, 2)
        new = [self.leaf(random_shape(self.random, self.maker.types)) for _ in range(count)]
        return [self.random.choice([*self.made, value]) for value in new]

    def call(self, shape: Shape) -> Instruction:
        """A call of a computation, new or called before."""
        known = [c for c in self.maker.callees if c.root.shape.compatible(shape)]
        if known and self.random.random() < 0.5:
            callee = self.random.choice(known)
            again = [self.value(p.shape, 1) for p in callee.parameters]
            return self.keep("call", *again, called=[callee])
        arguments = self.some()
        callee = self.inner("callee", [a.shape for a in arguments], shape)
        self.maker.callees.append(callee)
        return self.keep("call", *arguments, called=[callee])

    def conditional(self, shape: Shape) -> Instruction:
        """A choice between two or three branches, by a pred or a number."""
        count = self.random.choice((2, 2, 3))
        by_pred = count == 2 and self.random.random() < 0.7
        index = self.value(array(PRED if by_pred else S32), 1)
        arguments = [self.some()[0] for _ in range(count)]
        branches = [self.inner("branch", [a.shape], shape) for a in arguments]
        return self.keep("conditional", index, *arguments, called=branches)

    def loop(self, shape: Shape) -> Instruction:
        """A while that counts to a small number and changes a value at each iteration.

        Some pass other values of the same shape on, each in its place or in another's.
        """
        passed = self.random.choice((0, 0, 1, 2))
        state_shape = tuple_of(array(S32), *[shape] * (1 + passed))
        names = self.maker.names
        iterations = self.random.choice((0, 1, 2, 3))
        condition = Builder(names.unique("condition"), names)
        state = condition.parameter(state_shape)
        counter = condition.add("get-tuple-element", state, index=0)
        limit = condition.constant(literal(iterations, array(S32)))
        condition.add("compare", counter, limit, direction="LT")
        body = Builder(names.unique("body"), names)
        state = body.parameter(state_shape)
        counter = body.add("get-tuple-element", state, index=0)
        value, *others = (
            body.add("get-tuple-element", state, index=1 + n) for n in range(1 + passed)
        )
        step = body.constant(literal(1, array(S32)))
        following = body.add("add", counter, step)
        changed = body.add("call", value, called=[self.inner("iteration", [shape], shape)])
        values = [changed, *others]
        if self.random.random() < 0.5:
            self.random.shuffle(values)
        body.add("tuple", following, *values)
        start = self.keep("constant", shape=array(S32), literal=literal(0, array(S32)))
        initial = self.keep("tuple", start, *[self.value(shape, 2) for _ in values])
        final = self.keep("while", initial, called=[condition.build(), body.build()])
        index = self.random.randint(1, len(values))
        return self.keep("get-tuple-element", final, index=index)


# Importing it has filled the table further.
FAMILIES = (structured,)
OPCODES_MADE = tuple(
    opcode for opcode in OPCODES if opcode in operands_for and opcode not in ("tuple", *RARE)
)
