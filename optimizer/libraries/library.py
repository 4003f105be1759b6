"""The libraries of the targets, with their speed: a table of numbers for each.

The rates are rough, and need only be right about which is larger: a library pays where its faster
arithmetic wins back what a call costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from optimizer.analysis.cost import operations
from optimizer.instruction_lookup import instruction_named

if TYPE_CHECKING:
    from hlo.instruction import Instruction, Module


@dataclass(frozen=True, slots=True)
class LibraryDecision:
    """The choice between a library and a kernel for an instruction.

    Attributes
    ----------
    call : what the library's call is named; None where a kernel computes it.
    rule : which rule decided, a word.
    text : the reason with its numbers, a sentence.
    """

    call: str | None
    rule: str
    text: str

    def __bool__(self) -> bool:
        """Whether a library computes it."""
        return self.call is not None

    def __str__(self) -> str:
        """One line."""
        return f"{self.call or 'a kernel'} ({self.rule}): {self.text}"


@dataclass(frozen=True, slots=True)
class TargetLibrary:
    """A library of one target.

    Attributes
    ----------
    kinds : what the library's call is named, by the opcode at its heart.
    types : element types that it takes.
    plain : types of factors and of products that it multiplies, but without an epilogue.
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
    plain: frozenset[tuple[str, str]] = frozenset()

    def is_plain(self, instr: Instruction) -> bool:
        """Whether the library multiplies such types, but applies no epilogue to their product."""
        factors = {operand.shape.element_type.name for operand in instr.operands}
        pairs = {(factor, instr.shape.element_type.name) for factor in factors}
        return instr.opcode == "dot" and len(pairs) == 1 and pairs <= self.plain

    def decide(self, instr: Instruction) -> LibraryDecision:
        """Whether to hand an instruction to the library, and the seconds that say so."""
        if instr.opcode not in self.kinds:
            return LibraryDecision(None, "opcode", f"the library has no {instr.opcode}")
        plain = self.is_plain(instr)
        for shape in (instr.shape, *(operand.shape for operand in instr.operands)):
            known = plain or shape.element_type.name in self.types
            if not known or shape.is_dynamic:
                return LibraryDecision(None, "type", f"the library does not take {shape}")
        flops, _ = operations(instr)
        in_loops, in_library = flops / self.loops, self.call + flops / self.flops
        library, loops = f"{in_library * 1e6:.2f} us", f"{in_loops * 1e6:.2f} us"
        message = f"{flops} flops take {library} in the library, {loops} in loops"
        call = self.kinds[instr.opcode] if in_library < in_loops else None
        return LibraryDecision(call, "cost", f"%{instr.name}: {message}")


def why_library(module: Module, name: str, target: str = "cpu") -> LibraryDecision:
    """The decision on an instruction: whether a library computes it, and why.

    Parameters
    ----------
    name : of an instruction, with or without "%".

    Raises
    ------
    HloError
        HLO158 if there is no such instruction.
    """
    instr = instruction_named(name, module.instructions(), module, "there is no instruction {}")
    library = LIBRARIES[target]
    for call in library.kinds.values():
        if instr.annotations.backend_config == configuration(call):
            return LibraryDecision(call, "fusion", f"%{instr.name} is such a call already")
    return library.decide(instr)


def configuration(call: str) -> str:
    """The backend configuration of a fusion that is a call of a library."""
    return f'{{"fusion_config":{{"kind":"{call}"}}}}'


# Epilogues that cost less than the load and the store that they save.
CPU = TargetLibrary(
    kinds={"dot": "__ynn_fusion"},
    types=frozenset({"f32", "bf16", "f16"}),
    epilogues=frozenset({"add", "maximum", "minimum", "multiply", "subtract"}),
    steps=4,
    flops=50e9,
    loops=8e9,
    call=0.5e-6,
)
# A scaled product with a bias and a ReLU: one call of cuBLAS or cuDNN. Our kernels of small
# products are as fast, and can be parts of a loop's one kernel, which a call can't.
GPU = TargetLibrary(
    kinds={"dot": "__cublas$gemm", "convolution": "__cudnn$convForward"},
    types=frozenset({"f64", "f32", "bf16", "f16"}),
    epilogues=frozenset({"add", "maximum", "multiply"}),
    steps=3,
    flops=15e12,
    loops=12e12,
    call=2e-6,
    plain=frozenset({("c64", "c64"), ("c128", "c128"), ("s8", "s32")}),
)
LIBRARIES = {"cpu": CPU, "gpu": GPU}
