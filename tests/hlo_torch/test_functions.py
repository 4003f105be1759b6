"""Functions of PyTorch by kind, with gradients: eager's values, and none is left to PyTorch."""

from typing import Any

import pytest

from hlo_torch import report

pytest.importorskip("torch", reason="torch is not installed: make frontends")

import torch
import torch.nn.functional as F  # noqa: N812 - so all of PyTorch's users call it
from torch import nn


def of(*dims: int) -> torch.Tensor:
    return torch.randn(dims, requires_grad=True)


def square(*dims: int) -> torch.Tensor:
    """Matrices far from singular."""
    return (torch.randn(*dims) + 4 * torch.eye(dims[-1])).requires_grad_()


def positive(a: torch.Tensor) -> torch.Tensor:
    return a @ a.mT + torch.eye(a.shape[-1])


def labels(*dims: int, below: int = 4) -> torch.Tensor:
    return torch.randint(below, dims)


P, GRID = 0.5, (2, 3, 4, 2)
FUNCTIONS: dict[str, tuple[Any, ...]] = {
    # Linear algebra.
    "cholesky": (lambda a: torch.linalg.cholesky(positive(a)), square(2, 3, 3)),
    "cholesky, upper": (lambda a: torch.linalg.cholesky(positive(a), upper=True), square(3, 3)),
    "solve": (torch.linalg.solve, square(3, 3), of(3, 2)),
    "solve a vector": (torch.linalg.solve, square(2, 3, 3), of(2, 3)),
    "solve from the right": (
        lambda a, b: torch.linalg.solve(a, b, left=False),
        square(3, 3),
        of(2, 3),
    ),
    "triangular": (
        lambda a, b: torch.linalg.solve_triangular(a.triu(), b, upper=True),
        square(3, 3),
        of(3, 2),
    ),
    "inverse": (torch.linalg.inv, square(2, 3, 3)),
    "determinant": (torch.linalg.det, square(2, 3, 3)),
    "logarithm of a determinant": (lambda a: torch.linalg.slogdet(a)[1], square(4, 4)),
    "qr": (lambda a: torch.linalg.qr(a)[1].abs(), square(2, 4, 4)),
    "singular values": (torch.linalg.svdvals, of(4, 3)),
    "singular vectors": (lambda a: torch.linalg.svd(a, full_matrices=False)[0].abs(), of(4, 3)),
    "eigenvalues": (lambda a: torch.linalg.eigvalsh(a + a.mT), of(4, 4)),
    "matrix norms": (
        lambda a: torch.stack([torch.linalg.matrix_norm(a, o) for o in ("fro", "nuc", 2, 1)]),
        of(4, 3),
    ),
    "lu": (lambda a: torch.linalg.lu(a)[2], square(3, 3)),
    "pseudoinverse": (torch.linalg.pinv, of(4, 3)),
    "power of a matrix": (lambda a: torch.linalg.matrix_power(a, 3), of(3, 3)),
    "distances": (torch.cdist, of(3, 2), of(4, 2)),
    "distances of pairs": (F.pdist, of(4, 3)),
    # Fourier transforms, complex numbers.
    "fft": (lambda x: torch.fft.fft(x).abs(), of(2, 6)),
    "fft of two dimensions": (
        lambda x: torch.view_as_real(torch.fft.fft2(x, norm="ortho")),
        of(2, 4, 5),
    ),
    "real fft and back": (lambda x: torch.fft.irfft(torch.fft.rfft(x) * 2, n=7), of(2, 7)),
    "inverse fft": (
        lambda x: torch.view_as_real(torch.fft.ifft(x.conj())),
        torch.randn(5, dtype=torch.complex64),
    ),
    "short-time spectrum": (
        lambda x: torch.stft(x, 8, window=torch.hann_window(8), return_complex=True).abs(),
        of(32),
    ),
    "complex parts": (
        lambda x, y: (torch.complex(x, y) * torch.polar(x.abs(), y)).angle(),
        of(3),
        of(3),
    ),
    # Order.
    "median": (lambda x: torch.median(x, 1)[0], of(3, 5)),
    "median of all": (torch.median, of(3, 4)),
    "nanmedian": (lambda x: torch.nanmedian(torch.where(x > 1, torch.nan, x), 1)[0], of(3, 5)),
    "mode": (lambda x: torch.mode(x, 1)[0], labels(4, 9).float()),
    "kthvalue": (lambda x: torch.kthvalue(x, 2, 0)[0], of(4, 3)),
    "quantile": (lambda x: torch.quantile(x, 0.3, dim=0), of(6, 2)),
    "sort": (lambda x: torch.sort(x, descending=True, stable=True)[0], of(3, 5)),
    "topk": (lambda x: torch.topk(x, 2)[0], of(3, 5)),
    "searchsorted": (
        lambda x, y: torch.searchsorted(x.sort()[0], y),
        torch.randn(2, 7),
        torch.randn(2, 3),
    ),
    "bucketize": (
        lambda x: torch.bucketize(x, torch.tensor([-1.0, 0, 1]), right=True),
        torch.randn(5),
    ),
    "histc": (lambda x: torch.histc(x, 5, -1, 1), torch.randn(20)),
    # Scans.
    "cummax": (lambda x: torch.cummax(x, 1)[0], of(2, 6)),
    "cummin": (lambda x: torch.cummin(x, 0)[1], torch.randn(6, 2)),
    "cumprod": (lambda x: torch.cumprod(x, 1), of(2, 5)),
    "logcumsumexp": (lambda x: torch.logcumsumexp(x, 1), of(2, 5)),
    # Images.
    "bilinear": (lambda x: F.interpolate(x, (5, 7), mode="bilinear"), of(1, 2, 4, 4)),
    "bilinear, aligned": (
        lambda x: F.interpolate(x, (5, 7), mode="bilinear", align_corners=True),
        of(1, 2, 4, 4),
    ),
    "bicubic": (lambda x: F.interpolate(x, scale_factor=1.5, mode="bicubic"), of(1, 2, 4, 4)),
    "nearest": (lambda x: F.interpolate(x, (6, 3)), of(1, 2, 4, 4)),
    "without aliases": (
        lambda x: F.interpolate(x, (3, 2), mode="bilinear", antialias=True),
        of(1, 2, 7, 6),
    ),
    "trilinear": (lambda x: F.interpolate(x, (3, 3, 5), mode="trilinear"), of(1, 2, 2, 3, 4)),
    "adaptive means": (lambda x: F.adaptive_avg_pool2d(x, (3, 2)), of(2, 2, 5, 7)),
    "adaptive extremes": (lambda x: F.adaptive_max_pool2d(x, (3, 2)), of(2, 2, 5, 7)),
    "grid": (lambda x, g: F.grid_sample(x, g, align_corners=False), of(2, 2, 4, 5), of(*GRID)),
    "grid, cubic, mirrored": (
        lambda x, g: F.grid_sample(x, g, "bicubic", "reflection", align_corners=True),
        of(2, 2, 4, 5),
        of(*GRID),
    ),
    "affine grid": (lambda t: F.affine_grid(t, [2, 1, 3, 3], align_corners=False), of(2, 2, 3)),
    "unfold and fold": (
        lambda x: F.fold(F.unfold(x, 3, padding=1), (4, 5), 3, padding=1),
        of(1, 2, 4, 5),
    ),
    "pads": (
        lambda x: F.pad(x, (1, 2, 0, 1), "replicate") + F.pad(x, (1, 2, 0, 1), "reflect"),
        of(1, 2, 4, 5),
    ),
    "pixel shuffle": (lambda x: F.pixel_unshuffle(F.pixel_shuffle(x, 2), 2), of(1, 4, 2, 3)),
    "local response": (lambda x: F.local_response_norm(x, 3), of(1, 5, 3, 3)),
    # Places.
    "index_put": (
        lambda x, v: torch.index_put(x, (torch.tensor([0, 2, 0]),), v, accumulate=True),
        of(3, 2),
        of(3, 2),
    ),
    **{
        f"scatter_reduce {how}": (
            lambda x, v, i, how=how: torch.scatter_reduce(
                x, 0, i, v, how, include_self=how != "prod"
            ),
            of(3, 4),
            of(2, 4),
            labels(2, 4, below=3),
        )
        for how in ("sum", "prod", "mean", "amax", "amin")
    },
    "index_reduce": (
        lambda x, v: torch.index_reduce(x, 1, torch.tensor([0, 2, 0]), v, "mean"),
        torch.randn(3, 4),
        torch.randn(3, 3),
    ),
    "masked_scatter": (lambda x, v: torch.masked_scatter(x, x.detach() > 0, v), of(3, 4), of(12)),
    "diagonals": (
        lambda x, v: torch.diagonal_scatter(x, v, 1) + torch.diag_embed(v.new_ones(4)),
        of(4, 4),
        of(3),
    ),
    "take_along_dim": (lambda x: torch.take_along_dim(x, x.argsort(1), 1), of(3, 4)),
    "embedding bag, extremes": (
        lambda w: F.embedding_bag(
            torch.tensor([0, 2, 1, 0]), w, torch.tensor([0, 3, 3]), mode="max"
        ),
        of(4, 3),
    ),
    "embedding bag, weights": (
        lambda w, v: F.embedding_bag(
            torch.tensor([0, 2, 1, 0]), w, torch.tensor([0, 3]), mode="sum", per_sample_weights=v
        ),
        of(4, 3),
        of(4),
    ),
    # Special functions.
    "gamma": (
        lambda x: (
            torch.lgamma(x.abs() + P) + torch.digamma(x.abs() + P) + torch.polygamma(2, x.abs() + P)
        ),
        of(5),
    ),
    "error functions": (lambda x: torch.erfc(x) + torch.erfinv(x.tanh()), of(5)),
    "others": (
        lambda x, y: (
            torch.hypot(x, y) + torch.fmax(x, y) + torch.copysign(x, y) + torch.xlogy(x, y.abs())
        ),
        of(5),
        of(5),
    ),
    # Convolutions and attention.
    "dilated groups": (
        lambda x, w: F.conv2d(x, w, padding=2, dilation=2, groups=2),
        of(1, 4, 6, 6),
        of(6, 2, 3, 3),
    ),
    "transposed": (
        lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1),
        of(1, 3, 4, 4),
        of(3, 2, 3, 3),
    ),
    "three dimensions": (
        lambda x, w: F.conv3d(x, w, stride=(1, 2, 1), padding=1),
        of(1, 2, 4, 5, 4),
        of(3, 2, 3, 3, 3),
    ),
    "attention with a mask": (
        lambda q, k, v: F.scaled_dot_product_attention(
            q, k, v, attn_mask=torch.ones(4, 6, dtype=torch.bool).tril(2)
        ),
        of(1, 2, 4, 8),
        of(1, 2, 6, 8),
        of(1, 2, 6, 8),
    ),
    "grouped attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True, is_causal=True),
        of(1, 4, 5, 8),
        of(1, 2, 5, 8),
        of(1, 2, 5, 8),
    ),
    # Losses.
    **{
        name: (lambda x, y, loss=loss: loss()(x, y), of(4, 5), torch.rand(4, 5).softmax(1))
        for name, loss in {
            "smooth l1": nn.SmoothL1Loss,
            "huber": nn.HuberLoss,
            "kl": nn.KLDivLoss,
            "bce": nn.BCEWithLogitsLoss,
            "poisson": nn.PoissonNLLLoss,
            "cross entropy": nn.CrossEntropyLoss,
        }.items()
    },
    "labels smoothed": (
        lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1, ignore_index=1),
        of(6, 4),
        labels(6),
    ),
    "margins": (
        lambda x, y: F.multi_margin_loss(x, y) + F.triplet_margin_loss(x, x * 2, x - 1),
        of(6, 4),
        labels(6),
    ),
    # Tensors that are empty, or scalars; other element types.
    "empty": (lambda x: torch.cat([x, x[:0]]).sum(0) + x[:, :0].sum(), of(3, 4)),
    "no rows": (lambda x: (x @ torch.ones(4, 2)).softmax(0), of(0, 4)),
    "scalars": (
        lambda x: torch.stack([x.sort()[0], x.cumsum(0), x.topk(1)[0], x.transpose(0, 0)]),
        of(),
    ),
    "small whole numbers": (
        lambda x: (x * 3 + x // 2, x.sum(), x << 1, x.float().mean()),
        torch.tensor([100, -7, 3], dtype=torch.int8),
    ),
    "half precision": (
        lambda x: F.layer_norm(x, (8,)).softmax(-1),
        torch.randn(3, 8, dtype=torch.float16, requires_grad=True),
    ),
}


def run(function: Any, inputs: list[Any]) -> list[Any]:
    made = function(*inputs)
    made = list(made) if isinstance(made, tuple) else [made]
    leaves = [x for x in inputs if x.requires_grad]
    floats = [m for m in made if m.requires_grad]
    grads = torch.autograd.grad([(m**2).mean() for m in floats], leaves) if floats else ()
    return [m.detach() for m in made] + list(grads)


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function(name: str) -> None:
    function, *inputs = FUNCTIONS[name]
    found = run(torch.compile(function, backend="pyhlo"), inputs)
    wanted = run(function, inputs)
    close = (
        {"rtol": 1e-2, "atol": 1e-2} if name == "half precision" else {"rtol": 2e-3, "atol": 1e-4}
    )
    torch.testing.assert_close(found, wanted, **close, equal_nan=True)
    assert "in torch" not in report(), report()
