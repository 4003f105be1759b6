"""Where in the standard pipelines the expanders stand: XLA's places for them.

Some of XLA's are not among them, though they are passes here too:

- scatter_expander for what is left after its simple form: a loop that writes one update a turn is
  the only way for XLA's CPU, but slower in each of our backends, which all know the opcode;
- scatter_determinism_expander: our backends scatter in order anyway;
- tree_reduction_rewriter: two kernels instead of one;
- float-normalization, change-op-data-type: our backends compute small floats in f32 themselves;
- dot-merger: to join two weights costs more bytes than it saves (T5: 1.3 times as many);
- qr_expander, eigh_expander: our backends hand these to LAPACK;
- convolution-canonicalization: there is no Eigen that wants its order;
- gemv-rewriter, splitk-rewriter, dot_dimension_merger, dot_dimension_sorter,
  convolution-pred-expander, convolution_4d_expander: for libraries and Triton; our kernels take
  all these forms;
- reduction-degenerate-dim-remover, reduction-dimension-grouper: our loops join dimensions
  themselves, also those that only meet inside of a fusion;
- operand_upcaster, and the converter of batch groups: our kernels convert operands as they pack
  them, and take groups of the batch as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interpreter.numbers.compare import BITS
from optimizer.expanders.dots.batch_dot_simplification import BatchDotSimplification
from optimizer.expanders.dots.dot_decomposer import DotDecomposer
from optimizer.expanders.dots.dot_strength_reduction import DotStrengthReduction
from optimizer.expanders.dots.ragged_dot_rewriter import RaggedDotRewriter
from optimizer.expanders.dots.scaled_dot_rewriter import ScaledDotRewriter
from optimizer.expanders.dots.transpose_folding import TransposeFolding
from optimizer.expanders.gathers.batched_gather_scatter_normalizer import (
    BatchedGatherScatterNormalizer,
)
from optimizer.expanders.gathers.dynamic_index_splitter import DynamicIndexSplitter
from optimizer.expanders.gathers.gather_expander import GatherExpander
from optimizer.expanders.gathers.gather_simplifier import GatherSimplifier
from optimizer.expanders.gathers.scatter_expander import ScatterExpander
from optimizer.expanders.gathers.scatter_simplifier import ScatterSimplifier
from optimizer.expanders.linear_algebra.batchnorm_expander import BatchNormExpander
from optimizer.expanders.linear_algebra.cholesky_expander import CholeskyExpander
from optimizer.expanders.linear_algebra.triangular_solve_expander import TriangularSolveExpander
from optimizer.expanders.optimization_barrier_expander import OptimizationBarrierExpander
from optimizer.expanders.precision.bitcast_dtypes_expander import BitcastDtypesExpander
from optimizer.expanders.precision.logistic_expander import LogisticExpander
from optimizer.expanders.precision.result_caster import ResultCaster
from optimizer.expanders.random.rng_expander import RngExpander
from optimizer.expanders.random.stochastic_convert_decomposer import StochasticConvertDecomposer
from optimizer.expanders.reductions.associative_scan_rewriter import AssociativeScanRewriter
from optimizer.expanders.reductions.reduce_window_rewriter import ReduceWindowRewriter
from optimizer.expanders.reductions.scan_expander import ScanExpander
from optimizer.expanders.reductions.select_and_scatter_expander import SelectAndScatterExpander
from optimizer.expanders.sorting.topk_rewriter import TopkRewriter

if TYPE_CHECKING:
    from optimizer.log import Pass

# Before anything is simplified.
BEFORE: tuple[Pass, ...] = (
    # XLA's CPU refuses both opcodes, its GPU rewrites them; here every target does.
    RaggedDotRewriter(),
    ScaledDotRewriter(),
    BatchedGatherScatterNormalizer(),
    ResultCaster(),
    DotDecomposer(),
    RngExpander(),
    DynamicIndexSplitter(),
    # XLA expands random bits and comparisons in total order and decomposes topk here. Our kernels
    # do all of them as they are, and know by the comparison how a sort can be done.
    CholeskyExpander(),
    TriangularSolveExpander(),
    StochasticConvertDecomposer(),
    BatchDotSimplification(),
    DotDecomposer(),
    BatchNormExpander(),
    LogisticExpander(),
    AssociativeScanRewriter(),
    ScanExpander(),
)
# Then, where many threads are to share the work of one fold.
PARALLEL: tuple[Pass, ...] = (ReduceWindowRewriter(),)
# In every round of simplification.
DURING: tuple[Pass, ...] = (GatherExpander(simple=True), GatherSimplifier())
# Between simplification and a second time of it.
BETWEEN: tuple[Pass, ...] = (
    SelectAndScatterExpander(),
    ScatterExpander(simple=True),
    ScatterSimplifier(),
)
# Likewise, where products of vectors are better fused than handed to a library.
VECTORS: tuple[Pass, ...] = (DotStrengthReduction(),)
# After it, before the last CSE.
AFTER: tuple[Pass, ...] = (BitcastDtypesExpander(), TopkRewriter(), TransposeFolding())
# When layouts have become transposes.
RELAID: tuple[Pass, ...] = (TransposeFolding(),)
# At the very end.
LAST: tuple[Pass, ...] = (OptimizationBarrierExpander(),)


def kept(passes: tuple[Pass, ...], *, strict: bool) -> tuple[Pass, ...]:
    """The passes that may run: all of them, or those that keep every bit."""
    return tuple(p for p in passes if not strict or getattr(p, "promise", BITS) == BITS)
