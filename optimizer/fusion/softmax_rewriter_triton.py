"""Puts several passes over the rows of an array into one kernel, with a row a block.

    m = f32[8] reduce(x, -inf), to_apply=max
    b = f32[8,99] broadcast(m)                   fused { m, b, e, s, c and d }
    e = f32[8,99] exponential(x - b)        =>   ROOT d = f32[8,99] fusion(x), kind=kCustom
    s = f32[8] reduce(e, 0), to_apply=add
    c = f32[8,99] broadcast(s)
    ROOT d = f32[8,99] divide(e, c)

A softmax reads its rows three times, and a layer norm as often, if each fold is a kernel. One block
of threads that keeps its row reads it once. XLA hands such diamonds (a fold, spread over the row
that was folded) to Triton; here whatever works row by row may be between them and around, and have
several results (`optimizer.fusion.rows`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.attributes import GetTupleElement
from hlo.effects import ordered
from hlo.instruction import Instruction
from hlo.walk import names_of, users
from optimizer.fusion.build import fused
from optimizer.fusion.kernels import NewKernel, with_kernels
from optimizer.fusion.looked_up import looked_up
from optimizer.fusion.policy import ELEMENTWISE, GPU
from optimizer.fusion.rows import groups_of_rows, with_leaves
from optimizer.passes import register

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from hlo.instruction import Computation, Module
    from hlo.names import NameSupply
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class SoftmaxRewriterTriton:
    """Fuses softmax, layer norm and their kind into one kernel each."""

    name = "triton-softmax-rewriter"
    xla = "xla/service/gpu/transforms/softmax_rewriter_triton.cc"

    def run(self, module: Module, log: Log) -> Module:
        """The module with a fusion for each group of instructions that work row by row."""
        names = names_of(module)

        def kernels(computation: Computation) -> Iterator[NewKernel]:
            few = looked_up(computation)
            groups = groups_of_rows(computation, {*ordered(computation), *few})
            copied = {i for group in groups for i in set(with_leaves(group)).difference(group)}
            read = {operand for leaf in copied for operand in leaf.operands}
            shared = _copied_leaves(groups, computation, copied)
            for group in groups:
                again = _computed_again(group, computation, few)
                outputs = _outputs(group, computation, again, read, shared)
                if not outputs:
                    continue  # nobody needs it
                named = set(group).difference(shared, again)
                fusion, values = _as_fusion(group, outputs, names, named)
                if len(fusion.operands) + len(values) <= GPU.operands:
                    gone = [member.name for member in with_leaves(group)]
                    yield NewKernel(group[-1], fusion, values, gone)

        return with_kernels(module, log, "rows", kernels)


def _copied_leaves(
    groups: Sequence[Sequence[Instruction]],
    computation: Computation,
    copied: AbstractSet[Instruction],
) -> set[Instruction]:
    """Leaves that no kernel stores: all of their users are in groups, which have copies of them."""
    members, using = {i for group in groups for i in group}, users(computation)
    return {
        i for i in copied & members if i is not computation.root and members.issuperset(using[i])
    }


def _computed_again(
    group: Sequence[Instruction], computation: Computation, few: AbstractSet[Instruction]
) -> set[Instruction]:
    """The members that others need only for a few elements, and compute for themselves."""
    using, repeated = users(computation), set[Instruction]()
    for instr in reversed(group):
        outside = [u for u in using[instr] if u in few or u in repeated]
        others = (u for u in using[instr] if u not in few and u not in group)
        cheap = instr.opcode in ELEMENTWISE or instr.opcode == "broadcast"
        if outside and cheap and instr is not computation.root and not any(others):
            repeated.add(instr)
    return repeated


def _outputs(
    group: Sequence[Instruction],
    computation: Computation,
    again: AbstractSet[Instruction],
    read: AbstractSet[Instruction],
    shared: AbstractSet[Instruction],
) -> list[Instruction]:
    """The members of a group that others use.

    Parameters
    ----------
    again, shared : members that others compute for themselves, some of them or all.
    read : the operands of leaves that groups have for themselves.
    """
    inside, using = set(group).difference(again), users(computation)
    root = computation.root
    used = {i for i in inside - shared if any(u not in inside for u in using[i])}
    return [i for i in group if i is root or i in read or i in used]


def _as_fusion(
    group: Sequence[Instruction],
    outputs: Sequence[Instruction],
    names: NameSupply,
    named: AbstractSet[Instruction],
) -> tuple[Instruction, dict[Instruction, Instruction]]:
    """A group as a fusion, and the replacements of its members' values."""
    fusion = fused(with_leaves(group), outputs, names, named, "kCustom")
    if len(outputs) == 1:
        return fusion, {outputs[0]: fusion}
    return fusion, {
        output: Instruction(
            names.unique("get-tuple-element"), "get-tuple-element", output.shape, (fusion,),
            GetTupleElement(index=number), annotations=output.annotations,
        )
        for number, output in enumerate(outputs)
    }  # fmt: skip
