"""The backend of `torch.compile`."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any

from hlo_torch import private
from hlo_torch.compiled import BackendOptions, CompiledGraph
from hlo_torch.private import GraphModule, torch
from hlo_torch.report import next_number

if TYPE_CHECKING:
    from collections.abc import Callable

# Operations that torch counts among its core, but has simpler ones for.
FURTHER = (
    *("_softmax", "_log_softmax", "_softmax_backward_data", "_log_softmax_backward_data"),
    *("native_layer_norm", "native_layer_norm_backward", "native_group_norm"),
    *("native_group_norm_backward", "native_batch_norm", "native_batch_norm_backward"),
    *("_native_batch_norm_legit", "_native_batch_norm_legit_functional"),
    *("_native_batch_norm_legit_no_training", "gelu", "gelu_backward", "elu", "elu_backward"),
    *("leaky_relu", "var", "var_mean", "std", "grid_sampler_2d", "roll", "diagonal", "lerp"),
    *("addcmul", "addcdiv", "logsumexp", "norm", "linalg_vector_norm", "_cdist_forward"),
    *("reflection_pad2d", "replication_pad2d", "masked_fill", "bucketize", "searchsorted"),
    *("_adaptive_avg_pool2d", "unfold", "unfold_copy", "addmv", "hypot", "dist", "fmax", "fmin"),
    *("masked_scatter", "logcumsumexp", "angle", "polar"),
    *("upsample_bilinear2d", "smooth_l1_loss", "mse_loss", "binary_cross_entropy"),
)
# Its gradient has no simpler ones, and takes what it gives.
ATTENTION = "_scaled_dot_product_flash_attention_for_cpu"


def backend(module: GraphModule, inputs: list[Any], **options: Any) -> Any:
    """Compile a graph of torch: `torch.compile(model, backend="pyhlo")`.

    Parameters
    ----------
    options : as in `torch.compile(model, backend="pyhlo", options={"fallback": False})`, which
        lets an operation that can't be compiled be an error, as `fullgraph=True` does; else torch
        runs it. `dump_to` is a folder to which the modules are written.
    """
    given: dict[str, Any] = {"fallback": not private.is_whole(), **options.get("options", options)}
    known = [field.name for field in fields(BackendOptions)]
    if wrong := [name for name in given if name not in known]:
        raise TypeError(f"PyHLO has no option {', '.join(wrong)}; it has: {', '.join(known)}")
    chosen = BackendOptions(**given)
    number = next_number()

    def compiler(kind: str) -> Any:
        def compiled(graph: GraphModule, _inputs: Any) -> Any:
            return private.boxed(CompiledGraph(graph, f"{kind} {number}", chosen))

        return compiled

    made = private.aot_autograd(
        fw_compiler=compiler("forward"),
        bw_compiler=compiler("backward"),
        inference_compiler=compiler("inference"),
        decompositions=decompositions(),
    )
    with private.without_mkldnn():
        return made(module, inputs)


def decompositions() -> dict[Any, Any]:
    """The operations of which torch makes simpler ones, with the functions that do."""
    aten, table = torch.ops.aten, private.decompositions(FURTHER, ATTENTION)
    table[aten.native_dropout.default] = _dropout
    table[aten.rand_like.default] = partial(_like, aten.rand.default)
    table[aten.randn_like.default] = partial(_like, aten.randn.default)
    return table


# Random numbers are drawn as eager torch draws them: in the order in which they lie in memory. So
# that a draw need not wait for a tensor which it only shall be like, it is asked for by sizes.


def _drawn_like(x: Any, draw: Callable[[list[int]], Any]) -> Any:
    """Random numbers in the shape of a tensor, and lying as those of `empty_like` would."""
    strides = torch.empty_like(x).stride()
    order = sorted(range(x.dim()), key=lambda axis: -strides[axis])
    return draw([x.shape[axis] for axis in order]).permute([order.index(k) for k in range(x.dim())])


def _dropout(x: Any, p: float, train: bool | None) -> tuple[Any, Any]:
    if train is False or p == 0:
        return x.clone(), torch.ones_like(x, dtype=torch.bool)

    def draw(sizes: list[int]) -> Any:
        place = torch.empty(sizes, dtype=torch.bool, device=x.device)
        return torch.ops.aten.bernoulli.p(place, 1 - p)

    mask = _drawn_like(x, draw)
    return x * mask * (0.0 if p == 1 else 1 / (1 - p)), mask


def _like(by_sizes: Any, x: Any, *, dtype: Any = None, device: Any = None, **others: Any) -> Any:
    if others.get("memory_format") not in (None, torch.preserve_format):
        return NotImplemented
    options = {"dtype": dtype or x.dtype, "device": device or x.device}
    return _drawn_like(x, lambda sizes: by_sizes(sizes, **options))
