"""Cuts small parts out of a large module, which often show the same failure.

A part is an instruction with its operands to some depth; what lies further away becomes a
parameter, whose argument is the value that was there when the whole module ran. So a part does by
itself exactly as it did in the module, and one question tells whether the failure is in it. Where
no part fails alone, half of the module is cut out, then a quarter, and so on.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hlo.build import module as module_of
from hlo.instruction import Computation
from hlo.walk import names_of, rebuild, users
from hlo_tools.generate.resizing import with_entry
from hlo_tools.search.orders import chunks
from hlo_tools.search.shrink.case import Case
from hlo_tools.values.bounded import Limit, leaves, running
from interpreter.engine.evaluate import evaluate
from interpreter.engine.memory import available_bytes
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hlo.instruction import Instruction, Module
    from interpreter.engine.frame import Evaluation

Value = Any  # an array, None for a token, or a tuple of values

# Levels of operands that a part has.
DEPTHS = (1, 2, 3, 5)
# Chunks of fewer instructions are left to the search that looks at single ones.
LEAST_CHUNK = 4
# Roots that are tried before chunks are cut out.
_ROOTS = 16
# So many instructions may run while values are recorded.
_MOST_EVENTS = 2_000_000


@dataclass
class FirstValues:
    """The first value of each instruction of the computations that run, as far as there is room.

    Attributes
    ----------
    of : of each instruction; empty where the module is not to be run.
    room : bytes left.
    """

    of: dict[Instruction, Value] = field(default_factory=dict[Any, Any])
    room: int = 0
    limit: Limit = field(default_factory=lambda: Limit(_MOST_EVENTS))

    def __call__(self, event: Evaluation) -> None:
        """Keep a value."""
        self.limit(event)
        size = sum(leaf.nbytes for leaf in leaves(event.value))
        if event.instr not in self.of and size <= self.room:
            self.room -= size
            self.of[event.instr] = event.value


def values_in(case: Case) -> FirstValues:
    """The values in a run of a case, until it ends or fails."""
    values = FirstValues(room=available_bytes() // 2)
    if case.arguments is not None:
        try:
            evaluate(case.module, *case.arguments, observe=values)
        except Exception:
            # Whatever it was, everything before is right.
            return values
    return values


def parts(case: Case) -> Iterator[Case]:
    """Parts of a case that may fail by themselves, the smallest first; then less and less of it."""
    values = values_in(case)
    tried: set[tuple[Instruction, int]] = set()
    positions = [{i: n for n, i in enumerate(c.instructions)} for c in running(case.module)]
    for depth in DEPTHS:
        for position in positions:
            for instr in position:
                part = sorted(part_of(instr, depth), key=position.__getitem__)
                if "leaf" not in instr.row.traits and (instr, len(part)) not in tried:
                    tried.add((instr, len(part)))
                    yield from as_case(case, values, part)
    yield from inner(case, values)
    yield from cut_down(case, values)


def part_of(root: Instruction, depth: int) -> set[Instruction]:
    """An instruction and its operands to a depth, and the constants that they use."""
    inside = level = {root}
    for _ in range(depth - 1):
        level = {o for i in level for o in i.operands if o.opcode != "parameter"}
        inside = inside | level
    fixed = {o for i in inside for o in i.operands if is_fixed(o)}
    return inside | fixed | {o for i in fixed for o in i.operands}


def is_fixed(instr: Instruction) -> bool:
    """Whether a value is in the text: a constant, or one that is only moved."""
    if not instr.operands:
        return instr.opcode != "parameter" and instr.row.pure
    return "movement" in instr.row.traits and all(o.opcode == "constant" for o in instr.operands)


def as_case(case: Case, values: FirstValues, part: Sequence[Instruction]) -> Iterator[Case]:
    """A part as a module of its own; nothing if some value that it needs is not known."""
    inside = set(part)
    needed = dict.fromkeys(o for i in part for o in i.operands if o not in inside)
    if case.arguments is not None and any(n not in values.of for n in needed):
        return
    names = names_of(case.module)
    plan: dict[Instruction, Instruction] = {}
    for number, instr in enumerate(needed):
        parameter = make("parameter", shape=instr.shape, number=number)
        plan[instr] = parameter.with_(name=names.unique("p"))
    free = {i: i.with_(control_predecessors=()) for i in part if i.control_predecessors}
    whole = Computation("main", (*needed, *part), part[-1])
    entry = rebuild(whole, {**plan, **free})
    arguments = None if case.arguments is None else tuple(values.of[n] for n in needed)
    yield Case(module_of(entry, case.module.name), arguments)


def inner(case: Case, values: FirstValues) -> Iterator[Case]:
    """The computations that run inside, each as a module."""
    for computation in running(case.module):
        parameters = computation.parameters
        known = all(p in values.of for p in parameters)
        if computation is not case.module.entry and (known or case.arguments is None):
            arguments = None if case.arguments is None else tuple(values.of[p] for p in parameters)
            yield Case(module_of(computation, case.module.name), arguments).with_entry(computation)


def cut_down(case: Case, values: FirstValues) -> Iterator[Case]:
    """The case with an earlier result, or with many instructions cut out at once."""
    entry = case.module.entry
    instructions = entry.instructions
    count = len(instructions)
    for number in range(1, _ROOTS):
        root = instructions[count * number // _ROOTS]
        if root.opcode != "parameter":
            yield case.with_entry(replace(entry, root=root))
    using = users(entry)
    for chunk in chunks(instructions, LEAST_CHUNK):
        yield from without(case, values, chunk, using)


def without(
    case: Case,
    values: FirstValues,
    chunk: Sequence[Instruction],
    using: dict[Instruction, list[Instruction]],
) -> Iterator[Case]:
    """The case with parameters in the place of some instructions that others need."""
    module: Module = case.module
    cut = [i for i in chunk if "leaf" not in i.row.traits and i is not module.entry.root]
    gone = set(cut)
    needed = [i for i in cut if any(user not in gone for user in using[i])]
    if not cut or (case.arguments is not None and any(n not in values.of for n in needed)):
        return
    names, count = names_of(module), len(module.entry.parameters)
    plan: dict[Instruction, Instruction] = {}
    for number, instr in enumerate(needed):
        parameter = make("parameter", shape=instr.shape, number=count + number)
        plan[instr] = parameter.with_(name=names.unique("p"))
    arguments = case.arguments
    if arguments is not None:
        arguments = (*arguments, *[values.of[n] for n in needed])
    entry = rebuild(module.entry, plan)
    yield Case(with_entry(module, entry), arguments).with_entry(entry)


def alone(instr: Instruction) -> Module:
    """The module of one instruction, with a parameter for each of its operands."""
    case = next(
        as_case(Case(module_of(Computation("main", (instr,), instr))), FirstValues(), [instr])
    )
    return case.module
