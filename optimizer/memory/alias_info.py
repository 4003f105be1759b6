"""The rules of aliasing for each target, which follow from how its kernels compute fusions.

References
----------
XLA, the backends' subclasses of `AliasInfo` (`xla/hlo/analysis/alias_info.h`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.analysis.alias import AliasInfo
from optimizer.fusion.rows import rows_of_all
from optimizer.fusion.together import common_nest, results_together

if TYPE_CHECKING:
    from hlo.instruction import Computation


class CpuAliasInfo(AliasInfo):
    """The rules for C: loops that all results of a fusion have in common."""

    def is_one_kernel(self, computation: Computation) -> bool:
        """Whether one loop nest computes all results of a fusion."""
        return computation.root.opcode != "tuple" or common_nest(computation) is not None


class GpuAliasInfo(AliasInfo):
    """The rules for CUDA: threads that compute an element of each result of a fusion."""

    def is_one_kernel(self, computation: Computation) -> bool:
        """Whether each thread computes an element of all results of a fusion.

        A kernel that goes through rows several times may read elements that it has overwritten.
        """
        if rows_of_all(computation) is not None:
            return False
        return computation.root.opcode != "tuple" or bool(results_together(computation))


ALIAS_INFO = {"cpu": CpuAliasInfo(), "gpu": GpuAliasInfo()}
