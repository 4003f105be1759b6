"""Merges kernels that share loops into one that has several results.

    s = f32[8] reduce(x, zero)              p = (f32[8], f32[8]) fusion(x, zero)
    y = f32[8,4] multiply(x, x)     =>      s = f32[8] get-tuple-element(p), index=0
    q = f32[8] reduce(y, zero)              q = f32[8] get-tuple-element(p), index=1

Two kernels that read the same array read it once then (siblings); where one reads what the other
computes, that is used at once (producer and consumer). Which, is decided for the whole computation
first (`optimizer.fusion.merging`); then it is rebuilt once.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.attributes import Fusion, GetTupleElement
from hlo.instruction import Instruction
from hlo.walk import names_of
from optimizer.fusion.build import fused
from optimizer.fusion.kernels import NewKernel, with_kernels
from optimizer.fusion.merging import Merger
from optimizer.fusion.policy import POLICIES
from optimizer.passes import register

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from hlo.instruction import Computation, Module
    from hlo.names import NameSupply
    from optimizer.fusion.merged import MergedKernel
    from optimizer.fusion.policy import Policy
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class MultiOutputFusion:
    """Fusion of siblings, and of producers whose value others need too.

    Attributes
    ----------
    target : whose policy: cpu or gpu.
    """

    name = "multi-output-fusion"
    xla = "xla/service/multi_output_fusion.cc, xla/service/gpu/transforms/multi_output_fusion.cc"
    target: str = "cpu"

    def run(self, module: Module, log: Log) -> Module:
        """The module with fewer and larger kernels."""
        names, policy = names_of(module), POLICIES[self.target]
        calls = Counter(c.name for instr in module.instructions() for c in instr.called)

        def kernels(computation: Computation) -> Iterator[NewKernel]:
            for kernel in merged(module, computation, policy).kernels:
                if kernel.count > 1:
                    fusion, values = as_fusion(kernel, names, own_names(kernel, calls))
                    yield NewKernel(kernel.parts[0], fusion, values, replaced(kernel))

        return with_kernels(module, log, "merge", kernels)


def merged(module: Module, computation: Computation, policy: Policy) -> Merger:
    """The merged kernels of one computation of a module."""
    header = module.header
    return Merger(computation, policy, sharded=header.num_partitions * header.replica_count > 1)


def replaced(kernel: MergedKernel) -> set[str]:
    """The names that a kernel replaces, with those of the numbers that only these need."""
    constants = (o for part in kernel.parts for o in part.operands if o.opcode == "constant")
    return {instr.name for instr in (*kernel.parts, *constants)}


def own_names(kernel: MergedKernel, calls: Mapping[str, int]) -> set[str]:
    """The names of values that are computed nowhere else."""
    names: set[str] = set()
    for part in kernel.parts:
        if part.opcode != "fusion":
            names.add(part.name)
        elif calls[part.called[0].name] == 1:
            names.update(i.name for i in part.called[0].instructions)
    return names


def as_fusion(
    kernel: MergedKernel, names: NameSupply, kept_names: Collection[str]
) -> tuple[Instruction, dict[Instruction, Instruction]]:
    """A kernel as a fusion, and the replacements of its parts' values."""
    outputs = kernel.outputs
    kinds = {part.attrs.kind for part in kernel.parts if isinstance(part.attrs, Fusion)}
    kind = "kInput" if "kInput" in kinds else "kLoop"
    named = {member for member in kernel.members if member.name in kept_names}
    fusion = fused(kernel.members, outputs, names, named, kind)
    if len(outputs) == 1:
        return fusion, dict.fromkeys(kernel.values, fusion)
    elements = {
        output: Instruction(
            names.unique("get-tuple-element"), "get-tuple-element", output.shape, (fusion,),
            GetTupleElement(index=number), annotations=output.annotations,
        )
        for number, output in enumerate(outputs)
    }  # fmt: skip
    return fusion, {instr: elements[member] for instr, member in kernel.values.items()}
