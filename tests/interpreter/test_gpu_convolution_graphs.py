"""Convolutions of cuDNN with steps after them: by the interpreter, and as plain HLO."""

import json

import numpy as np
import pytest

import emit_c
import hlo
import interpreter
from optimizer import Log, parse_pipeline

X = np.array([[[1, -2, 3, 0, 5], [2, 1, -1, 4, 0]]], np.float32)
W = np.array([[[1, -1], [0.5, 2]], [[-1, 0], [1, 1]]], np.float32)
SUMS = np.stack([sum(np.correlate(X[0, i], W[o, i]) for i in (0, 1)) for o in (0, 1)])[None]


def module(graph: str, added: tuple[str, ...] = (), result: str = "f32[1,2,4]") -> str:
    """A module of one call; `added` are the shapes of the operands that its steps take."""
    shapes = ["f32[1,2,5]", "f32[2,2,2]", *added]
    lines = [f"  p{i} = {s} parameter({i})" for i, s in enumerate(shapes)]
    names = ", ".join(f"p{i}" for i in range(len(shapes)))
    config = json.dumps({"cudnn_conv_backend_config": {"serialized_graph": graph}})
    call = f'custom-call({names}), custom_call_target="__cudnn$convForwardGraph"'
    rest = f"window={{size=2}}, dim_labels=bf0_oi0->bf0, backend_config={config}"
    root = f"  ROOT c = ({result}, u8[0]) {call}, {rest}"
    return "\n".join(["ENTRY e {", *lines, root, "}"])


def run(text: str, *arguments: np.ndarray) -> list[np.ndarray]:
    """The results of a module, which are the same as plain HLO and in C."""
    parsed = hlo.parse(text)
    hlo.verify(parsed)
    results = interpreter.evaluate(parsed, *arguments)
    plain = parse_pipeline("custom-call-expander").run(parsed, Log())
    assert "custom-call" not in plain.entry.opcodes
    for others in (interpreter.evaluate(plain, *arguments), emit_c.compile(parsed)(*arguments)):
        for one, other in zip(results, others, strict=True):
            np.testing.assert_allclose(one.astype(float), other.astype(float), 1e-6)
    return list(results)


SCALE, ARRAY = np.float32(0.25), np.linspace(-3, 4, 8, dtype=np.float32).reshape(1, 2, 4)


@pytest.mark.parametrize(
    ("steps", "added", "expected"),
    [
        ("", [], SUMS),
        ("2:[f32]relu(1);", [], np.maximum(SUMS, 0)),
        ("2:[f32]scale(1);", [SCALE], SUMS * SCALE),
        ("2:[f32]invscale(1);", [SCALE], SUMS / SCALE),
        ("2:[f32]add(1);", [ARRAY], SUMS + ARRAY),
        ("2:[f32]min(1);3:[f32]scale(2);4:[f32]max(3,1);", [ARRAY, SCALE],
         np.maximum(np.minimum(SUMS, ARRAY) * SCALE, SUMS)),
        ("2:[f32]scale(1);3:[f32]scale(1);4:[f32]add(2,3);", [SCALE, np.float32(3)], 3.25 * SUMS),
        # A step's type is less than that of the sums.
        ("2:[bf16]scale(1);3:[f32]scale(2);", [np.float32(1 / 3), SCALE],
         (SUMS / 3).astype(hlo.types.element_type.BF16.dtype).astype(np.float32) * SCALE),
    ],
)  # fmt: skip
def test_steps_follow_the_convolution(
    steps: str, added: list[np.ndarray], expected: np.ndarray
) -> None:
    shapes = tuple(f"f32[{','.join(map(str, x.shape))}]" for x in added)
    result, memory = run(module(f"1:[f32]conv();{steps}", shapes), X, W, *added)
    np.testing.assert_allclose(result, expected, 1e-6)
    assert memory.shape == (0,)


def test_a_result_of_eight_bits_is_saturated_and_its_greatest_value_is_not() -> None:
    graph = "1:[f32]conv();2:[f8e4m3fn]scale(1);3:[f32]amax(1);"
    text = module(graph, ("f32[]",), "f8e4m3fn[1,2,4], f32[]")
    result, most, _ = run(text, X, W, np.float32(1000))
    assert np.abs(result.astype(np.float32)).max() == 448
    assert most == np.abs(SUMS).max()


@pytest.mark.parametrize(
    ("graph", "added", "message"),
    [
        ("", (), "needs a serialized_graph that begins with a convolution"),
        ("1:[f32]relu(0);", (), "needs a serialized_graph that begins with a convolution"),
        ("1:[f32]conv();2:[f32]tanh(1);", (), "has the step 'tanh' in its graph"),
        ("1:[f32]conv();2:[f32]relu(1,1);", (), "has a step relu of 2 steps"),
        ("1:[f32]conv();2:[f32]relu(3);", (), "has a step relu of one that does not come before"),
        ("1:[f32]conv();2:[f32]scale(1);", (), "has a graph of 3 operands"),
        ("1:[f32]conv();2:[f32]add(1);", ("f32[2]",), "can't combine f32[2] with f32[1,2,4]"),
        ("1:[s32]conv();", (), "has steps on integers"),
    ],
)
def test_faults_are_told(graph: str, added: tuple[str, ...], message: str) -> None:
    parsed = hlo.parse(module(graph, added))
    arguments = [X, W, *(np.ones(2, np.float32) for _ in added)]
    with pytest.raises(hlo.HloError) as caught:
        interpreter.evaluate(parsed, *arguments)
    assert message in str(caught.value)
