"""One computation rewritten in the layouts that were chosen, with copies where two differ."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hlo.attributes.annotations import Annotations
from optimizer.layout.flow import carries, result_order
from optimizer.layout.orders import order_of, same_memory
from optimizer.layout.planner import forwarded
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hlo.instruction import Computation, Instruction
    from hlo.names import NameSupply
    from hlo.types.shape import Shape
    from optimizer.layout.planner import LayoutPlanner


@dataclass
class RelaidBuilder:
    """Makes the new instructions in their old order.

    Attributes
    ----------
    became : computations that were laid out before.
    done : old instruction to new one.
    copies : what an instruction became in another layout, so that no two copies do the same.
    order : the new instructions.
    """

    planner: LayoutPlanner
    became: Mapping[Computation, Computation]
    names: NameSupply
    done: dict[Instruction, Instruction] = field(default_factory=dict["Instruction", "Instruction"])
    copies: dict[tuple[Instruction, Shape], Instruction] = field(
        default_factory=dict[tuple["Instruction", "Shape"], "Instruction"]
    )
    order: list[Instruction] = field(default_factory=list["Instruction"])

    def run(self) -> Computation:
        """The new computation; the old one where nothing changes."""
        computation, wanted = self.planner.computation, self.planner.borders.result
        for instr in computation.instructions:
            self.done[instr] = self.in_layout(instr)
            self.order.append(self.done[instr])
        root = self.done[computation.root]
        if wanted is not None:
            root = self.relaid(root, wanted)
        if tuple(self.order) == computation.instructions and root is computation.root:
            return computation
        return replace(computation, instructions=tuple(self.order), root=root)

    def in_layout(self, instr: Instruction) -> Instruction:
        """An instruction in its layout; itself where nothing changes."""
        shape = self.planner.shape_of(instr)
        operands = tuple(self.operand(instr, k, shape) for k in range(len(instr.operands)))
        before = tuple(self.done[p] for p in instr.control_predecessors)
        called = tuple(self.became.get(c, c) for c in instr.called)
        new = (shape, operands, before, called)
        if new == (instr.shape, instr.operands, instr.control_predecessors, instr.called):
            return instr
        return instr.with_(
            shape=shape, operands=operands, control_predecessors=before, called=called
        )

    def operand(self, instr: Instruction, number: int, result: Shape) -> Instruction:
        """An operand in the layout that an instruction wants of it."""
        operand = self.done[instr.operands[number]]
        if forwarded(instr, ()) is not None:
            return operand
        wanted = self.planner.wishes[instr][number]
        if carries(instr) and operand.shape.is_array and result.rank > 1:
            handed = result_order(instr, number, order_of(operand.shape))
            if handed == order_of(result):
                return operand
        return self.relaid(operand, wanted)

    def relaid(self, value: Instruction, wanted: Shape) -> Instruction:
        """A value in another layout; an array of `wanted` without layout has the right one."""
        if _fits(value.shape, wanted):
            return value
        if (value, wanted) not in self.copies:
            self.copies[value, wanted] = self.moved(value, wanted)
        return self.copies[value, wanted]

    def moved(self, value: Instruction, wanted: Shape) -> Instruction:
        """A copy in another layout; of a tuple, a tuple of copies."""
        if wanted.is_tuple:
            elements = [
                self.relaid(self.new(value, make("get-tuple-element", value, index=i)), element)
                for i, element in enumerate(wanted.elements)
            ]
            return self.new(value, make("tuple", *elements))
        same = same_memory(wanted.dims, order_of(value.shape), order_of(wanted))
        return self.new(value, make("bitcast" if same else "copy", value, shape=wanted))

    def new(self, origin: Instruction, instr: Instruction) -> Instruction:
        """A new instruction with a name, and the metadata of the instruction that it copies."""
        annotations = Annotations(metadata=origin.annotations.metadata)
        named = instr.with_(
            name=self.names.unique(instr.opcode), annotations=annotations, span=origin.span
        )
        self.order.append(named)
        return named


def _fits(shape: Shape, wanted: Shape) -> bool:
    """Whether a shape has the layouts that are wanted of it."""
    if shape.is_tuple:
        return all(map(_fits, shape.elements, wanted.elements))
    return not shape.is_array or wanted.layout is None or order_of(shape) == order_of(wanted)
