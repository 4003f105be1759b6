"""Layouts of a whole module: what computations hand to each other, and where copies go.

Computations are laid out after those that they call. A loop's state has the layout that the body
likes best, and so have the operands and results of calls and branches; the caller copies. A
computation with several callers keeps row-major borders, since these may disagree.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hlo.opcode import HOST, having
from hlo.walk import called_first, callers
from optimizer.layout.orders import order_of
from optimizer.layout.planner import Borders, LayoutChoice, LayoutPlanner
from optimizer.layout.relaid import RelaidBuilder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Computation, Instruction, Module
    from hlo.names import NameSupply
    from hlo.types.shape import Shape
    from optimizer.layout.policy import LayoutPolicy

# Their layouts are part of their meaning, or are known to somebody outside.
AS_WRITTEN = having("async") | HOST | {"bitcast", "custom-call", "dynamic-reshape", "fusion"}


@dataclass
class Assigner:
    """Lays out the computations of a module that run one after the other.

    Attributes
    ----------
    became : computations that are laid out.
    choices : why, by the old instruction and the index into its shape.
    """

    module: Module
    policy: LayoutPolicy
    names: NameSupply
    became: dict[Computation, Computation] = field(
        default_factory=dict["Computation", "Computation"]
    )
    choices: dict[tuple[Instruction, tuple[int, ...]], LayoutChoice] = field(
        default_factory=dict[tuple["Instruction", tuple[int, ...]], LayoutChoice]
    )

    def run(self) -> Computation:
        """The new entry computation."""
        calls = callers(self.module)
        for computation in called_first(self.module.entry):
            if computation is self.module.entry:
                self.lay_out(computation, *entry_shapes(self.module))
                continue
            calling = calls[computation]
            if not any("control" in call.row.traits for call in calling):
                continue  # applied to scalars, or fused
            alone = all(len(calls[callee]) == 1 for call in calling for callee in call.called)
            if not alone:
                parameters = [p.shape.with_default_layout() for p in computation.parameters]
                self.lay_out(computation, parameters, computation.root.shape.with_default_layout())
            elif calling[0].opcode == "while":
                self.settle_loop(calling[0], computation)
            else:
                self.lay_out(computation, (), None)
        return self.became[self.module.entry]

    def settle_loop(self, loop: Instruction, computation: Computation) -> None:
        """Lay out a loop's body as it likes best, and its condition like that."""
        condition, body = loop.called
        if computation is not body:
            return  # when its body is known
        state = self.planned(body, (), None).shape_of(body.parameters[0])
        self.lay_out(body, (state,), state)
        self.lay_out(condition, (state,), None)

    def planned(
        self, computation: Computation, parameters: Sequence[Shape], result: Shape | None
    ) -> LayoutPlanner:
        """The layouts of a computation.

        Parameters
        ----------
        parameters, result : in the layouts that they have to have; () and None for any.
        """
        layouts: dict[Instruction, tuple[Shape, str]] = {}
        wanted: dict[Instruction, tuple[Shape, ...]] = {}
        for parameter, shape in zip(computation.parameters, parameters, strict=False):
            layouts[parameter] = shape, "parameter"
        for instr in computation.instructions:
            if instr.opcode in AS_WRITTEN:
                layouts[instr] = instr.shape, "as-written"
                wanted[instr] = as_written(instr)
            elif "control" in instr.row.traits:
                wanted[instr], result_shape = self.border(instr)
                layouts[instr] = result_shape, "callee"
            elif instr.opcode == "copy" and (source := copied_from(instr)):
                layouts[instr] = instr.shape, "as-written"
                wanted[instr] = (source,)
        planner = LayoutPlanner(computation, self.policy, Borders(layouts, wanted, result))
        planner.run()
        return planner

    def border(self, call: Instruction) -> tuple[tuple[Shape, ...], Shape]:
        """The shapes that a call's computations want of its operands, and that of its result."""
        callees = [self.became[callee] for callee in call.called]
        if call.opcode == "while":
            state = callees[1].parameters[0].shape
            return (state,), state
        if call.opcode == "call":
            return tuple(p.shape for p in callees[0].parameters), callees[0].root.shape
        result = callees[0].root.shape
        for old, new in zip(call.called, callees, strict=True):
            if new.root.shape != result:
                self.lay_out(old, [p.shape for p in new.parameters], result)
        arguments = [self.became[callee].parameters[0].shape for callee in call.called]
        return (call.operands[0].shape, *arguments), result

    def lay_out(
        self, computation: Computation, parameters: Sequence[Shape], result: Shape | None
    ) -> None:
        """Give every instruction of a computation its layout, with copies where two differ."""
        planner = self.planned(computation, parameters, result)
        self.choices |= planner.choices
        self.became[computation] = RelaidBuilder(planner, self.became, self.names).run()


def copied_from(copy: Instruction) -> Shape | None:
    """The operand's shape as a copy that is there for its layout wants it; None if it is not.

    One takes its operand as it comes. Where the operand lies like the copy already, as the first
    of two runs may have chosen, that stays.
    """
    operand = copy.operands[0].shape
    if order_of(copy.shape) != order_of(operand):
        return operand.without_layout
    return None if copy.shape.is_row_major else operand


def as_written(instr: Instruction) -> tuple[Shape, ...]:
    """The layouts of operands that the text gives: constraints of a custom call, if it has some."""
    constraints: tuple[Shape, ...] = getattr(instr.attrs, "operand_layout_constraints", None) or ()
    if len(constraints) == len(instr.operands):
        return constraints
    return tuple(operand.shape for operand in instr.operands)


def entry_shapes(module: Module) -> tuple[list[Shape], Shape]:
    """In which layouts the entry takes its parameters and leaves its result.

    The header says so, else the instructions do. Where a layout mode is `auto`, as JAX writes it
    into the module's frontend attributes, the array has no layout yet.
    """
    said = module.header.entry_computation_layout
    parameters = [p.shape for p in module.entry.parameters]
    result = module.entry.root.shape
    if said is not None:
        parameters, result = list(said.parameters), said.result
    taken = _modes(module, "arg_layout_modes")
    parameters = [
        shape.without_layout if number < len(taken) and taken[number] == "auto" else shape
        for number, shape in enumerate(parameters)
    ]
    left = _modes(module, "out_layout_modes")
    if result.is_tuple and len(left) == len(result.elements):
        elements = [
            e.without_layout if mode == "auto" else e
            for e, mode in zip(result.elements, left, strict=True)
        ]
        result = replace(result, elements=tuple(elements))
    elif left == ["auto"]:
        result = result.without_layout
    return parameters, result


def _modes(module: Module, key: str) -> list[str]:
    return (module.header.frontend_attributes.get(key) or "").split(";")
