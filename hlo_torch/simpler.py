"""Operations of which simpler ones are made, before they are compiled: by torch, and here."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from hlo_torch.compiled import is_random
from hlo_torch.lowering import rule_of
from hlo_torch.private import registered_decompositions, torch

if TYPE_CHECKING:
    from collections.abc import Callable

_NOT_SIMPLER = ("aten.item.default", "aten._local_scalar_dense.default")


def decompositions() -> dict[Any, Any]:
    """The operations of which torch makes simpler ones, with the functions that do.

    These are all for which torch has such a function, and the table no rule; but for those that
    draw random numbers, which would be others, and for `item`, whose number no graph knows.
    """
    aten = torch.ops.aten
    table = {
        operation: function
        for operation, function in registered_decompositions().items()
        if rule_of(str(operation)) is None
        and not is_random(str(operation))
        and str(operation) not in _NOT_SIMPLER
    }
    table[aten.native_dropout.default] = _dropout
    named = {"_linalg_det": _det, "_linalg_slogdet": _slogdet, "_linalg_solve_ex": _solve_ex}
    table.update({getattr(aten, name).default: simpler for name, simpler in named.items()})
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


# For a determinant, eager torch factors the transpose where its rows lie as LAPACK wants columns,
# and the gradient, which takes the factors, knows that.


def _factored(a: Any) -> tuple[Any, Any]:
    is_turned = a.is_contiguous() and not a.is_complex()
    return torch.ops.aten.linalg_lu_factor_ex(a.mT if is_turned else a)[:2]


def _sign(pivots: Any) -> Any:
    """-1 where an odd number of rows changed places, else 1."""
    rows = torch.arange(1, pivots.shape[-1] + 1, dtype=pivots.dtype, device=pivots.device)
    return 1 - (pivots != rows).sum(-1) % 2 * 2


def _det(a: Any) -> tuple[Any, ...]:
    both, pivots = _factored(a)
    return both.diagonal(dim1=-2, dim2=-1).prod(-1) * _sign(pivots), both, pivots


def _slogdet(a: Any) -> tuple[Any, ...]:
    both, pivots = _factored(a)
    diagonal = both.diagonal(dim1=-2, dim2=-1)
    sign = diagonal.sgn().prod(-1) * _sign(pivots)
    return sign, diagonal.abs().log().sum(-1), both, pivots


def _solve_ex(a: Any, b: Any, *, left: bool = True, check_errors: bool = False) -> tuple[Any, ...]:
    if check_errors:
        return NotImplemented
    both, pivots, info = torch.ops.aten.linalg_lu_factor_ex(a)
    is_vector = b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1])
    columns = b.unsqueeze(-1) if is_vector else b
    found = torch.ops.aten.linalg_lu_solve(both, pivots, columns, left=left or is_vector)
    return found.squeeze(-1) if is_vector else found, both, pivots, info
