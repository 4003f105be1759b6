"""A module inside another one: beside others, called, in a branch, in a loop, in a fusion."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hlo.build import instruction, module
from hlo.instruction import Computation
from hlo.names import NameSupply
from hlo.types.element_type import PRED, S32
from hlo.types.literal import literal
from hlo.types.shape import array
from hlo.walk import called_first, post_order
from hlo_tools.generate.operands import need
from optimizer.calls.clone import inlined

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random
    from typing import Any

    from hlo.instruction import Instruction, Module
    from hlo.types.shape import Shape


def beside(modules: Sequence[Module]) -> Module:
    """One module whose result is a tuple of those of several, each on parameters of its own."""
    maker = InstructionMaker()
    inputs: list[Instruction] = []
    roots: list[Instruction] = []
    for each in modules:
        entry = maker.fresh(each.entry)
        own = [maker.parameter(p.shape, len(inputs) + n) for n, p in enumerate(entry.parameters)]
        inputs += own
        roots.append(inlined(entry, own, maker.names))
    return module(maker.computation("main", inputs, maker.make("tuple", *roots)))


def embedded(inner: Module, random: Random) -> Module:
    """A module that runs another one in a call, a branch, a loop or a fusion.

    Raises
    ------
    UnfitError
        if it cannot be there.
    """
    maker = InstructionMaker()
    entry = maker.fresh(inner.entry)
    parameters = [maker.parameter(p.shape, n) for n, p in enumerate(entry.parameters)]
    wrap = random.choice((maker.call, maker.fusion, maker.branch, maker.loop))
    root = wrap(entry, parameters, random)
    return module(maker.computation("main", parameters, root))


class InstructionMaker:
    """Makes instructions and computations with names of one supply."""

    def __init__(self) -> None:
        self.names = NameSupply()

    def make(self, opcode: str, *operands: Instruction, **rest: Any) -> Instruction:
        """One instruction."""
        return instruction(opcode, operands, name=self.names.unique(opcode), **rest)

    def parameter(self, shape: Shape, number: int) -> Instruction:
        """A parameter."""
        return self.make("parameter", shape=shape, number=number)

    def number(self, value: int) -> Instruction:
        """A whole number."""
        return self.make("constant", literal=literal(value, array(S32)))

    def computation(
        self, name: str, parameters: Sequence[Instruction], root: Instruction
    ) -> Computation:
        """All that a root needs, after the parameters."""
        needed = [i for i in post_order(root) if i.opcode != "parameter"]
        return Computation(self.names.unique(name), (*parameters, *needed), root)

    def fresh(self, entry: Computation) -> Computation:
        """A copy of a computation and all that it calls, under new names."""
        became: dict[Computation, Computation] = {}
        for old in called_first(entry):
            now: dict[Instruction, Instruction] = {}
            for instr in old.instructions:
                now[instr] = instr.rewired(
                    tuple(now[o] for o in instr.operands),
                    tuple(now[p] for p in instr.control_predecessors),
                    tuple(became[c] for c in instr.called),
                ).with_(name=self.names.unique(instr.name))
            body = tuple(now[i] for i in old.instructions)
            name = self.names.unique(old.name)
            became[old] = replace(old, name=name, instructions=body, root=now[old.root])
        return became[entry]

    def call(self, entry: Computation, inputs: list[Instruction], _random: Random) -> Instruction:
        """A call."""
        return self.make("call", *inputs, called=[entry])

    def fusion(self, entry: Computation, inputs: list[Instruction], _random: Random) -> Instruction:
        """A fusion of instructions that may be in one."""
        may = all(not i.called and i.shape.is_array and i.row.pure for i in entry.instructions)
        need(may and bool(inputs))
        return self.make("fusion", *inputs, called=[entry], kind="kLoop")

    def branch(self, entry: Computation, inputs: list[Instruction], random: Random) -> Instruction:
        """One of two branches, the other of which gives zeros."""
        whole = self.make("tuple", *inputs)
        taken = self.parameter(whole.shape, 0)
        parts = [self.make("get-tuple-element", taken, index=n) for n in range(len(inputs))]
        one = self.computation("taken", [taken], inlined(entry, parts, self.names))
        left = self.parameter(whole.shape, 0)
        other = self.computation("left", [left], self.zeros(entry.root.shape))
        inputs.append(self.parameter(array(PRED), len(inputs)))
        branches = [one, other] if random.random() < 0.5 else [other, one]
        return self.make("conditional", inputs[-1], whole, whole, called=branches)

    def loop(self, entry: Computation, inputs: list[Instruction], random: Random) -> Instruction:
        """A loop of some iterations, of which the last one's value remains."""
        start = self.make("tuple", self.number(0), *inputs, self.zeros(entry.root.shape))
        state = self.parameter(start.shape, 0)
        counter, *parts, _ = (
            self.make("get-tuple-element", state, index=n) for n in range(len(inputs) + 2)
        )
        value = inlined(entry, parts, self.names)
        following = self.make("add", counter, self.number(1))
        turned = self.make("tuple", following, *parts, value)
        body = self.computation("body", [state], turned)
        seen = self.parameter(start.shape, 0)
        count = self.make("get-tuple-element", seen, index=0)
        last = self.number(random.choice((0, 1, 2, 3)))
        holds = self.computation(
            "condition", [seen], self.make("compare", count, last, direction="LT")
        )
        end = self.make("while", start, called=[holds, body])
        return self.make("get-tuple-element", end, index=len(inputs) + 1)

    def zeros(self, shape: Shape) -> Instruction:
        """A value of nothing but zeros."""
        if shape.is_tuple:
            return self.make("tuple", *map(self.zeros, shape.elements))
        need(shape.is_array and not shape.is_dynamic)
        zero = literal(np.zeros((), shape.element_type.dtype), array(shape.element_type))
        constant = self.make("constant", literal=zero)
        return (
            self.make("broadcast", constant, shape=shape, dimensions=()) if shape.dims else constant
        )
