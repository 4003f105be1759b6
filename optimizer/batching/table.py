"""The table of batched forms: `batches` says how an opcode computes for many examples at once.

A rule takes an instruction, its new operands, and which leaves of each are batched: these have a
dimension for the batch in front. It gives the new instruction, all of whose leaves are batched:

    @batches("transpose")
    def transpose(batch, instr, operands, flags): ...      # dimensions={1,0} => {0,2,1}

Instructions of which no operand is batched stay as they are: a product of two weights is computed
once for all examples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hlo.errors.error import HloError
from hlo.instruction import Instruction
from hlo.table import OpTable
from hlo.types.shape import array, tuple_of
from optimizer.expanders.parts import spread

if TYPE_CHECKING:
    from hlo.types.shape import Shape

# Which leaves of a value are batched.
Flags = tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Batch:
    """A dimension in front of all batched arrays.

    Attributes
    ----------
    size : the number of examples.
    """

    size: int

    def shape(self, shape: Shape) -> Shape:
        """The shape of a batched value."""
        if shape.is_tuple:
            return tuple_of(*map(self.shape, shape.elements))
        return array(shape.element_type, (self.size, *shape.dims)) if shape.is_array else shape

    def spread(self, x: Instruction, flag: bool) -> Instruction:
        """A batched array: one for all is repeated for each example."""
        if flag or not x.shape.is_array:
            return x
        return spread(x, (self.size, *x.shape.dims), range(1, x.shape.rank + 1))

    def all(self, operands: Sequence[Instruction], flags: Sequence[Flags]) -> list[Instruction]:
        """Batched arrays."""
        pairs = zip(operands, flags, strict=True)
        return [self.spread(x, flag) for x, (flag,) in pairs]


Batching = Callable[[Batch, Instruction, Sequence[Instruction], Sequence[Flags]], Instruction]
_INLINED = "it is inlined first"
_UNWRAPPED = "async-unwrapper makes a call of it first"
_BESIDE = "it is one half of an exchange in the background; batch before scheduling"
_HOST = "the host, or another program, exchanges single values with it"
_DYNAMIC = "a batch has no sizes that the run decides"
UNBATCHED = {
    "parameter": "it has no operands",
    "constant": "it has no operands",
    "iota": "it has no operands",
    "rng-get-and-update-state": "it has no operands",
    "partition-id": "it has no operands",
    "replica-id": "it has no operands",
    "after-all": "it has no arrays for operands",
    "call": _INLINED,
    "fusion": _INLINED,
    "bitcast": "bitcast-expander makes a reshape of it first",
    "async-start": _UNWRAPPED,
    "async-update": _UNWRAPPED,
    "async-done": _UNWRAPPED,
    "scan": "scan_expander makes a loop of it first",
    "batch-norm-grad": "it is written as batchnorm_expander writes it",
    "batch-norm-inference": "it is written as batchnorm_expander writes it",
    "batch-norm-training": "it is written as batchnorm_expander writes it",
    "ragged-dot": "it is written as ragged-dot-rewriter writes it",
    "scaled-dot": "it is written as scaled-dot-rewriter writes it",
    "while": "its rule, in optimizer/batching/control.py, needs that of its body",
    "conditional": "its rule, in optimizer/batching/control.py, needs those of its branches",
    "copy-start": _BESIDE,
    "copy-done": _BESIDE,
    "all-gather-start": _BESIDE,
    "all-gather-done": _BESIDE,
    "all-reduce-start": _BESIDE,
    "all-reduce-done": _BESIDE,
    "collective-permute-start": _BESIDE,
    "collective-permute-done": _BESIDE,
    "ragged-all-to-all": "its offsets and sizes would differ from example to example",
    "infeed": _HOST,
    "outfeed": _HOST,
    "recv": _HOST,
    "recv-done": _HOST,
    "send": _HOST,
    "send-done": _HOST,
    "set-dimension-size": _DYNAMIC,
    "dynamic-reshape": _DYNAMIC,
}
batches: OpTable[Batching] = OpTable("batches", UNBATCHED, package="optimizer.batching")


def refusal(instr: Instruction, why: str, *notes: str) -> HloError:
    """The error for an instruction that has no batched form."""
    message = f"{instr.name}: {instr.opcode} has no batched form here: {why}"
    return HloError("HLO156", message, instr.span, notes)


def remade(
    batch: Batch, instr: Instruction, operands: Sequence[Instruction], **changes: Any
) -> Instruction:
    """The instruction on batched operands, with some attributes changed."""
    return unsharded(instr).with_(
        operands=tuple(operands),
        shape=batch.shape(instr.shape),
        attrs=replace(instr.attrs, **changes) if changes else instr.attrs,
        control_predecessors=(),
    )


def unsharded(instr: Instruction) -> Instruction:
    """The instruction without a sharding, which would be one of fewer dimensions."""
    return instr.with_(annotations=replace(instr.annotations, sharding=None))


def after(dims: Sequence[int]) -> tuple[int, ...]:
    """The numbers of dimensions that have one more in front."""
    return tuple(d + 1 for d in dims)
