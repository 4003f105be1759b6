"""Single operations of ATen, in torch's own printing, and what NumPy says of them."""

import numpy as np
import pytest
from recorded_graphs import arguments

from hlo.errors.error import HloError
from hlo_torch.graph import read
from hlo_torch.lowering import lower
from hlo_torch.operations.table import Unsupported
from interpreter import evaluate


def graph(inputs: str, *lines: str, result: str = "y") -> str:
    body = "".join(f"    {line.replace('aten.', 'torch.ops.aten.')}\n" for line in lines)
    return f"def forward(self, {inputs}):\n{body}    return ({result},)\n"


def value(text: str, *given: np.ndarray) -> np.ndarray:
    return evaluate(lower(read(text)), *(given or arguments(text)))[0]


X = 'x: "f32[2, 3]"'
x, *_ = arguments(graph(X, result="x"))
# fmt: off
CASES = {
    "a float beside whole numbers": (
        'x: "i64[3]"', 'y: "f32[3]" = aten.add.Tensor(x, 0.5)',
        [np.array([1, 2, 3])], [1.5, 2.5, 3.5]),
    "alpha": (X, 'y: "f32[2, 3]" = aten.sub.Tensor(x, 1, alpha = 2)', [x], x - 2),
    "a quotient rounded down": (
        'x: "i64[4]"', "y: \"i64[4]\" = aten.div.Tensor_mode(x, 3, rounding_mode = 'floor')",
        [np.array([-4, -3, 4, 5])], [-2, -1, 1, 1]),
    "a rest with the sign of the divisor": (
        'x: "i64[4]"', 'y: "i64[4]" = aten.remainder.Scalar(x, -3)',
        [np.array([-4, -3, 4, 5])], [-1, 0, -2, -1]),
    "a slice from behind": (
        X, 'y: "f32[2, 2]" = aten.slice.Tensor(x, 1, -2, 9223372036854775807)', [x], x[:, -2:]),
    "a mean that keeps its dimension": (
        X, 'y: "f32[2, 1]" = aten.mean.dim(x, [-1], True)', [x], x.mean(-1, keepdims=True)),
    "NaN is the greatest": (
        'x: "f32[3]"', 'y: "i64[]" = aten.argmax.default(x)',
        [np.array([1, np.nan, 3], np.float32)], 1),
    "of equal ones, the first": (
        'x: "f32[3]"', 'y: "i64[]" = aten.argmax.default(x)', [np.array([2, 3, 3], np.float32)], 1),
    "running sums": (X, 'y: "f32[2, 3]" = aten.cumsum.default(x, 1)', [x], x.cumsum(1)),
    "places beside each other": (
        'x: "f32[2, 3]", i: "i64[2]", j: "i64[2]"',
        'y: "f32[2]" = aten.index.Tensor(x, [i, j])',
        [x, np.array([0, 1]), np.array([-1, 0])], x[[0, 1], [-1, 0]]),
    "places of the last dimension": (
        'x: "f32[2, 3, 4]", i: "i64[5]"',
        'y: "f32[2, 3, 5]" = aten.index.Tensor(x, [None, None, i])',
        [np.arange(24, dtype=np.float32).reshape(2, 3, 4), np.array([0, 3, 3, 1, 2])],
        np.arange(24).reshape(2, 3, 4)[:, :, [0, 3, 3, 1, 2]]),
    "added where places are the same": (
        'x: "f32[3]", i: "i64[4]", v: "f32[4]"',
        'y: "f32[3]" = aten.index_put.default(x, [i], v, True)',
        [np.zeros(3, np.float32), np.array([0, 2, 2, 0]), np.ones(4, np.float32)], [2, 0, 2]),
    "means of windows at a border that count no padding": (
        'x: "f32[1, 1, 3, 3]"',
        'y: "f32[1, 1, 2, 2]" = aten.avg_pool2d.default(x, [2, 2], [2, 2], [1, 1], False, False)',
        [np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)], [[[[0, 1.5], [4.5, 6]]]]),
    "a transpose with more elements behind than its stride": (
        'x: "f32[1, 1, 2]", w: "f32[1, 1, 2]"',
        'y: "f32[1, 1, 7]" = aten.convolution.default(x, w, None, [1], [0], [3], True, [2], 1)',
        [np.array([[[1, 2]]], np.float32), np.array([[[3, 4]]], np.float32)],
        [[[3, 6, 0, 4, 8, 0, 0]]]),
    "a conjugate": (
        'x: "c64[2]"', 'y: "c64[2]" = aten._conj.default(x)',
        [np.array([1 + 2j, -3j], np.complex64)], [1 - 2j, 3j]),
    "an inverse transform that is not divided": (
        'x: "c64[4]"', 'y: "c64[4]" = aten._fft_c2c.default(x, [0], 0, False)',
        [np.array([1, 2j, 3, 4], np.complex64)], np.fft.ifft([1, 2j, 3, 4]) * 4),
    "solutions by factors": (
        'a: "f32[2, 2]", p: "i32[2]", b: "f32[2, 1]"',
        'y: "f32[2, 1]" = aten.linalg_lu_solve.default(a, p, b)',
        # The rows of ((1, 1), (4, 2)) are exchanged: (4, 2) and a quarter of that plus (0, 0.5).
        [np.array([[4, 2], [0.25, 0.5]], np.float32), np.array([2, 2], np.int32),
         np.array([[3], [8]], np.float32)], [[1], [2]]),
    "places in a sorted array": (
        'x: "f32[4]", v: "f32[3]"', 'y: "i64[3]" = aten.searchsorted.Tensor(x, v, right = True)',
        [np.array([1, 2, 2, 5], np.float32), np.array([2, 0, np.nan], np.float32)], [3, 0, 4]),
    "the middle of numbers and NaN": (
        'x: "f32[4]"', 'y: "f32[]" = aten.nanmedian.default(x)',
        [np.array([3, np.nan, 1, 2], np.float32)], 2),
    "means that leave out what was there": (
        'x: "f32[3]", i: "i64[3]", v: "f32[3]"',
        "y: \"f32[3]\" = aten.scatter_reduce.two(x, 0, i, v, 'mean', include_self = False)",
        [np.full(3, 9, np.float32), np.array([0, 2, 0]), np.array([1, 2, 4], np.float32)],
        [2.5, 9, 2]),
    "an image that grows": (
        'x: "f32[1, 1, 1, 2]"',
        'y: "f32[1, 1, 1, 4]" = aten.upsample_bilinear2d.default(x, [1, 4], False)',
        [np.array([[[[0, 4]]]], np.float32)], [[[[0, 1, 3, 4]]]]),
    "windows of different sizes": (
        'x: "f32[1, 1, 5]"', 'y: "f32[1, 1, 2]" = aten._adaptive_avg_pool2d.default(x, [1, 2])',
        [np.array([[[0, 1, 2, 3, 4]]], np.float32)], [[[1, 3]]]),
    "a sample between two elements": (
        'x: "f32[1, 1, 1, 2]", g: "f32[1, 1, 1, 2]"',
        'y: "f32[1, 1, 1, 1]" = aten.grid_sampler_2d.default(x, g, 0, 1, True)',
        [np.array([[[[2, 4]]]], np.float32), np.array([[[[0.5, 0]]]], np.float32)], [[[[3.5]]]]),
    "the bag of a place": (
        'w: "f32[4, 1]", i: "i64[3]", o: "i64[2]"',
        "b = aten._embedding_bag.default(w, i, o, False, 1)",
        [np.array([[1], [2], [3], [4]], np.float32), np.array([0, 1, 3]), np.array([0, 1])],
        [[1], [3]]),
}
# fmt: on


@pytest.mark.parametrize("name", CASES)
def test_an_operation(name: str) -> None:
    inputs, line, given, expected = CASES[name]
    if line.startswith("b ="):  # several results
        text = graph(inputs, line, 'y: "f32[2, 1]" = b[0]')
    else:
        text = graph(inputs, line)
    np.testing.assert_allclose(value(text, *given), expected, rtol=1e-6)


def test_what_torch_prints_is_read() -> None:
    text = """
class GraphModule(torch.nn.Module):
    def forward(self, primals_1: "f32[2, 3]"):
        # No stacktrace found for following nodes
        full: "f32[2, 3]" = torch.ops.aten.full.default([2, 3], -inf, dtype = torch.float32, device = device(type='cpu'))
        add: "f32[2, 3]" = torch.ops.aten.maximum.default(primals_1, full);  primals_1 = full = None
        return (add, None)
"""  # noqa: E501 - as torch prints it
    read_back = read(text)
    assert [o.target for o in read_back.operations] == ["aten.full.default", "aten.maximum.default"]
    assert read_back.operations[0].args == ([2, 3], -np.inf)
    assert read_back.outputs[1] is None


def test_another_text_is_refused() -> None:
    with pytest.raises(HloError, match=r"HLO001.*no graph of ATen operations"):
        read("ENTRY e { x = f32[] parameter(0) }")


def test_an_operation_without_a_rule_is_named() -> None:
    text = graph(X, 'y: "f32[2, 3]" = aten.nosuch.default(x)')
    with pytest.raises(Unsupported, match=r"aten\.nosuch\.default: hlo_torch has no rule for it"):
        lower(read(text))


def test_a_result_of_other_dimensions_is_refused() -> None:
    """A rule that knows too little of an operation's forms must not give another array."""
    text = graph(X, 'y: "f32[2, 3]" = aten.permute.default(x, [1, 0])')
    with pytest.raises(Unsupported, match=r"permute\.default: the result is f32\[3,2\]"):
        lower(read(text))
