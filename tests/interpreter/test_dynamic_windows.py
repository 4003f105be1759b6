"""Windows along dimensions of run-time size: how TensorFlow writes convolutions and pools there."""

import numpy as np
import pytest
from dynamic_windows import POOLED, convolved

import hlo
import interpreter


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("size", [3, 4, 5, 6, 7])
def test_a_convolution_and_its_gradients_have_one_inner_product(size, same, stride) -> None:
    """Where y = A x, the gradient is the transpose of A, so that <A x, g> = <x, A' g>."""
    text = convolved(stride, same=same)
    places = -(-size // stride) if same else (size - 3) // stride + 1
    rng = np.random.default_rng(size)
    x, k, g = (
        rng.integers(-9, 9, dims).astype(np.float32)
        for dims in ((1, size, 2), (3, 2, 4), (1, places, 4))
    )
    n = np.array(x.shape, np.int32)
    y, into_x, into_k = interpreter.evaluate(hlo.parse(text), x, k, g, n)
    total = max(0, (places - 1) * stride + 3 - size) if same else 0
    around = np.pad(x[0], [(total // 2, total - total // 2), (0, 0)])
    windows = [around[i * stride : i * stride + 3] for i in range(places)]
    np.testing.assert_array_equal(y[0], np.einsum("pki,kio->po", windows, k))
    assert into_x.shape == x.shape
    assert (x * into_x).sum() == (y * g).sum() == (k * into_k).sum()


@pytest.mark.parametrize(
    ("x", "largest", "back"),
    [
        ([5, 1, 2, 9, 4], [5, 9, 9], [5, 0, 0, 18, 0]),
        ([5, 1, 2, 9], [5, 9], [5, 0, 0, 9]),
        ([3], [3], [3]),
    ],
)
def test_a_pool_is_padded_for_the_actual_size(x, largest, back) -> None:
    found = interpreter.evaluate(hlo.parse(POOLED), np.array(x, np.float32))
    assert found[0].tolist() == largest
    assert found[1].tolist() == back
