"""Module dead code elimination: values that loops carry along though nobody needs them.

An element of a while's state is needed if somebody takes it from the result, if the condition
reads it, if an effect in the body does, or if the body computes a needed element from it. The body
passes any other element through unchanged, so that what computed it is dead, for `dce` to remove:

    body: tuple(i + 1, dead * 2)    =>    body: tuple(i + 1, get-tuple-element(state, index=1))

The element itself stays; `simplify-while-loops` removes elements that are passed through.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.attributes import GetTupleElement
from hlo.effects import has_effect, ordered
from hlo.walk import callers, names_of, rebuild, rebuild_module, users
from optimizer.passes import register
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module
    from hlo.names import NameSupply
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class ModuleDce:
    """Lets loops pass unused elements of their state through."""

    name = "hlo-module-dce"
    xla = "xla/service/hlo_module_dce.cc and hlo_liveness_analysis.cc"

    def run(self, module: Module, log: Log) -> Module:
        """The module with dead loop state passed through."""
        names = names_of(module)
        calling = callers(module)
        needed: dict[str, set[int]] = {}
        for computation in module.computations:
            used = users(computation)
            for instr in computation.instructions:
                if instr.opcode == "while" and len(calling[instr.called[1]]) == 1:
                    taken = elements_taken(instr, used[instr], computation.root)
                    needed[instr.called[1].name] = elements_needed(instr, taken)

        def change(computation: Computation) -> Computation:
            if computation.name not in needed or computation.root.opcode != "tuple":
                return computation
            return passed_through(computation, needed[computation.name], names, log)

        return rebuild_module(module, change)


def elements_taken(value: Instruction, used: list[Instruction], root: Instruction) -> set[int]:
    """The elements of a tuple that its users take; all if one takes the whole."""
    if value is root or any(user.opcode != "get-tuple-element" for user in used):
        return set(range(len(value.shape.elements)))
    return {element_index(user) for user in used}


def elements_needed(loop: Instruction, taken: set[int]) -> set[int]:
    """The elements of a while's state that matter, if so many of its result do."""
    condition, body = loop.called
    everything = set(range(len(loop.shape.elements)))
    parameter = condition.parameters[0]
    needed = taken | elements_taken(parameter, users(condition)[parameter], condition.root)
    if body.root.opcode != "tuple":
        return everything
    state = body.parameters[0]
    stack = [body.root.operands[i] for i in sorted(needed)]
    stack += [i for i in body.instructions if has_effect(i)]
    stack += ordered(body)
    visited: set[Instruction] = set()
    while stack:
        instr = stack.pop()
        if instr is state:
            return everything
        if instr in visited:
            continue
        visited.add(instr)
        if instr.opcode != "get-tuple-element" or instr.operands[0] is not state:
            stack += instr.operands
        elif element_index(instr) not in needed:
            needed.add(element_index(instr))
            stack.append(body.root.operands[element_index(instr)])
    return needed


def passed_through(body: Computation, needed: set[int], names: NameSupply, log: Log) -> Computation:
    """The body with elements that are not needed passed on from its parameter."""
    elements = list(body.root.operands)
    for i, element in enumerate(elements):
        if i in needed or passes(element, body.parameters[0], i):
            continue
        new = make("get-tuple-element", body.parameters[0], index=i)
        new = new.with_(name=names.unique(new.opcode), annotations=element.annotations)
        if log.rewrite("dead loop state", element, new):
            elements[i] = new
    if elements == list(body.root.operands):
        return body
    return rebuild(body, {body.root: body.root.with_(operands=tuple(elements))})


def passes(element: Instruction, state: Instruction, index: int) -> bool:
    """Whether an element is the state's own element of that index."""
    return (
        element.opcode == "get-tuple-element"
        and element.operands[0] is state
        and element_index(element) == index
    )


def element_index(instr: Instruction) -> int:
    """The index of a get-tuple-element."""
    return GetTupleElement.of(instr).index
