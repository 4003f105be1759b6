"""A layer of an LSTM beside a loop in NumPy, and its gradient beside differences of it."""

import numpy as np
import pytest

from hlo_torch.graph import read
from hlo_torch.lowering import lower
from interpreter import evaluate

GIVEN = {
    "x": (3, 2, 4), "w": (20, 4), "u": (20, 5), "b": (20,), "d": (20,), "h": (1, 2, 5),
    "c": (1, 2, 5),
}  # fmt: skip
STATES = {"outputs": (3, 2, 5), "last_h": (1, 2, 5), "last_c": (1, 2, 5)}


def layer(given: list[np.ndarray], *, backwards: bool) -> list[np.ndarray]:
    x, w, u, b, d, (h,), (c,) = given
    outputs = np.zeros((3, 2, 5))
    for time in (2, 1, 0) if backwards else (0, 1, 2):
        i, f, g, o = np.split(x[time] @ w.T + h @ u.T + b + d, 4, axis=1)
        c = c / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
        outputs[time] = h = np.tanh(c) / (1 + np.exp(-o))
    return [outputs, h[None], c[None]]


def compiled(names: dict[str, tuple[int, ...]], call: str, *given: np.ndarray) -> list[np.ndarray]:
    """The results of a call of ATen, but for the last one."""
    taken = ", ".join(f'{name}: "f64{list(dims)}"' for name, dims in names.items())
    count = len(GIVEN) if "backward" in call else len(STATES)
    lines = [f"all = torch.ops.aten.{call}"]
    lines += [f"y{k} = all[{k}]" for k in range(count)]
    results = ", ".join(f"y{k}" for k in range(count))
    body = "".join(f"    {line}\n" for line in lines)
    return list(evaluate(lower(read(f"def f({taken}):\n{body}    return ({results},)\n")), *given))


@pytest.mark.parametrize("backwards", [False, True])
def test_a_layer_and_its_gradient(backwards: bool) -> None:
    random = np.random.default_rng(0)
    given, wanted, ways = (
        [random.normal(size=dims) for dims in shapes.values()] for shapes in (GIVEN, STATES, GIVEN)
    )
    options = "2, 5, 1, True, False"
    call = f"mkldnn_rnn_layer.default({', '.join(GIVEN)}, {backwards}, [], {options}, False, True)"
    results = layer(given, backwards=backwards)
    for found, right in zip(compiled(GIVEN, call, *given), results, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-12)
    taken = {**GIVEN, **STATES, **{f"to_{name}": dims for name, dims in STATES.items()}}
    call = (
        f"mkldnn_rnn_layer_backward.default({', '.join(taken)}, {backwards}, 2, 5, 1, True, True, "
        "False, [], False, x)"
    )
    gradients = compiled(taken, call, *given, *results, *wanted)
    for k, (gradient, way) in enumerate(zip(gradients, ways, strict=True)):
        after, before = (
            layer([*given[:k], given[k] + step * way, *given[k + 1 :]], backwards=backwards)
            for step in (1e-6, -1e-6)
        )
        change = sum(
            np.vdot(to, a - b) / 2e-6 for to, a, b in zip(wanted, after, before, strict=True)
        )
        assert np.vdot(gradient, way) == pytest.approx(change, rel=1e-6)
