"""Walks over the graph, and rebuilding it: the little that every pass is made of.

Nothing here recurses over operands, because chains are thousands of instructions deep, and nothing
depends on the order of a set. A pass decides first, writing down which instruction takes the place
of which (a plan), and then rebuilds in one sweep.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hlo.instruction import Computation, Instruction, Module

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

Plan = dict[Instruction, Instruction]


def post_order(start: Computation | Instruction) -> list[Instruction]:
    """Instructions such that each comes after its operands and control predecessors.

    Parameters
    ----------
    start : an instruction, for all that it needs; or a computation, for all that its root needs
        and then, in their order, for the rest.
    """
    roots = [start] if isinstance(start, Instruction) else [start.root, *start.instructions]
    order: dict[Instruction, None] = {}
    for root in roots:
        if root not in order:
            _visit(root, order)
    return list(order)


def _visit(root: Instruction, order: dict[Instruction, None]) -> None:
    """Append what an instruction needs, and then itself; depth first, with an explicit stack."""
    stack: list[tuple[Instruction, Iterator[Instruction]]] = [(root, _needs(root))]
    while stack:
        instr, pending = stack[-1]
        needed = next((n for n in pending if n not in order), None)
        if needed is None:
            order[instr] = None
            stack.pop()
        else:
            stack.append((needed, _needs(needed)))


def _needs(instr: Instruction) -> Iterator[Instruction]:
    yield from instr.operands
    yield from instr.control_predecessors


def users(computation: Computation) -> dict[Instruction, list[Instruction]]:
    """Who uses each instruction as an operand, in order; a user of two operands counts once."""
    found: dict[Instruction, list[Instruction]] = {i: [] for i in computation.instructions}
    for instr in computation.instructions:
        for operand in dict.fromkeys(instr.operands):
            found[operand].append(instr)
    return found


def called_first(entry: Computation) -> list[Computation]:
    """All computations that one reaches, each after those that it calls; itself last."""
    order: dict[Computation, None] = {}
    stack = [(entry, iter(_callees(entry)))]
    while stack:
        computation, pending = stack[-1]
        callee = next((c for c in pending if c not in order), None)
        if callee is None:
            order[computation] = None
            stack.pop()
        else:
            stack.append((callee, iter(_callees(callee))))
    return list(order)


def _callees(computation: Computation) -> list[Computation]:
    return [callee for instr in computation.instructions for callee in instr.called]


def callers(module: Module) -> dict[Computation, list[Instruction]]:
    """Which instructions call each computation of a module, in order."""
    found: dict[Computation, list[Instruction]] = {c: [] for c in module.computations}
    for instr in module.instructions():
        for callee in dict.fromkeys(instr.called):
            found[callee].append(instr)
    return found


class NameSupply:
    """Names that a module does not use yet: `add.3`, `add.4`, ..."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    @classmethod
    def of(cls, module: Module) -> NameSupply:
        """Names beside those of a module's instructions and computations."""
        supply = cls(instr.name for instr in module.instructions())
        supply.reserve(*(computation.name for computation in module.computations))
        return supply

    def reserve(self, *names: str) -> None:
        """Never give out these names."""
        self._taken.update(names)

    def fresh(self, base: str) -> str:
        """`<base>.<n>` for the smallest n from 1 on that was not used."""
        n = self._next.get(base, 1)
        while f"{base}.{n}" in self._taken:
            n += 1
        self._next[base] = n + 1
        self._taken.add(name := f"{base}.{n}")
        return name


def rebuild(
    computation: Computation,
    plan: Mapping[Instruction, Instruction],
    called: Mapping[Computation, Computation] | None = None,
) -> Computation:
    """Carry out a plan in one sweep.

    Where the plan says that `new` takes the place of `old`, all users of `old` use `new`, and the
    root is `new` if it was `old`. A new instruction may have old ones among its operands, or other
    new ones, to any depth: they are put in front of it, and are themselves subject to the plan.
    What is no longer used stays; removing it is DCE's work.

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
    if not plan and not any(
        callee in called for instr in computation.instructions for callee in instr.called
    ):
        return computation
    done: Plan = {}
    order: dict[Instruction, None] = {}
    for instr in computation.instructions:
        _settle(instr, plan, called, done, order)
    root = done[computation.root]
    if tuple(order) == computation.instructions and root is computation.root:
        return computation
    return replace(computation, instructions=tuple(order), root=root)


def _settle(
    start: Instruction,
    plan: Mapping[Instruction, Instruction],
    called: Mapping[Computation, Computation],
    done: Plan,
    order: dict[Instruction, None],
) -> None:
    """Find what stands for an instruction from now on, after what that needs itself."""
    stack = [start]
    while stack:
        instr = stack[-1]
        if instr in done:
            stack.pop()
            continue
        target = plan.get(instr)
        if target is not None and target is not instr:
            if target not in done:
                stack.append(target)
                continue
            done[instr] = done[target]
            stack.pop()
            continue
        pending = [n for n in _needs(instr) if n not in done]
        if pending:
            stack += reversed(pending)
            continue
        done[instr] = made = _updated(instr, called, done)
        order[made] = None
        stack.pop()


def _updated(
    instr: Instruction, called: Mapping[Computation, Computation], done: Plan
) -> Instruction:
    """The instruction with what now stands for its operands; itself where nothing changed."""
    operands = tuple([done[o] for o in instr.operands])
    before = tuple([done[p] for p in instr.control_predecessors])
    callees = tuple([called.get(c, c) for c in instr.called]) if called else instr.called
    if (
        operands == instr.operands
        and before == instr.control_predecessors
        and callees == instr.called
    ):
        return instr
    return replace(instr, operands=operands, control_predecessors=before, called=callees)


def rebuild_module(
    module: Module, change: Callable[[Computation], Computation], *, prune: bool = True
) -> Module:
    """Change each computation, callees first, and let callers call what they became.

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
    for computation in _module_order(module):
        became_callees = {c: n for c, n in became.items() if c is not n}
        became[computation] = change(rebuild(computation, {}, became_callees))
    computations = [became[c] for c in module.computations]
    if all(new is old for new, old in zip(computations, module.computations, strict=True)):
        return module
    entry = became[module.entry]
    if prune:
        reached = called_first(entry)
        known = dict.fromkeys(c for c in computations if c in set(reached))
        computations = list(dict.fromkeys([*(c for c in reached if c not in known), *known]))
        computations = _in_call_order(computations, entry)
    return replace(module, computations=tuple(computations), entry=entry)


def _module_order(module: Module) -> list[Computation]:
    order: dict[Computation, None] = {}
    for computation in module.computations:
        for reached in called_first(computation):
            order[reached] = None
    return list(order)
