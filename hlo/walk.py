"""Walks over the graph, and rebuilding it: the little that every pass is made of.

Nothing here recurses over operands, because chains are thousands of instructions deep, and nothing
depends on the order of a set. A pass decides first, writing down which instruction takes the place
of which (a plan), and then rebuilds in one sweep.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from hlo.instruction import Computation, Instruction, Module
from hlo.names import NameSupply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

Plan = dict[Instruction, Instruction]
Node = TypeVar("Node")


def post_order(start: Computation | Instruction) -> list[Instruction]:
    """Instructions such that each comes after its operands and control predecessors.

    Parameters
    ----------
    start : an instruction, for all that it needs; or a computation, for all that its root needs
        and then, in their order, for the rest.
    """
    roots = [start] if isinstance(start, Instruction) else [start.root, *start.instructions]
    return needed_first(roots, _needs)


def needed_first(
    starts: Iterable[Node], needs: Callable[[Node], Iterable[Node]], done: Iterable[Node] = ()
) -> list[Node]:
    """Depth-first post-order from some nodes of a graph: each node after those that it needs.

    Parameters
    ----------
    needs : what a node needs, in the order in which to visit it.
    done : nodes that begin the list.
    """
    order = dict.fromkeys(done)
    for start in starts:
        stack = [] if start in order else [(start, iter(needs(start)))]
        while stack:
            node, pending = stack[-1]
            needed = next((n for n in pending if n not in order), None)
            if needed is None:
                order[node] = None
                stack.pop()
            else:
                stack.append((needed, iter(needs(needed))))
    return list(order)


def _needs(instr: Instruction) -> Iterator[Instruction]:
    yield from instr.operands
    yield from instr.control_predecessors


def users(computation: Computation) -> dict[Instruction, list[Instruction]]:
    """The users of each instruction as an operand, in order; a user of two operands counts once."""
    found: dict[Instruction, list[Instruction]] = {i: [] for i in computation.instructions}
    for instr in computation.instructions:
        operands = instr.operands
        for operand in operands if len(operands) < 2 else dict.fromkeys(operands):
            found[operand].append(instr)
    return found


def users_of(
    computation: Computation, some: Iterable[Instruction]
) -> dict[Instruction, list[Instruction]]:
    """The users of a few instructions, as in `users`."""
    found: dict[Instruction, list[Instruction]] = {i: [] for i in some}
    unused = found.keys().isdisjoint
    for instr in computation.instructions:
        if not unused(instr.operands):
            for operand in found.keys() & instr.operands:
                found[operand].append(instr)
    return found


def called_first(*starts: Computation) -> list[Computation]:
    """Some computations and all that they call, callees before callers."""
    order: dict[Computation, None] = {}
    for start in starts:
        if all(callee in order for callee in start.callees):
            order[start] = None  # as those of a module stand
        else:
            order.update(dict.fromkeys(needed_first((start,), lambda c: c.callees, order)))
    return list(order)


def callers(module: Module) -> dict[Computation, list[Instruction]]:
    """The callers of each computation of a module, in order."""
    found: dict[Computation, list[Instruction]] = {c: [] for c in module.computations}
    for computation in module.computations:
        for instr in computation.instructions if computation.callees else ():
            for callee in dict.fromkeys(instr.called):
                found[callee].append(instr)
    return found


def names_of(module: Module) -> NameSupply:
    """A supply of names that neither instructions nor computations of a module have."""
    return NameSupply(_names(module))


def _names(module: Module) -> Iterator[str]:
    for computation in module.computations:
        yield computation.name
        yield from [instr.name for instr in computation.instructions]


def rebuild(
    computation: Computation,
    plan: Mapping[Instruction, Instruction],
    called: Mapping[Computation, Computation] | None = None,
) -> Computation:
    """Carry out a plan in one sweep.

    Where the plan says that `new` takes the place of `old`, all users of `old` use `new`, and the
    root is `new` if it was `old`. A new instruction may have other new ones among its operands, to
    any depth: they are put in front of it. It may have old ones too, for which again the plan
    holds; but where it needs the very instruction whose place it takes, that stays below it, so
    that {x: copy(x)} puts a copy behind x. What is no longer used stays: removing it is DCE's work.

    Parameters
    ----------
    plan : old instruction to new one.
    called : old computation to new one, for instructions that call them.

    Returns
    -------
    Computation
        the same object where nothing changes. Instructions keep their names.
    """
    called = called or {}
    if not plan and not any(callee in called for callee in computation.callees):
        return computation
    affected = (
        n
        for n, instr in enumerate(computation.instructions)
        if instr in plan or (instr.called and not called.keys().isdisjoint(instr.called))
    )
    first = next(affected, None)
    if first is None:
        return computation
    sweep = _Rebuilding(plan, called, computation.instructions[:first])
    for instr in computation.instructions[first:]:
        # The operands of an instruction stand before it, so it can be put there at once.
        if instr in plan:
            sweep.settle(instr)
        elif instr not in sweep.now:
            sweep.put(instr)
    instructions, root = tuple(sweep.order), sweep.now[computation.root]
    if instructions == computation.instructions and root is computation.root:
        return computation
    return replace(computation, instructions=instructions, root=root)


class _Rebuilding:
    """The replacement of each instruction, and the new order.

    Attributes
    ----------
    unaffected : instructions at the beginning that need nothing that changes.
    now : the new instruction for each old one that is settled. An old one whose replacement uses it
        stands for itself until the replacement is settled.
    kept : the old instructions that stand for themselves in this way.
    changed : old instructions that others stand for. Who uses none of them stays the same object.
    """

    def __init__(
        self,
        plan: Mapping[Instruction, Instruction],
        called: Mapping[Computation, Computation],
        unaffected: Sequence[Instruction],
    ) -> None:
        self.plan, self.called = plan, called
        self.order: dict[Instruction, None] = dict.fromkeys(unaffected)
        self.now: Plan = dict(zip(unaffected, unaffected, strict=True))
        self.kept: set[Instruction] = set()
        self.replacing: set[Instruction] = set()
        self.changed: set[Instruction] = set()

    def is_done(self, instr: Instruction) -> bool:
        """Whether an instruction is settled."""
        return instr in self.now and instr not in self.kept

    def settle(self, start: Instruction) -> None:
        """Put the replacement of an instruction, after the instructions that it needs."""
        stack = [start]
        while stack:
            instr = stack[-1]
            target = self.plan.get(instr, instr)
            if self.is_done(instr):
                stack.pop()
            elif self.is_done(target):
                self.now[instr] = self.now[target]
                self.kept.discard(instr)
                self.changed.add(instr)
                stack.pop()
            elif target is not instr and instr not in self.replacing:
                self.replacing.add(instr)
                stack.append(target)
            elif pending := [n for n in _needs(instr) if n not in self.now]:
                stack += reversed(pending)
            else:
                if instr in self.replacing:
                    self.kept.add(instr)
                self.put(instr)
                stack.pop()

    def put(self, instr: Instruction) -> None:
        """Add an instruction, whose operands are settled, to the order."""
        new, unused = instr, self.changed.isdisjoint
        operands, before, callees = instr.operands, instr.control_predecessors, instr.called
        if not (
            unused(operands)
            and (not before or unused(before))
            and (not callees or self.called.keys().isdisjoint(callees))
        ):
            now, called = self.now, self.called
            new = instr.rewired(
                tuple([now[o] for o in operands]),
                before and tuple([now[p] for p in before]),
                callees and tuple([called.get(c, c) for c in callees]),
            )
            self.changed.add(instr)
        self.now[instr] = new
        self.order[new] = None


def rebuild_module(
    module: Module, change: Callable[[Computation], Computation], *, prune: bool = True
) -> Module:
    """Change each computation, callees first, and let callers call the changed ones.

    Parameters
    ----------
    change : gives the computation itself where there is nothing to do. It sees a computation
        whose instructions already call the changed computations.
    prune : drop computations that nobody calls any more.

    Returns
    -------
    Module
        the same object where nothing changes.
    """
    became: dict[Computation, Computation] = {}
    changed: dict[Computation, Computation] = {}
    for old in called_first(*module.computations):
        new = became[old] = change(rebuild(old, {}, changed) if changed else old)
        if new is not old:
            changed[old] = new
    if not changed:
        return module
    entry = became[module.entry]
    reached = set(called_first(entry))
    roots = [became[old] for old in module.computations]
    order = called_first(*(c for c in roots if c in reached or not prune))
    return replace(module, computations=tuple(order), entry=entry)
