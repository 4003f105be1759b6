"""Walks over the graph, and rebuilding it: the two things that every pass does.

Nothing here recurses over operands, because chains are thousands of instructions deep, and nothing
depends on the order of a set. A pass first decides on a plan, which instruction replaces which, and
then rebuilds the computation in one sweep.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from hlo.instruction import Computation, Instruction, Module
from hlo.names import NameSupply
from hlo.opcode import HOST, having

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

Plan = dict[Instruction, Instruction]
# Opcodes of a computation that only sends and receives, and of the tokens around that.
_CHANNELS = HOST & having("async") | {"tuple", "after-all", "constant"}
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
    needs : gives the nodes that a node needs, in the order in which to visit them.
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
    users_by: dict[Instruction, list[Instruction]] = {i: [] for i in computation.instructions}
    for instr in computation.instructions:
        operands = instr.operands
        for operand in operands if len(operands) < 2 else dict.fromkeys(operands):
            users_by[operand].append(instr)
    return users_by


def users_of(
    computation: Computation, some: Iterable[Instruction]
) -> dict[Instruction, list[Instruction]]:
    """The users of a few instructions, as in `users`."""
    users_by: dict[Instruction, list[Instruction]] = {i: [] for i in some}
    for instr in computation.instructions:
        if not users_by.keys().isdisjoint(instr.operands):
            for operand in users_by.keys() & instr.operands:
                users_by[operand].append(instr)
    return users_by


def called_first(*starts: Computation) -> list[Computation]:
    """Some computations and all that they call, callees before callers."""
    return needed_first(starts, lambda c: c.callees)


def called_besides(known: Container[Computation], *starts: Computation) -> list[Computation]:
    """As `called_first`, without computations that are known, and without all that these call."""
    new = (start for start in starts if start not in known)
    return needed_first(new, lambda c: (callee for callee in c.callees if callee not in known))


def callers(module: Module) -> dict[Computation, list[Instruction]]:
    """The callers of each computation of a module, in order."""
    callers_by: dict[Computation, list[Instruction]] = {c: [] for c in module.computations}
    for computation in module.computations:
        for instr in computation.instructions if computation.callees else ():
            for callee in dict.fromkeys(instr.called):
                callers_by[callee].append(instr)
    return callers_by


def asynchronous(module: Module) -> set[Computation]:
    """The computations that an async-start calls."""
    return {
        callee
        for computation in module.computations
        if "async-start" in computation.opcodes
        for instr in computation.instructions
        if instr.opcode == "async-start"
        for callee in instr.called
    }


def is_one_operation(computation: Computation) -> bool:
    """Whether a computation does one thing, or only sends and receives, or only waits.

    Nothing else may run asynchronously on the main thread.
    """
    others = [
        i for i in computation.instructions if i is not computation.root and i.opcode != "parameter"
    ]
    return (
        not others
        or all(i.opcode == "get-tuple-element" for i in others)
        or all(i.opcode in _CHANNELS for i in (*others, computation.root))
    )


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

    Where the plan says that `new` replaces `old`, all users of `old` use `new`, and the root is
    `new` if it was `old`. The operands of a new instruction may be new too, to any depth: they come
    before it. They may be old ones, for which again the plan holds; but where a new instruction
    needs the very one that it replaces, that one stays, so that {x: copy(x)} puts a copy after x.
    Instructions that nobody uses any more stay: DCE removes them.

    Parameters
    ----------
    plan : the new instruction for each old one that is replaced.
    called : the new computation for each old one, for instructions that call it.

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
        # The operands of an instruction are before it, so it can be put there at once.
        if instr in plan:
            sweep.settle(instr)
        elif instr not in sweep.new_of:
            sweep.put(instr)
    instructions, root = tuple(sweep.order), sweep.new_of[computation.root]
    if instructions == computation.instructions and root is computation.root:
        return computation
    return replace(computation, instructions=instructions, root=root)


class _Rebuilding:
    """One sweep over a computation: the new instruction for each old one, and their order.

    An instruction is settled once its new instruction is in the order. One whose replacement uses
    it comes first into the order itself, and is settled only after its replacement.

    Parameters
    ----------
    unaffected : the instructions at the beginning, before the first that changes.

    Attributes
    ----------
    order : the new instructions, each after its operands.
    new_of : the new instruction for each old one that is in the order.
    unsettled : old instructions that are in the order, and whose replacement is not.
    replacing : old instructions whose replacement has been visited.
    changed : old instructions with another new one. An instruction that uses none of them stays
        the same object.
    """

    def __init__(
        self,
        plan: Mapping[Instruction, Instruction],
        called: Mapping[Computation, Computation],
        unaffected: Sequence[Instruction],
    ) -> None:
        self.plan, self.called = plan, called
        self.order: dict[Instruction, None] = dict.fromkeys(unaffected)
        self.new_of: Plan = dict(zip(unaffected, unaffected, strict=True))
        self.unsettled: set[Instruction] = set()
        self.replacing: set[Instruction] = set()
        self.changed: set[Instruction] = set()

    def is_done(self, instr: Instruction) -> bool:
        """Whether an instruction is settled."""
        return instr in self.new_of and instr not in self.unsettled

    def settle(self, start: Instruction) -> None:
        """Put the replacement of an instruction, after the instructions that it needs."""
        stack = [start]
        while stack:
            instr = stack[-1]
            target = self.plan.get(instr, instr)
            if self.is_done(instr):
                stack.pop()
            elif self.is_done(target):
                self.new_of[instr] = self.new_of[target]
                self.unsettled.discard(instr)
                self.changed.add(instr)
                stack.pop()
            elif target is not instr and instr not in self.replacing:
                self.replacing.add(instr)
                stack.append(target)
            elif pending := [n for n in _needs(instr) if n not in self.new_of]:
                stack += reversed(pending)
            else:
                if instr in self.replacing:
                    self.unsettled.add(instr)
                self.put(instr)
                stack.pop()

    def put(self, instr: Instruction) -> None:
        """Add an instruction, whose operands are settled, to the order."""
        new, unchanged = instr, self.changed.isdisjoint
        operands, before, callees = instr.operands, instr.control_predecessors, instr.called
        if not (
            unchanged(operands)
            and (not before or unchanged(before))
            and (not callees or self.called.keys().isdisjoint(callees))
        ):
            new_of, called = self.new_of, self.called
            new = instr.rewired(
                tuple([new_of[o] for o in operands]),
                before and tuple([new_of[p] for p in before]),
                callees and tuple([called.get(c, c) for c in callees]),
            )
            self.changed.add(instr)
        self.new_of[instr] = new
        self.order[new] = None


def rebuild_module(
    module: Module, change: Callable[[Computation], Computation], *, prune: bool = True
) -> Module:
    """Change each computation, callees first, and let callers call the changed ones.

    Where an async computation, which holds one operation, would hold several, it stays as it is.

    Parameters
    ----------
    change : gives the new computation, or the same one where there is nothing to do. In the
        computation that it is given, instructions already call the changed computations.
    prune : drop computations that nobody calls any more.

    Returns
    -------
    Module
        the same object where nothing changes.
    """
    became: dict[Computation, Computation] = {}
    changed: dict[Computation, Computation] = {}
    single = {c for c in asynchronous(module) if is_one_operation(c)}
    for old in called_first(*module.computations):
        rewired = rebuild(old, {}, changed) if changed else old
        new = change(rewired)
        if old in single and not is_one_operation(new):
            new = rewired
        became[old] = new
        if new is not old:
            changed[old] = new
    if not changed:
        return module
    entry = became[module.entry]
    reached = set(called_first(entry))
    roots = [became[old] for old in module.computations]
    order = called_first(*(c for c in roots if c in reached or not prune))
    return replace(module, computations=tuple(order), entry=entry)
