"""What the libraries of the targets can do, and how fast: a table of numbers for each.

The rates are rough, and need only be right about which is larger: a library pays where its faster
arithmetic wins back what a call costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.error import HloError, did_you_mean
from optimizer.analysis.cost import operations
from optimizer.fusion.decision import FusionDecision

if TYPE_CHECKING:
    from hlo.instruction import Instruction, Module


@dataclass(frozen=True, slots=True)
class Library:
    """A library of one target.

    Attributes
    ----------
    kinds : what a fusion is called that the library runs, by the opcode at its heart.
    types : element types that it takes.
    epilogues : opcodes that it applies to the result before it is stored.
    steps : of those, at most.
    flops : operations a second in the library; `loops` in a kernel of our own.
    call : seconds that a call costs beyond a kernel.
    """

    kinds: dict[str, str]
    types: frozenset[str]
    epilogues: frozenset[str]
    steps: int
    flops: float
    loops: float
    call: float

    def decide(self, instr: Instruction) -> FusionDecision:
        """Whether to hand an instruction to the library, and the seconds that say so."""
        if instr.opcode not in self.kinds:
            return FusionDecision(False, "opcode", f"the library has no {instr.opcode}")
        for shape in (instr.shape, *(operand.shape for operand in instr.operands)):
            name = shape.element_type.name
            if name not in self.types or shape.is_dynamic:
                return FusionDecision(False, "type", f"the library does not take {shape}")
        flops, _ = operations(instr)
        ours, theirs = flops / self.loops, self.call + flops / self.flops
        told = f"{flops} flops take {theirs * 1e6:.2f} us there, {ours * 1e6:.2f} us in loops"
        return FusionDecision(theirs < ours, "cost", f"%{instr.name}: {told}")


def why_library(module: Module, name: str, target: str = "cpu") -> FusionDecision:
    """The decision on an instruction: whether a library computes it, and why.

    Parameters
    ----------
    name : of an instruction, with or without "%".

    Raises
    ------
    HloError
        HLO158 if there is no such instruction.
    """
    wanted = name.removeprefix("%")
    found = next((i for i in module.instructions() if i.name == wanted), None)
    if found is None:
        known = [instr.name for instr in module.instructions()]
        message = f"there is no instruction `{wanted}`"
        raise HloError("HLO158", message, notes=did_you_mean(wanted, known))
    return LIBRARIES[target].decide(found)


CPU = Library(
    kinds={"dot": "__ynn_fusion"},
    types=frozenset({"f32", "bf16", "f16"}),
    epilogues=frozenset({"add", "maximum", "minimum", "multiply", "subtract"}),
    steps=4,
    flops=50e9,
    loops=8e9,
    call=0.5e-6,
)
GPU = Library(
    kinds={"dot": "__cublas$gemm", "convolution": "__cudnn$convForward"},
    types=frozenset({"f64", "f32", "bf16", "f16"}),
    epilogues=frozenset({"add", "maximum", "multiply"}),
    steps=3,
    flops=15e12,
    loops=1.5e12,
    call=2e-6,
)
LIBRARIES = {"cpu": CPU, "gpu": GPU}
