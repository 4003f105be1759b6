"""Windows along dimensions of run-time size: how TensorFlow writes convolutions and pools there."""

import numpy as np
import pytest

import hlo
import interpreter

CONVOLVED = """HloModule m
ENTRY main {{
  x = f32[1,<=7,2] parameter(0)
  k = f32[3,2,4] parameter(1)
  g = f32[1,<={places},4] parameter(2)
  n = s32[3] parameter(3)
  y = f32[1,<={places},4] custom-call(x, k), window={{size=3{forward}}}, dim_labels=b0f_0io->b0f,
    padding_type={padding}, custom_call_target="DynamicConvolutionForward",
    api_version=API_VERSION_UNSPECIFIED
  flipped = f32[3,2,4] reverse(k), dimensions={{0}}
  into_x = f32[1,<=7,2] custom-call(n, g, flipped), window={{size=3{dilated}}},
    dim_labels=b0f_0oi->b0f, padding_type={padding},
    custom_call_target="DynamicConvolutionInputGrad", api_version=API_VERSION_UNSPECIFIED
  into_k = f32[3,2,4] custom-call(x, g), window={{size={places}{spaced}}},
    dim_labels=f0b_i0o->0bf, padding_type={padding},
    custom_call_target="DynamicConvolutionKernelGrad", api_version=API_VERSION_UNSPECIFIED
  ROOT r = (f32[1,<={places},4], f32[1,<=7,2], f32[3,2,4]) tuple(y, into_x, into_k)
}}"""


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("size", [3, 4, 5, 6, 7])
def test_a_convolution_and_its_gradients_have_one_inner_product(size, same, stride) -> None:
    """Where y = A x, the gradient is the transpose of A, so that <A x, g> = <x, A' g>."""
    count = -(-7 // stride) if same else (7 - 3) // stride + 1
    text = CONVOLVED.format(
        places=count,
        padding="PADDING_SAME" if same else "PADDING_VALID",
        forward=f" stride={stride}",
        dilated=f" pad=2_2 lhs_dilate={stride}",
        spaced=f" rhs_dilate={stride}",
    )
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


POOLED = """HloModule m
max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] maximum(a, b) }
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
ge { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = pred[] compare(a, b), direction=GE }
ENTRY main {
  x = f32[<=7] parameter(0)
  low = f32[] constant(-inf)
  y = f32[<=4] custom-call(x, low), window={size=3 stride=2 pad=1_1},
    custom_call_target="DynamicReduceWindowSamePadding", called_computations={max}
  zero = f32[] constant(0)
  into_x = f32[<=7] custom-call(x, y, zero), window={size=3 stride=2 pad=1_1},
    custom_call_target="DynamicSelectAndScatterSamePadding", called_computations={ge, add}
  ROOT r = (f32[<=4], f32[<=7]) tuple(y, into_x)
}"""


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
