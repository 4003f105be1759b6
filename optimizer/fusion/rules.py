"""The rules that forbid fusion, in the order in which they are tried.

A rule is given a value whose users are settled. It returns the reason why their kernels may not
compute the value, which then is stored; None if the rule does not object.

References
----------
XLA, `InstructionFusion::ShouldFuse` in `xla/service/instruction_fusion.cc`,
`CpuInstructionFusion::ShouldFuse` in `xla/service/cpu/cpu_instruction_fusion.cc`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.wording import counted, with_article
from optimizer.fusion.policy import MOVEMENT, is_large_window
from optimizer.fusion.remainders import (
    STORED_WORK,
    folds_few_columns,
    most_operations,
    operations,
    remainder,
    whole_kernel,
)
from optimizer.fusion.repeated_rows import operations_behind, repeats_rows
from optimizer.fusion.sources import origin

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo.instruction import Instruction
    from optimizer.fusion.group import FusionGroup, GroupDemand, Setting

    Rule = Callable[[Setting, GroupDemand], str | None]

FEW_ITERATIONS = 256
"""Tuned: what a kernel of so many iterations computes again takes less than a call of another."""
MANY_COMBINED, LEAST_REPEATED = 16, 1 << 14
"""Tuned: rows with which a row is combined, and evaluations of its elements, from which on to store
it and load it again takes less than to compute it for each of the others."""


def opcode(setting: Setting, demand: GroupDemand) -> str | None:
    """Only some opcodes can be computed inside loops."""
    instr = demand.instr
    if is_large_window(instr):
        return f"%{instr.name} has large windows, which are not shown inside other loops"
    if instr.opcode in setting.policy.producers or setting.policy.is_small_fold(instr):
        return None
    return f"%{instr.name} is {with_article(instr.opcode)}, which is not computed inside loops"


def result(setting: Setting, demand: GroupDemand) -> str | None:
    """The result of a computation is stored."""
    computation = setting.computation
    if demand.instr is not computation.root:
        return None
    return f"%{demand.instr.name} is the result of %{computation.name}"


def unused(_: Setting, demand: GroupDemand) -> str | None:
    """A value without users is left to DCE."""
    return None if demand.by_group else f"nobody uses %{demand.instr.name}"


def shape(setting: Setting, demand: GroupDemand) -> str | None:
    """Loops have constant bounds, and yield arrays."""
    instr = demand.instr
    if setting.dynamic:
        roots = (r for g in demand.by_group for r in (g.root, *g.root.operands))
        dynamic = next((i for i in (instr, *instr.operands, *roots) if i in setting.dynamic), None)
        if dynamic is not None:
            return f"the size of %{dynamic.name} is known at run time only"
    if not instr.shape.is_array:
        return f"%{instr.name} is no array"
    return None


def number(_: Setting, demand: GroupDemand) -> str | None:
    """A constant becomes code if it is one number; else it is an array in memory anyway."""
    instr = demand.instr
    if instr.opcode != "constant" or instr.shape.size == 1:
        return None
    return f"%{instr.name} has {instr.shape.size} elements; only single numbers become code"


def order(setting: Setting, demand: GroupDemand) -> str | None:
    """A control dependency ties an instruction to others, and a fusion has no inside for it."""
    tied = setting.control_dependent
    for instr in (demand.instr, *(g.root for g in demand.by_group)) if tied else ():
        if instr in tied:
            return f"%{instr.name} has a control dependency"
    return None


def effect(setting: Setting, demand: GroupDemand) -> str | None:
    """An instruction with a side effect stays where it is."""
    if demand.instr not in setting.effectful:
        return None
    return f"%{demand.instr.name} does more than compute its value"


def sharding(setting: Setting, demand: GroupDemand) -> str | None:
    """A sharding says where a value lies, so there must be a value."""
    if not setting.sharded or demand.instr.annotations.sharding is None:
        return None
    return f"%{demand.instr.name} has a sharding"


def scheduled(setting: Setting, demand: GroupDemand) -> str | None:
    """A copy of a module with a schedule keeps two values in memory apart."""
    if not setting.header.is_scheduled or demand.instr.opcode != "copy":
        return None
    return f"%{demand.instr.name} is a copy, which a schedule may need for its memory"


def consumer(setting: Setting, demand: GroupDemand) -> str | None:
    """All users must be in kernels that can compute their operands."""
    for group in demand.by_group:
        root = group.root
        if root.opcode not in setting.policy.roots or is_large_window(root):
            kind = with_article(root.opcode)
            return f"%{root.name}, which needs it, is {kind}, which reads it from memory"
        if root.shape.first_leaf.size == 0:
            return f"%{root.name}, which needs it, is empty"
    return None


def in_place(_: Setting, demand: GroupDemand) -> str | None:
    """An array that is changed in place is in memory before."""
    for group in demand.by_group:
        root = group.root
        if root.opcode == "dynamic-update-slice" and root.operands[0] is demand.instr:
            return f"%{root.name} changes it in place"
    return None


def branches(setting: Setting, demand: GroupDemand) -> str | None:
    """Each operand of a concatenate is a branch inside a loop."""
    most = setting.policy.concatenated
    for instr in (demand.instr, *(g.root for g in demand.by_group)):
        if instr.opcode == "concatenate" and len(instr.operands) > most:
            return f"%{instr.name} has {counted(len(instr.operands), 'operand')}; at most {most}"
    return None


def choices(setting: Setting, demand: GroupDemand) -> str | None:
    """An element that takes a branch or a lookup is computed a few times at most."""
    instr, most = demand.instr, setting.policy.choices
    if instr.opcode not in _CHOICES:
        return None
    if (times := demand.evaluations) <= most * instr.shape.size:
        return None
    return (
        f"%{instr.name} is {with_article(instr.opcode)}, which {_CHOICES[instr.opcode]}; its "
        f"{instr.shape.size} elements would be computed {times:.0f} times; at most {most} each"
    )


# Opcodes that find an element by a branch or a lookup, and the words that say so.
_CHOICES = {
    "concatenate": "chooses among its operands",
    "gather": "looks up where its elements are",
    "pad": "chooses among its operands",
}


def lookups(_: Setting, demand: GroupDemand) -> str | None:
    """An array in which elements are looked up is computed once, not by several kernels.

    The elements of a gather lie anywhere, so to load one takes longer than to compute it.
    """
    instr = demand.instr
    read = {
        o for o in map(_before_broadcast, instr.operands) if o.shape.size > 1 and o.opcode != "iota"
    }
    if instr.opcode in MOVEMENT or len(read) < 2:
        return None
    for group in filter(lambda g: g.gathers, demand.by_group):
        for user in group.from_root_to(instr):
            times = sum(group.members[user].values())
            if user.opcode == "gather" and times > instr.shape.size:
                return (
                    f"%{user.name} would look up {len(read)} operands of %{instr.name} instead of "
                    f"it, {times:.0f} times for {instr.shape.size} elements"
                )
    return None


def _before_broadcast(instr: Instruction) -> Instruction:
    """The operand of a broadcast; another instruction itself."""
    return instr.operands[0] if instr.opcode == "broadcast" else instr


def skew(setting: Setting, demand: GroupDemand) -> str | None:
    """Rows that are cut anew are in memory, where only the number of an element counts."""
    instr = demand.instr
    if setting.policy.skewed or not setting.least_bytes[instr] or instr not in setting.skewed:
        return None
    if (times := demand.evaluations) < instr.shape.size / 2:
        return None
    return f"the rows of %{instr.name} are cut anew, which {times:.0f} elements would ask for"


def vectors(setting: Setting, demand: GroupDemand) -> str | None:
    """A kernel does not compute much for each element of a remainder."""
    instr, policy = demand.instr, setting.policy
    if not policy.vectors or not remainder(instr):
        return None
    for root in (group.root for group in demand.by_group):
        same_rows = root.shape.dims[-1:] == instr.shape.dims[-1:]
        if same_rows and operations(whole_kernel(root), policy) > most_operations(instr):
            return (
                f"{remainder(instr)} elements of each row of %{instr.name} fill no vector, and the "
                f"kernel of %{root.name} takes many operations for each"
            )
    return None


def columns(setting: Setting, demand: GroupDemand) -> str | None:
    """An operand of many operations stays out of a reduction of columns that fill no vector."""
    instr, policy = demand.instr, setting.policy
    if not policy.vectors or instr.opcode in MOVEMENT:
        return None
    for group in filter(lambda g: g.reductions, demand.by_group):
        again = sum(demand.by_group[group].values()) > instr.shape.size
        few = again and any(map(folds_few_columns, group.members))
        if few and operations(whole_kernel(instr), policy) > STORED_WORK:
            return (
                f"the kernel of %{group.root.name} folds columns that fill no vector, and would "
                f"compute %{instr.name} outside of vectors, too"
            )
    return None


def large_transpose(setting: Setting, demand: GroupDemand) -> str | None:
    """A large array is transposed by tiles, not as its elements are folded."""
    for group in filter(lambda g: g.reductions, demand.by_group):
        members = demand.instr, *group.members
        transpose = next(filter(setting.policy.is_large_transpose, members), None)
        if transpose is not None:
            return (
                f"the kernel of %{group.root.name}, which folds, would read the "
                f"{transpose.shape.size} elements of %{transpose.name} by columns"
            )
    return None


def expensive(setting: Setting, demand: GroupDemand) -> str | None:
    """An expensive operation is done once for each element."""
    instr = demand.instr
    if not setting.policy.is_expensive(instr) or (times := demand.evaluations) <= instr.shape.size:
        return None
    return (
        f"%{instr.name} is {with_article(instr.opcode)}, which is expensive; its "
        f"{counted(instr.shape.size, 'element')} would be computed "
        f"{counted(round(times), 'time')}, in {counted(len(demand.by_group), 'kernel')}"
    )


def repetition(setting: Setting, demand: GroupDemand) -> str | None:
    """Cheap operations may be done again, but not without end."""
    policy = setting.policy
    for group in demand.by_group:
        repeated = group.repeated + demand.repeated(group)
        few = group.iterations <= FEW_ITERATIONS
        most = policy.repeated_by_few if few else policy.repeated
        if repeated > most:
            return (
                f"the kernel of %{group.root.name} would repeat {repeated:.1f} operations in each "
                f"iteration; at most {most}"
            )
    return None


def rows(setting: Setting, demand: GroupDemand) -> str | None:
    """A row that many others are combined with is computed once, if it takes several operations.

    Its elements differ from lane to lane, so that a compiler cannot compute them before the loop.
    """
    instr, policy = demand.instr, setting.policy
    least = MANY_COMBINED * instr.shape.size if policy.vectors and instr.shape.rank else 0
    for group, evaluations in demand.by_group.items():
        times = sum(evaluations.values())
        if not 0 < least <= times or times < LEAST_REPEATED:
            continue
        spread = any(instr in m.operands and repeats_rows(m) for m in group.members)
        if spread and operations_behind(instr, policy) >= STORED_WORK:
            return (
                f"the kernel of %{group.root.name} would compute the "
                f"{counted(instr.shape.size, 'element')} of %{instr.name} {times:.0f} times, each "
                "by several operations"
            )
    return None


def size(setting: Setting, demand: GroupDemand) -> str | None:
    """No kernel grows beyond bounds."""
    policy, instr = setting.policy, demand.instr
    if instr.opcode == "broadcast" and instr.operands[0].shape.rank == 0:
        return None  # the same number, at every index
    folds = instr.opcode == "reduce" and not policy.is_small_fold(instr)
    for group, evaluations in demand.by_group.items():
        counts = (
            ("indices at which it is computed", len(evaluations), policy.indices),
            ("values to compute", group.code + len(evaluations), policy.code),
            ("operands", _operands(group, instr), policy.operands),
            ("reductions", group.reductions + folds, policy.reductions),
        )
        for noun, count, most in counts:
            if count > most:
                return (
                    f"with %{instr.name} the kernel of %{group.root.name} would have {count} "
                    f"{noun}; at most {most}"
                )
    return None


def _operands(group: FusionGroup, added: Instruction) -> int:
    """The number of operands of a group that computes one of them itself."""
    read = {*group.operands, *added.operands} - {added}
    return sum(1 for o in read if o.opcode != "constant")


def traffic(setting: Setting, demand: GroupDemand) -> str | None:
    """A value in several kernels must not make them read more than is saved.

    A slice of an array that a kernel reads anyway is nothing more to read.
    """
    instr, kernels, least = demand.instr, len(demand.by_group), setting.least_bytes
    if kernels < 2:
        return None
    operands = dict.fromkeys(instr.operands)
    stored = sum(least[o] for o in operands) + instr.shape.bytes * (1 + kernels)
    fused = sum(
        least[o]
        for g in demand.by_group
        for o in operands
        if o not in g.operands and origin(o) not in g.operands
    )
    if fused <= stored:
        return None
    return (
        f"{kernels} kernels would read {fused} bytes to compute %{instr.name}; to store it and to "
        f"load it moves {stored} bytes"
    )


RULES: dict[str, Rule] = {
    "opcode": opcode,
    "result": result,
    "unused": unused,
    "shape": shape,
    "number": number,
    "order": order,
    "effect": effect,
    "sharding": sharding,
    "scheduled": scheduled,
    "consumer": consumer,
    "in-place": in_place,
    "branches": branches,
    "choices": choices,
    "lookups": lookups,
    "skew": skew,
    "vectors": vectors,
    "columns": columns,
    "large-transpose": large_transpose,
    "expensive": expensive,
    "repetition": repetition,
    "rows": rows,
    "size": size,
    "traffic": traffic,
}
