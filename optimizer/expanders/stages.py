"""The stages of the standard pipelines at which expanders run, by name, as in XLA.

Some of XLA's are not among them, though they are passes here too:

- scatter_expander for what is left after its simple form: a loop of one update an iteration is
  the only way for XLA's CPU, but slower in each of our backends, which all know the opcode;
- tree_reduction_rewriter, reduce-window-rewriter: our kernels for a GPU reduce long rows in two
  launches themselves, and scan rows in blocks;
- float-normalization, change-op-data-type: our backends compute small floats in f32 themselves;
- stable-sort-expander: whichever way our kernels sort, equal elements keep their order;
- dot-merger: to join two weights costs more bytes than it saves (T5: 1.3 times as many);
- qr_expander, eigh_expander: our backends hand these to LAPACK;
- convolution-canonicalization: it makes the order of dimensions that Eigen needs, and we use none;
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
from optimizer.pipeline_text import parse_pipeline

if TYPE_CHECKING:
    from optimizer.log import Pass

# On a GPU, kernels of our own factor and solve in tiles, for which XLA calls cuSOLVER and cuBLAS.
_FACTORED = ("cholesky_expander", "triangular_solve_expander")
# At the very beginning: from then on, no instruction's meaning depends on layouts.
FIRST: tuple[str, ...] = ("tiled-bitcast-expander", "bitcast-expander")
# Before anything is simplified.
_BEFORE: tuple[str, ...] = (
    # XLA's CPU refuses both opcodes, its GPU rewrites them; here every target does.
    "ragged-dot-rewriter",
    "scaled-dot-rewriter",
    "batched_gather_scatter_normalizer",
    "result_caster",
    "dot_decomposer",
    "rng-expander",
    "dynamic-index-splitter",
    # XLA expands random bits and comparisons in total order and decomposes topk here. Our kernels
    # compute these opcodes directly, and choose the algorithm of a sort by its comparison.
    *_FACTORED,
    "stochastic_convert_decomposer",
    "batch-dot-simplification",
    "dot_decomposer",
    "batchnorm_expander",
    "logistic-expander",
    "associative-scan-rewriter",
    "scan_expander",
)
BEFORE: dict[str, tuple[str, ...]] = {
    "cpu": _BEFORE,
    "gpu": tuple(name for name in _BEFORE if name not in _FACTORED),
}
# In every round of simplification.
DURING: tuple[str, ...] = ("gather_expander{simple=true}", "gather_simplifier")
# Between the two runs of simplification.
_SIMPLER_SCATTERS = "scatter_expander{simple=true}", "scatter_simplifier"
BETWEEN: dict[str, tuple[str, ...]] = {
    "cpu": ("select_and_scatter_expander", *_SIMPLER_SCATTERS),
    "gpu": (
        "select_and_scatter_expander{most-windows=9}",
        *_SIMPLER_SCATTERS,
        "collective-dimension-major",
    ),
}
# On a GPU, two threads may update one element of a scatter. Where there is an atomic operation for
# the update, its threads need no order, though the order changes the rounding of sums; other
# updates run one after the other. The second stage leaves no update to atomic operations.
SCATTERS, DETERMINISTIC_SCATTERS = (
    (f"scatter_determinism_expander{{{option}}}",)
    for option in ("sequential=true", "sequential=true,unordered=true")
)
# On a GPU, products of vectors are faster fused than in a library.
VECTOR_PRODUCTS: tuple[str, ...] = ("dot-strength-reduction",)
# After the second run of simplification, before the last CSE.
AFTER: tuple[str, ...] = ("bitcast_dtypes_expander", "transpose-folding")
# Blocks of a GPU find the first 256 of any row, a processor any number; else rows are sorted.
TOP_K: dict[str, tuple[str, ...]] = {
    "cpu": ("topk-rewriter",),
    "gpu": ("topk-decomposer{most-kept=256}",),
}
# After layout normalization, which makes transposes of copies between layouts.
AFTER_LAYOUTS: dict[str, tuple[str, ...]] = {
    "cpu": ("transpose-folding",),
    "gpu": ("transpose-folding{fast=false}",),
}
# On a GPU, a block of threads keeps rows of some length.
LONG_ROWS: dict[str, tuple[str, ...]] = {"cpu": (), "gpu": ("long-softmax-splitter",)}
# At the very end.
LAST: tuple[str, ...] = (
    "cse_barrier_expander",
    "linear-algebra-upcaster",
    "rng-bit-generator-canonicalizer",
    "idle-while-remover",
    "set-dimension-size-remover",
    "fusion-to-call",
)
# Before code is emitted for a module that is not optimized: opcodes without code of their own.
NEEDED: tuple[str, ...] = (
    "tiled-bitcast-expander",
    "custom-call-expander",
    "ragged-dot-rewriter",
    "scaled-dot-rewriter",
    "result_caster",
    "rng-expander",
    "stochastic_convert_decomposer",
    "scan_expander",
    *LAST[1:],
)


def passes_of(names: tuple[str, ...], *, strict: bool) -> tuple[Pass, ...]:
    """The passes of some names that may run: all of them, or those that keep every bit."""
    passes = [parse_pipeline(name).passes[0] for name in names]
    return tuple(p for p in passes if not strict or getattr(p, "promise", BITS) == BITS)
