"""Exercises of chapter 11: what an instruction costs, fusion, and where arrays lie."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import hlo
from hlo.build import module as module_of
from hlo.errors.error import HloError
from hlo.types.element_type import BF16, F32
from hlo.verify import verify
from hlo.walk import names_of, rebuild, rebuild_module
from hlo_tools.exercises.answer_process import inside
from hlo_tools.exercises.calls import ShownCall, compare_calls, same_items
from hlo_tools.exercises.cases import one_instruction
from hlo_tools.exercises.exercise import Exercise, Submission, course_folder
from hlo_tools.exercises.finding import Mistake
from hlo_tools.generate.values import tame
from interpreter.engine.evaluate import evaluate
from interpreter.numbers.compare import BITS, compare
from optimizer.analysis.cost import cost
from optimizer.cleanup.dce import Dce
from optimizer.fusion.build import fused
from optimizer.fusion.instruction_fusion import InstructionFusion
from optimizer.fusion.policy import MOVEMENT
from optimizer.log import Log
from optimizer.memory.heap import Block, pack, peak

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module
    from hlo_tools.exercises.exercise import SearchEffort


def own_dot_cost(dot: Instruction) -> tuple[int, int]:
    """Operations, and bytes read and written, of a matrix product."""
    spent = cost(dot)
    return spent.flops, spent.bytes_accessed


@inside
def of_root(answer: Submission, name: str, module: Module) -> Any:
    """The result of a function of the entry computation's root."""
    return answer[name](module.entry.root)


def check_dot_cost(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Random products, with batches and several contracted dimensions."""
    calls = [
        ShownCall((case.module,), str(case.module).rstrip())
        for case in one_instruction("dot", min(effort.examples, 60), (F32, BF16), plain=True)
        if case.module.entry.root.opcode == "dot"
    ]
    name, own = "dot_cost", own_dot_cost
    return compare_calls(answer, name, own, calls, via=of_root, same=same_items, show=repr)


def random_blocks(random: Random, count: int) -> list[Block]:
    """Blocks of some sizes, needed for some time."""
    blocks: list[Block] = []
    for _ in range(count):
        first = random.randint(0, 2 * count)
        last = first + random.choice((0, 0, 1, 2, random.randint(0, count)))
        blocks.append(Block(random.choice((0, 8, 64, 100, 256, 1024)), [(first, last)]))
    return blocks


def block_text(blocks: list[Block]) -> str:
    """Blocks as they are shown."""
    rows = [f"  Block(size={b.size}, spans=[{', '.join(map(str, b.spans))}])," for b in blocks]
    return "\n".join(["blocks = [", *rows, "]"])


def block_calls(effort: SearchEffort) -> list[ShownCall]:
    """Lists of blocks, short ones first."""
    count = min(effort.examples, 60)
    lists = [random_blocks(Random(seed), 1 + seed // 4) for seed in range(count)]
    return [ShownCall((blocks,), block_text(blocks)) for blocks in lists]


def check_peak(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Random blocks."""
    return compare_calls(answer, "peak", peak, block_calls(effort), show=repr)


# How many times as many bytes as at the worst moment a packing may take, in all.
SLACK = 1.3


def check_pack(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """No two blocks may share bytes at one moment, and not much may be wasted."""
    calls = block_calls(effort)

    def legal(want: Any, got: Any) -> bool:
        return want is None and not got

    def judged(blocks: list[Block]) -> str | None:
        return overlap(blocks, *answer["pack"](blocks))

    watched = Submission({"pack": judged}, answer.path)
    mistake = compare_calls(watched, "pack", nothing_wrong, calls, same=legal, show=str)
    if mistake:
        return mistake
    needed = taken = 0
    for call in calls:
        (blocks,) = call.arguments
        needed, taken = needed + pack(blocks)[1], taken + answer["pack"](blocks)[1]
    if taken > SLACK * needed:
        message = f"pack is right, but takes {taken:,} bytes where {needed:,} would do"
        return Mistake("weak", message)
    return None


def nothing_wrong(_: list[Block]) -> None:
    """The praise for a packing in which no blocks overlap."""
    return


def overlap(blocks: list[Block], offsets: list[int], size: int) -> str | None:
    """The two blocks that share bytes while both are needed; None if there are none."""
    for i, block in enumerate(blocks):
        end = offsets[i] + block.size
        if block.size and (offsets[i] < 0 or end > size):
            return f"block {i} ends at byte {end}, past the end of the memory at {size}"
        for j in range(i):
            other = blocks[j]
            apart = end <= offsets[j] or offsets[j] + other.size <= offsets[i]
            if block.size and other.size and not apart and block.meets(other):
                return f"blocks {j} and {i} share bytes while both are needed"
    return None


Groups = "list[list[Instruction]]"
FUSIBLE = frozenset({"constant", "reduce", *MOVEMENT})
FOREIGN = "a group has none, or other instructions than those of the computation"
MODELS = ("softmax.hlo", "layer_norm.hlo")


def own_groups(computation: Computation) -> list[list[Instruction]]:
    """The groups of the project's own fusion."""
    result = InstructionFusion().run(module_of(computation), Log())
    known = {i.name: i for i in computation.instructions}
    groups: list[list[Instruction]] = []
    for fusion in result.entry.instructions:
        if fusion.opcode == "fusion":
            inside = [known[i.name] for i in fusion.called[0].instructions if i.name in known]
            groups += cut_at_reduces(inside)
    return groups


def cut_at_reduces(group: list[Instruction]) -> list[list[Instruction]]:
    """Groups that each end with a reduce, and the rest; our own loop nests hold several."""
    ends = [i for i in group if i.opcode == "reduce" or i is group[-1]]
    groups: list[list[Instruction]] = []
    for end in ends:
        needed = {end}
        for instr in reversed(group):
            if instr in needed and (instr is end or instr not in ends):
                needed.update(instr.operands)
        groups.append([i for i in group if i in needed and (i is end or i not in ends)])
    return groups


@inside
def groups_by_name(answer: Submission, name: str, module: Module) -> list[list[str]]:
    """The groups of the entry computation, by the names of their instructions."""
    return [[i.name for i in group] for group in answer[name](module.entry)]


def check_groups(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Groups must be legal, and move no more bytes than the project's own."""
    for name in MODELS:
        module = hlo.load(str(course_folder() / "models" / name))
        named = {i.name: i for i in module.entry.instructions}
        names_of_groups = groups_by_name(answer, "groups", module)
        if any(name not in named for group in names_of_groups for name in group):
            return Mistake("wrong", f"{name}: {FOREIGN}")
        groups = [[named[name] for name in group] for group in names_of_groups]
        if problem := illegal(module.entry, groups):
            return Mistake("wrong", f"{name}: {problem}")
        after = fused_module(module, groups)
        try:
            verify(after)
        except HloError as error:
            return Mistake("wrong", f"{name}: the groups make no module: {error}", str(after))
        inputs = [tame(p.shape, Random(0)) for p in module.entry.parameters]
        if compare(evaluate(after, *inputs), evaluate(module, *inputs), BITS):
            return Mistake("wrong", f"{name}: the value changes", str(after))
        moved, bar = moved_bytes(after), moved_bytes(fused_module(module, own_groups(module.entry)))
        if moved > bar:
            message = f"{name}: the groups move {moved:,} bytes where {bar:,} would do"
            return Mistake("weak", message, str(after))
        if not effort.seconds:
            break
    return None


def illegal(computation: Computation, groups: list[list[Instruction]]) -> str | None:
    """The reason why groups are no plan; None if they are."""
    order = {i: n for n, i in enumerate(computation.instructions)}
    roots: set[Instruction] = set()
    for group in groups:
        if not group or any(i not in order for i in group):
            return FOREIGN
        root, inside = max(group, key=lambda i: order[i]), set(group)
        if root in roots:
            return f"two groups compute %{root.name}"
        roots.add(root)
        for member in group:
            if not (member.row.elementwise or member.opcode in FUSIBLE):
                return f"%{member.name}, a {member.opcode}, cannot be computed element by element"
            if member.opcode == "reduce" and member is not root:
                return f"%{member.name} is a reduce: one loop nest can only end with it"
            used = any(member in i.operands for i in inside)
            if member is not root and not used:
                return f"nothing in its group uses %{member.name}"
    return None


def fused_module(module: Module, groups: list[list[Instruction]]) -> Module:
    """The module with a fusion for each group."""
    names = names_of(module)

    def change(computation: Computation) -> Computation:
        if computation is not module.entry:
            return computation
        order = {i: n for n, i in enumerate(computation.instructions)}
        plan: dict[Instruction, Instruction] = {}
        for group in groups:
            members = sorted(group, key=lambda i: order[i])
            if len(members) > 1:
                plan[members[-1]] = fused(members, [members[-1]], names, ())
        return rebuild(computation, plan)

    return Dce().run(rebuild_module(module, change), Log())


def moved_bytes(module: Module) -> int:
    """Bytes that all instructions of the entry computation read and write."""
    return sum(cost(i).bytes_accessed for i in module.entry.instructions)


EXERCISES = (
    Exercise(
        39, "count what a matrix product costs", 11, "easy",
        {"dot_cost": lambda: own_dot_cost}, "optimizer/analysis/cost.py:cost", check_dot_cost,
    ),
    Exercise(
        40, "plan a fusion", 11, "hard",
        {"groups": lambda: own_groups},
        "optimizer/fusion/instruction_fusion.py:InstructionFusion", check_groups,
    ),
    Exercise(
        41, "find the worst moment", 11, "easy",
        {"peak": lambda: peak}, "optimizer/memory/heap.py:peak", check_peak,
    ),
    Exercise(
        42, "pack arrays into memory", 11, "hard",
        {"pack": lambda: pack}, "optimizer/memory/heap.py:pack", check_pack,
    ),
)  # fmt: skip
