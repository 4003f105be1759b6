"""The limits of fusion, as a small table of numbers and predicates for each target.

References
----------
XLA, `InstructionFusion::IsExpensive` in `xla/service/instruction_fusion.cc`,
`xla/service/cpu/cpu_instruction_fusion.cc`, `xla/service/gpu/gpu_fusible.cc`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, prod
from typing import TYPE_CHECKING

from hlo import opcode
from hlo.attributes import Dimensions, Windowed
from hlo.support import machine

if TYPE_CHECKING:
    from hlo.instruction import Instruction

CACHED_PART = machine.L2 // 4
"""Bytes that stay in the second-level cache beside as much that is written, and what both displace.
"""

ELEMENTWISE = opcode.ELEMENTWISE - {"stochastic-convert"}
# They only say where an element comes from: index arithmetic, in a kernel.
MOVEMENT = (opcode.having("movement") - opcode.having("updating")) | {"bitcast-convert", "iota"}
# Outside a kernel these cost nothing, or a copy of memory that is faster than any kernel.
_BARE = opcode.SAME_ORDER | {"iota"}
# Rows and columns that a GPU transposes by tiles, as in XLA; smaller ones by a thread an element.
TILED = 16
# Neighbouring columns of which a GPU's threads fold one each; of fewer, a thread folds all of them.
SIDE_BY_SIDE = 8
FOLDS = opcode.having("reduction") | {"map"}


@dataclass(frozen=True, slots=True)
class Policy:
    """The limits of fusion for one target.

    Attributes
    ----------
    producers : opcodes that may be computed inside a fusion.
    roots : opcodes whose operands may be computed in their kernel.
    expensive : opcodes that are never computed more than once for an element; integer division
        counts among them.
    operands : of a fusion, at most. Each is an argument of a kernel.
    reductions : in one fusion, at most.
    concatenated : operands of a concatenate in a fusion, at most. Each is a branch.
    choices : how often an element of a pad, a concatenate or a gather is computed, at most. It is
        a branch, which keeps the loop around it out of vector lanes, or a lookup.
    skewed : whether to compute elements whose index in a row takes a division, which keeps the loop
        around them out of vector lanes.
    vectors : whether loops run in vectors, and elements that fill none are computed one by one.
    indices : at how many indices a fusion may evaluate one value. Each is code of its own.
    repeated : cheap operations that are computed again, per iteration of the innermost loop.
    repeated_by_few : the same for a kernel of few iterations: to call another takes as long.
    code : values that are computed in one fusion, counted once for each index.
    results : of one kernel, at most.
    folds : in one kernel whose folds share a loop, at most.
    inner_fold : elements that a reduce folds at most, if others compute its results as they read
        them, though `producers` has no reduce.
    row_bytes : what stays in the cache while a kernel goes through it several times.
    after_folds : whether a kernel may use what it has folded.
    large_transpose : elements from which on a transpose is stored before it is folded: threads that
        fold its neighbours would each read a sector of memory for one element.
    """

    producers: frozenset[str]
    roots: frozenset[str]
    expensive: frozenset[str]
    operands: int
    reductions: int
    concatenated: int
    choices: int
    skewed: bool
    vectors: bool
    indices: int
    repeated: int
    repeated_by_few: int
    code: int
    results: int
    folds: int
    inner_fold: int
    row_bytes: int
    after_folds: bool
    large_transpose: float

    def is_expensive(self, instr: Instruction) -> bool:
        """Whether to compute an element twice costs more than to store and load it."""
        if instr.opcode in ("divide", "remainder"):
            return not instr.shape.element_type.is_floating
        return instr.opcode in self.expensive

    def is_small_fold(self, instr: Instruction) -> bool:
        """Whether a reduce of arrays folds so few elements that others compute its results."""
        if instr.opcode != "reduce" or not instr.shape.is_array or not instr.shape.size:
            return False
        return instr.operands[0].shape.size <= self.inner_fold * instr.shape.size

    def is_large_transpose(self, instr: Instruction) -> bool:
        """Whether a value is a transpose that is too large to be folded as it is read."""
        if instr.opcode != "transpose" or instr.shape.size < self.large_transpose:
            return False
        order, dims = Dimensions.of(instr).dimensions, instr.shape.dims
        last = instr.shape.rank - 1
        return order[last] != last and min(dims[last], dims[order.index(last)]) >= TILED


CPU = Policy(
    producers=ELEMENTWISE | MOVEMENT | FOLDS | {"constant"},
    roots=(ELEMENTWISE | MOVEMENT | FOLDS | {"dynamic-update-slice"}) - _BARE,
    expensive=opcode.TRANSCENDENTAL | FOLDS,
    operands=32,
    reductions=5,
    concatenated=8,
    choices=8,
    skewed=False,
    vectors=True,
    indices=8,
    repeated=8,
    repeated_by_few=16,
    code=2000,
    results=16,
    folds=16,
    inner_fold=0,
    row_bytes=CACHED_PART,
    after_folds=True,
    large_transpose=inf,
)
# Threads of a GPU can't wait for each other's folds, but of small windows, and have few registers;
# but arithmetic is free beside memory, and so are branches.
GPU = replace(
    CPU,
    producers=CPU.producers - FOLDS | {"reduce-window"},
    operands=96,
    choices=1 << 30,
    skewed=True,
    vectors=False,
    reductions=1,
    repeated=32,
    repeated_by_few=32,
    code=500,
    inner_fold=8,
    row_bytes=0,
    after_folds=False,
    large_transpose=1 << 18,
)

POLICIES = {"cpu": CPU, "gpu": GPU}


def is_plain(instr: Instruction, policy: Policy) -> bool:
    """Whether a loop can compute a value, and an element of it alone."""
    known = instr.opcode in policy.producers or instr.opcode in policy.roots
    fixed = not any(i.shape.is_dynamic for i in (instr, *instr.operands))
    array = instr.shape.is_array and instr.shape.size > 0 and fixed
    alone = instr.opcode == "dynamic-update-slice" or is_large_window(instr)
    return known and array and not alone


def is_large_window(instr: Instruction) -> bool:
    """Whether a kernel of its own shows windows faster than one that does something else besides.

    It goes along whole rows, and need not begin anew where windows overlap. Of smaller windows,
    each element has statements of its own, so that the loops around have lanes. Measured: so
    written, windows of 2 x 2 take 0.27, of 4 x 4 0.2 to 0.9 of the time; 5 x 5 would take 0.6 to
    1.2, and 7 x 7, if they were fused, 10 times as long.
    """
    if instr.opcode != "reduce-window":
        return False
    attrs = Windowed.of(instr)
    return prod(w.size for w in attrs.window) > machine.LANES
