"""The rules that forbid that two kernels become one with several results.

A rule is given two kernels and the one that they would become. It returns the reason if it may
not be.

References
----------
XLA, `xla/service/gpu/transforms/multi_output_fusion.cc`, `FusionFitsInBudget` in
`xla/service/gpu/gpu_fusible.cc`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING

from optimizer.fusion.merged import joined
from optimizer.fusion.nest import LoopNest, nest_of
from optimizer.fusion.remainders import most_operations, operations, remainder

if TYPE_CHECKING:
    from collections.abc import Callable

    from optimizer.fusion.merged import MergedKernel, Needed
    from optimizer.fusion.policy import Policy


@dataclass
class Merge:
    """Two kernels that might become one.

    Attributes
    ----------
    first, second : the second may need the first.
    needed : as `joined` asks.
    """

    policy: Policy
    first: MergedKernel
    second: MergedKernel
    needed: Needed

    @cached_property
    def kernel(self) -> MergedKernel:
        """The kernel that both would become."""
        return joined(self.first, self.second, self.needed)

    @cached_property
    def least_operands(self) -> int:
        """The number of operands of one kernel, at least: told before it is made."""
        first, second = self.first, self.second
        return max(len(first.operands), len(second.operands) - len(first.values))

    @property
    def is_elementwise(self) -> bool:
        """Whether one loop computes all, each element from those at its own place."""
        return bool(self.kernel.totals.dims)

    @cached_property
    def nest(self) -> LoopNest | str:
        """The loops of the kernel, or why it has none."""
        return nest_of(self.kernel.members, self.kernel.outputs)

    @cached_property
    def saved(self) -> int:
        """Bytes that one kernel reads and writes less than two."""
        return self.first.bytes + self.second.bytes - self.kernel.bytes


def trip_count(merge: Merge) -> str | None:
    """All folds read as many elements, and results have as many as those, or as the folds yield.

    That follows from what `loops` asks. Most pairs that it refuses differ in this already, which is
    told without making one kernel of them.
    """
    first, second = merge.first, merge.second
    folds, parts = first.folds | second.folds, {*first.parts, *second.parts}
    if len(folds) > 1:
        return "their folds read or yield different numbers of elements"
    sizes = {size for fold in folds for size in fold}
    for instr, member in (*first.values.items(), *second.values.items()):
        if merge.needed(instr, parts):
            sizes = sizes or {member.shape.size}
            if member.shape.size not in sizes:
                return f"%{member.name} has other elements than the loops have iterations"
    return None


def size(merge: Merge) -> str | None:
    """No kernel grows beyond bounds."""
    policy, kernel = merge.policy, merge.kernel
    counts = (
        ("results", len(kernel.outputs), policy.results),
        ("operands", len(kernel.operands), policy.operands),
        ("values to compute", len(kernel.members), policy.code),
        ("folds", kernel.totals.fold_count, policy.folds),
    )
    for noun, count, most in counts:
        if count > most:
            return f"one kernel would have {count} {noun}; at most {most}"
    return None


def loops(merge: Merge) -> str | None:
    """Both count the same loops."""
    return merge.nest if isinstance(merge.nest, str) else None


def index(merge: Merge) -> str | None:
    """The second needs values of the first at the index at which the first computes them."""
    nest = merge.nest
    assert isinstance(nest, LoopNest)
    for value in merge.kernel.handed:
        if nest.index_of.get(value) not in (nest.order, nest.kept):
            return f"%{value.name} would be computed anew for each element that needs it"
    return None


def once(merge: Merge) -> str | None:
    """A loop in vectors computes each value at one index.

    Else an adaptive ODE solver takes 1.3 times as long, a join of tables 1.4 times.
    """
    nest = merge.nest
    assert isinstance(nest, LoopNest)
    if not merge.policy.vectors or nest.repeated is None:
        return None
    return f"%{nest.repeated.name} would be computed at several indices in each iteration"


def folds(merge: Merge) -> str | None:
    """Threads of a GPU can't wait for others' reductions, but can go on with their own results."""
    nest = merge.nest
    assert isinstance(nest, LoopNest)
    if merge.policy.after_folds:
        return None
    late = next(
        (m for m in nest.members if nest.sweep[m] and nest.index_of.get(m) != nest.kept), None
    )
    return late and f"%{late.name} needs a fold of the same kernel"


def cache(merge: Merge) -> str | None:
    """Arrays that are read several times have to stay in the cache."""
    nest, most = merge.nest, merge.policy.row_bytes
    assert isinstance(nest, LoopNest)
    if nest.is_cached(most):
        return None
    return (
        f"{nest.sweeps} sweeps over rows of {nest.row_bytes()} bytes, which the cache does not "
        f"hold: at most {most}"
    )


def vectors(merge: Merge) -> str | None:
    """A kernel does not compute much for each element of a remainder."""
    members, policy, cut = merge.kernel.members, merge.policy, merge.kernel.totals.cut
    if not policy.vectors or cut is None or most_operations(cut) == inf:
        return None
    if operations(members, policy) <= most_operations(cut):
        return None
    return (
        f"{remainder(cut)} elements of each row of %{cut.name} fill no vector, and one kernel "
        "would take many operations for each"
    )


def large_transpose(merge: Merge) -> str | None:
    """A large array is transposed by tiles, not as its elements are folded."""
    if not merge.kernel.folds:
        return None
    moved = next(filter(merge.policy.is_large_transpose, merge.kernel.members), None)
    if moved is None:
        return None
    return f"the {moved.shape.size} elements of %{moved.name} would be read by columns and folded"


def benefit(merge: Merge) -> str | None:
    """A merged kernel saves memory traffic."""
    return None if merge.saved > 0 else "one kernel would read and write as many bytes as two"


MERGE_RULES: dict[str, Callable[[Merge], str | None]] = {
    "trip_count": trip_count,
    "size": size,
    "loops": loops,
    "index": index,
    "once": once,
    "folds": folds,
    "cache": cache,
    "vectors": vectors,
    "large-transpose": large_transpose,
    "benefit": benefit,
}
# They look at the loops, and have nothing to say of elementwise kernels.
OF_LOOPS = frozenset(("loops", "index", "once", "folds", "cache"))
