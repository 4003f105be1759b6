"""The stages of the standard pipelines at which expanders run, by name, as in XLA.

Some of XLA's are not among them, though they are passes here too:

- scatter_expander for what is left after its simple form: a loop of one update an iteration is
  the only way for XLA's CPU, but slower in each of our backends, which all know the opcode;
- tree_reduction_rewriter, reduce-window-rewriter: kernels for a GPU fold what is long in two
  launches, and run through rows in blocks, themselves;
- float-normalization, change-op-data-type: our backends compute small floats in f32 themselves;
- stable-sort-expander: whichever way our kernels sort, equal elements keep their order;
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
from optimizer.pipeline_text import parse_pipeline

if TYPE_CHECKING:
    from optimizer.log import Pass

# A GPU's blocks factor and solve in tiles, as XLA's GPU lets cuSOLVER and cuBLAS do.
_FACTORED = ("cholesky_expander", "triangular_solve_expander")
# Before anything is simplified.
_BEFORE: tuple[str, ...] = (
    # Before any layout is assigned anew: tiles decide which elements a bitcast reads.
    "tiled-bitcast-expander",
    # XLA's CPU refuses both opcodes, its GPU rewrites them; here every target does.
    "ragged-dot-rewriter",
    "scaled-dot-rewriter",
    "batched_gather_scatter_normalizer",
    "result_caster",
    "dot_decomposer",
    "rng-expander",
    "dynamic-index-splitter",
    # XLA expands random bits and comparisons in total order and decomposes topk here. Our kernels
    # do all of them as they are, and know by the comparison how a sort can be done.
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
# Between simplification and a second time of it. A GPU's threads would scatter to where data say.
_SCATTERS = "scatter_expander{simple=true}", "scatter_simplifier"
BETWEEN: dict[str, tuple[str, ...]] = {
    "cpu": ("select_and_scatter_expander", *_SCATTERS),
    "gpu": ("select_and_scatter_expander{most-windows=9}", *_SCATTERS),
}
# A GPU's threads meet in atomic operations, whose order changes sums of floats; or, of many updates
# for which there is no such operation, have to be kept from meeting.
SCATTERED, IN_ORDER = (
    (f"scatter_determinism_expander{{{option}}}",)
    for option in ("sequential=true", "sequential=true,unordered=true")
)
# Likewise, where products of vectors are better fused than handed to a library.
VECTORS: tuple[str, ...] = ("dot-strength-reduction",)
# After it, before the last CSE.
AFTER: tuple[str, ...] = ("bitcast_dtypes_expander", "transpose-folding")
# A GPU's blocks have room for 4096 keys, of which they find the first few, and share the sort of
# longer rows; a processor looks for the first few of any row.
FEW: dict[str, tuple[str, ...]] = {
    "cpu": ("topk-rewriter",),
    "gpu": ("topk-splitter", "topk-decomposer{row-threshold=4096}"),
}
# When layouts have become transposes.
RELAID: dict[str, tuple[str, ...]] = {
    "cpu": ("transpose-folding",),
    "gpu": ("transpose-folding{bytes=false}",),
}
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
