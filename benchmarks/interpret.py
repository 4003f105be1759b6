"""The interpreter beside NumPy written by hand and beside XLA CPU, on the same inputs.

python -m benchmarks.interpret [NAME ...]

On a machine that does other work too, set OPENBLAS_NUM_THREADS=1: OpenBLAS's threads wait for each
other actively, and small products then take a hundred times as long (BERT-base 6 s instead of 1).
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

import hlo
from benchmarks import networks
from benchmarks.measure import interleaved, rounds_for, spell_seconds, table
from interpreter import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[Any]

SECONDS = 20.0  # to spend on each
HEAD = ("", "XLA CPU", "NumPy", "interpreter", "to XLA", "to NumPy")


class Case(NamedTuple):
    """A function in JAX with its arguments, and the same in NumPy where it is short."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    by_hand: Callable[..., Any] | None = None


def numpy_softmax(x: Array) -> Array:
    """Of the last dimension."""
    exponentials = np.exp(x - x.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def numpy_layer_norm(x: Array, scale: Array, bias: Array) -> Array:
    """Over the last dimension."""
    centred = x - x.mean(-1, keepdims=True)
    variance = np.square(centred).mean(-1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * scale + bias


def numpy_attention(q: Array, k: Array, v: Array) -> Array:
    """q, k, v: (batch, length, heads, size of a head)."""
    q, k, v = (np.moveaxis(x, 1, 2) for x in (q, k, v))
    scores = q @ np.swapaxes(k, -1, -2) / np.float32(np.sqrt(q.shape[-1]))
    return np.moveaxis(numpy_softmax(scores) @ v, 2, 1)


def cases() -> dict[str, Case]:
    """The measured cases."""
    generator = np.random.default_rng(0)

    def normal(*shape: int) -> Array:
        return generator.standard_normal(shape).astype(np.float32)

    heads = (2, 256, 8, 64)
    return {
        "softmax": Case(networks.softmax, (normal(1024, 1024),), numpy_softmax),
        "layer_norm": Case(
            networks.layer_norm, (normal(1024, 1024), normal(1024), normal(1024)), numpy_layer_norm
        ),
        "attention": Case(
            networks.attention, (normal(*heads), normal(*heads), normal(*heads)), numpy_attention
        ),
        "resnet_50": Case(*networks.resnet_50(224)),
        "bert_base": Case(*networks.bert_base(128)),
    }


def measure(name: str, case: Case) -> list[str]:
    """One row: medians of the seconds that one waits."""
    lowered = jax.jit(case.function).lower(*case.arguments)
    compiled = lowered.compile()
    module = hlo.parse(lowered.as_text("hlo"))
    flat = jax.tree.leaves(case.arguments)
    contenders: dict[str, Callable[[], Any]] = {
        "XLA": lambda: jax.block_until_ready(compiled(*case.arguments)),
        "ours": lambda: evaluate(module, *flat),
    }
    by_hand = case.by_hand
    if by_hand:
        contenders["NumPy"] = lambda: by_hand(*case.arguments)
    np.testing.assert_allclose(contenders["ours"](), contenders["XLA"](), rtol=1e-3, atol=1e-4)
    rounds = rounds_for(lambda: [run() for run in contenders.values()], SECONDS)
    taken = interleaved(contenders, rounds, time.perf_counter)
    ours, theirs, hand = taken["ours"], taken["XLA"], taken.get("NumPy")
    return [
        name,
        spell_seconds(theirs),
        spell_seconds(hand) if hand else "",
        spell_seconds(ours),
        f"{ours / theirs:.1f}",
        f"{ours / hand:.1f}" if hand else "",
    ]


def main() -> None:
    """Measure and print the table."""
    chosen = sys.argv[1:]
    rows = [measure(name, case) for name, case in cases().items() if not chosen or name in chosen]
    print("Seconds that one waits, medians; the last columns are multiples.\n")
    print(table(HEAD, rows))


if __name__ == "__main__":
    main()
