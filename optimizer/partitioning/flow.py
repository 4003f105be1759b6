"""The arrays of a module, through tuples, loops and branches, and which can be cut alike.

A *node* is an array that an instruction makes: the instruction and an index into its result. An
element of a loop's state is one node, in the loop's result, its body and its condition. *Links* say
which dimensions of nodes correspond: one for each instruction, and for what goes into loops and
branches, and comes out of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from hlo.attributes import CustomCall, GetTupleElement
from hlo.opcode import FORWARDING
from hlo.sharded import CUTS, JOINS
from optimizer.partitioning.custom import said_rule
from optimizer.partitioning.sharding_rules import GROUP_ID, SHARDING_GROUP, Factor, Rule, rule_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo.instruction import Computation, Instruction
    from hlo.types.shape import Shape
    from optimizer.partitioning.cuts import ArrayCut, CutAxis

    Path = tuple[int, ...]
    Node = tuple[Instruction, Path]


@dataclass(frozen=True)
class Border:
    """The beginning or the end of a region that devices run on parts of their own (`shard_map`).

    Attributes
    ----------
    axis : the devices of one block run the region together.
    cuts : of each value outside of it, into the arrays inside.
    """

    axis: CutAxis
    cuts: tuple[ArrayCut, ...]


@dataclass(frozen=True)
class Link:
    """Nodes whose dimensions correspond.

    Attributes
    ----------
    instr : the instruction, for one that makes the results of the operands; None where results
        are operands that go into a loop or come out of a branch.
    """

    instr: Instruction | None
    operands: tuple[Node | None, ...]
    results: tuple[Node, ...]
    rule: Rule


@dataclass
class Flow:
    """The nodes of a module and their links.

    Parameters
    ----------
    border_of : of a call that begins or ends a region (`hlo.sharded`).

    Attributes
    ----------
    leaves : the node of each array of an instruction's value.
    borders : of the calls that begin and end regions.
    alike : the nodes that the program wants cut alike, by the name of their group.
    regions : for nodes inside of regions that devices run on parts of their own, their axes.
    """

    border_of: Callable[[Instruction], Border]
    leaves: dict[Instruction, dict[Path, Node]] = field(
        default_factory=dict["Instruction", "dict[Path, Node]"]
    )
    links: list[Link] = field(default_factory=list[Link])
    alike: dict[str, list[Node]] = field(default_factory=dict[str, "list[Node]"])
    shapes: dict[Node, Shape] = field(default_factory=dict["Node", "Shape"])
    borders: dict[Instruction, Border] = field(default_factory=dict["Instruction", "Border"])
    regions: dict[Node, tuple[CutAxis, ...]] = field(
        default_factory=dict["Node", "tuple[CutAxis, ...]"]
    )

    def visit(self, entry: Computation) -> None:
        """Find the nodes and links of a computation and of all that it runs.

        A region's axes may come into a loop's state by the loop's own body; hence several rounds.
        """
        before = -1
        while (now := sum(map(len, self.regions.values()))) != before:
            before = now
            self.links.clear()
            self.alike.clear()
            self._visit(entry)
        for group in self.alike.values():
            for one, other in pairwise(group):
                if self.shapes[one].dims == self.shapes[other].dims:
                    self._link_alike(one, other)

    def _visit(self, computation: Computation) -> None:
        for instr in computation.instructions:
            if instr.opcode == "parameter":
                self.leaves.setdefault(instr, self._own(instr, ()))
            elif instr.opcode == "tuple":
                self.leaves[instr] = {
                    (n, *path): node
                    for n, operand in enumerate(instr.operands)
                    for path, node in self.leaves[operand].items()
                }
            elif instr.opcode == "get-tuple-element":
                index = GetTupleElement.of(instr).index
                nodes = self.leaves[instr.operands[0]].items()
                self.leaves[instr] = {p[1:]: node for p, node in nodes if p[0] == index}
            elif instr.opcode in FORWARDING or (instr.opcode == "copy" and instr.shape.is_tuple):
                self.leaves[instr] = self.leaves[instr.operands[0]]
            elif instr.opcode == "while":
                self._loop(instr)
            elif instr.opcode in ("call", "conditional"):
                self._called(instr)
            else:
                self._instruction(instr)

    def _own(self, instr: Instruction, regions: tuple[CutAxis, ...]) -> dict[Path, Node]:
        """An instruction's own nodes."""
        nodes: dict[Path, Node] = {}
        for path, shape in instr.shape.leaves():
            node = nodes[path] = (instr, path)
            self.shapes[node] = shape
            self.regions[node] = max(self.regions.get(node, ()), regions, key=len)
        return nodes

    def _regions(self, *instrs: Instruction) -> tuple[CutAxis, ...]:
        """The innermost region of some instructions' values."""
        nodes = [node for instr in instrs for node in self.leaves[instr].values()]
        return max((self.regions[node] for node in nodes), key=len, default=())

    def _instruction(self, instr: Instruction) -> None:
        regions = self._regions(*instr.operands)
        target = CustomCall.of(instr).custom_call_target if instr.opcode == "custom-call" else ""
        if target in CUTS | JOINS and instr not in self.borders:
            self.borders[instr] = self.border_of(instr)
        if target in CUTS:
            regions = (*regions, self.borders[instr].axis)
        elif target in JOINS:
            regions = regions[:-1]
        own = self.leaves[instr] = self._own(instr, regions)
        self._group(instr, target)
        nodes = [self.leaves[o].get(()) for o in instr.operands]
        rule = () if target in CUTS | JOINS else said_rule(instr) or rule_of(instr)
        self.links.append(Link(instr, tuple(nodes), tuple(own.values()), rule))

    def _group(self, instr: Instruction, target: str) -> None:
        """Find out whether an array belongs to a group whose arrays are cut alike."""
        sharding, attributes = instr.annotations.sharding, instr.annotations.frontend_attributes
        if target == SHARDING_GROUP:
            name = attributes.get(GROUP_ID) if attributes else None
            node = self.leaves[instr.operands[0]].get(())
            if name and node and self.shapes[node].is_array:
                self.alike.setdefault(name, []).append(node)
        elif sharding and sharding.group and instr.shape.is_array:
            self.alike.setdefault(str(sharding.group[1]), []).append((instr, ()))

    def _loop(self, instr: Instruction) -> None:
        (start,) = instr.operands
        state = self.leaves[instr] = self._own(instr, ())
        self._pass_on(self.leaves[start], state)
        for called in instr.called:
            self.leaves[called.parameters[0]] = state
            self._visit(called)
        self._pass_on(self.leaves[instr.called[1].root], state)

    def _called(self, instr: Instruction) -> None:
        """Link operands of a call or conditional to parameters, and roots to results."""
        own = self.leaves[instr] = self._own(instr, ())
        for number, body in enumerate(instr.called):
            arguments = instr.operands
            arguments = (arguments[number + 1],) if instr.opcode == "conditional" else arguments
            for operand, parameter in zip(arguments, body.parameters, strict=True):
                self.leaves[parameter] = self._own(parameter, ())
                self._pass_on(self.leaves[operand], self.leaves[parameter])
            self._visit(body)
            self._pass_on(self.leaves[body.root], own)

    def _pass_on(self, sources: dict[Path, Node], taken: dict[Path, Node]) -> None:
        """Link nodes to those that they become."""
        for path, node in taken.items():
            source, shape = sources[path], self.shapes[node]
            self.regions[node] = max(self.regions[node], self.regions[source], key=len)
            if shape.is_array and not shape.is_dynamic:
                self._link_alike(source, node)

    def _link_alike(self, source: Node, node: Node) -> None:
        """Link two nodes whose dimensions are the same."""
        rule = tuple(Factor((d,), (d,)) for d in range(self.shapes[node].rank))
        self.links.append(Link(None, (source,), (node,), rule))
