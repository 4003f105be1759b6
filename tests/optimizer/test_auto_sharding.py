"""Cuts of parameters that a search finds."""

from collections import Counter

import numpy as np
import pytest

import hlo
import interpreter
from hlo.write.sharding_print import print_sharding
from optimizer.log import Log
from optimizer.observers import Verify
from optimizer.partitioning.auto_sharding import AutoSharding
from optimizer.partitioning.spmd_partitioning import SpmdPartitioning

COLUMNS, ROWS = "{devices=[1,8]<=[8]}", "{devices=[8,1]<=[8]}"


def layer(tokens: int, width: int, heads: int, inner: int, x: str) -> str:
    """A transformer's layer: attention and a network of two matrices, each added to its input."""
    size = width // heads
    s, d, f = tokens, width, inner
    scores = f"f32[{heads},{s},{s}]"
    return f"""HloModule layer, num_partitions=8
add {{ a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }}
most {{ a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] maximum(a, b) }}
ENTRY e {{
  x = f32[{s},{d}] parameter(0), sharding={x}
  wq = f32[{d},{d}] parameter(1)
  wk = f32[{d},{d}] parameter(2)
  wv = f32[{d},{d}] parameter(3)
  wo = f32[{d},{d}] parameter(4)
  w1 = f32[{d},{f}] parameter(5)
  b1 = f32[{f}] parameter(6)
  w2 = f32[{f},{d}] parameter(7)
  q = f32[{s},{d}] dot(x, wq), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  k = f32[{s},{d}] dot(x, wk), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  v = f32[{s},{d}] dot(x, wv), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  qh = f32[{s},{heads},{size}] reshape(q)
  kh = f32[{s},{heads},{size}] reshape(k)
  vh = f32[{s},{heads},{size}] reshape(v)
  scores = {scores} dot(qh, kh), lhs_batch_dims={{1}}, rhs_batch_dims={{1}},
    lhs_contracting_dims={{2}}, rhs_contracting_dims={{2}}
  low = f32[] constant(-inf)
  zero = f32[] constant(0)
  most = f32[{heads},{s}] reduce(scores, low), dimensions={{2}}, to_apply=most
  most_b = {scores} broadcast(most), dimensions={{0,1}}
  less = {scores} subtract(scores, most_b)
  exp = {scores} exponential(less)
  sum = f32[{heads},{s}] reduce(exp, zero), dimensions={{2}}, to_apply=add
  sum_b = {scores} broadcast(sum), dimensions={{0,1}}
  p = {scores} divide(exp, sum_b)
  o = f32[{heads},{s},{size}] dot(p, vh), lhs_batch_dims={{0}}, rhs_batch_dims={{1}},
    lhs_contracting_dims={{2}}, rhs_contracting_dims={{0}}
  ot = f32[{s},{heads},{size}] transpose(o), dimensions={{1,0,2}}
  joined = f32[{s},{d}] reshape(ot)
  a = f32[{s},{d}] dot(joined, wo), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  r = f32[{s},{d}] add(x, a)
  h = f32[{s},{f}] dot(r, w1), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  b1_b = f32[{s},{f}] broadcast(b1), dimensions={{1}}
  hb = f32[{s},{f}] add(h, b1_b)
  t = f32[{s},{f}] tanh(hb)
  y = f32[{s},{d}] dot(t, w2), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  ROOT z = f32[{s},{d}] add(r, y), sharding={x}
}}"""


def chosen(text: str, pass_: AutoSharding) -> tuple[hlo.Module, dict[str, str]]:
    """The module, and the sharding of each parameter."""
    module = Log(observers=[Verify()]).run(pass_, hlo.parse(text))
    assert pass_.run(module, Log()) is module
    found = {
        p.name: print_sharding(p.annotations.sharding)
        for p in module.entry.parameters
        if p.annotations.sharding
    }
    return module, found


def test_megatrons_cut_of_a_layer_is_found() -> None:
    """Heads and inner columns are cut; what follows them is cut by rows: two all-reduces."""
    module, found = chosen(layer(1024, 1024, 16, 4096, "{replicated}"), AutoSharding())
    assert found == {
        "x": "{replicated}",
        "wq": COLUMNS, "wk": COLUMNS, "wv": COLUMNS, "wo": ROWS,
        "w1": COLUMNS, "b1": "{devices=[8]<=[8]}", "w2": ROWS,
    }  # fmt: skip
    made = SpmdPartitioning(entry=True).run(module, Log())
    collectives = [i.opcode for i in made.instructions() if "collective" in i.row.traits]
    assert Counter(collectives) == {"all-reduce": 2}


def test_a_small_layer_stays_whole() -> None:
    """A collective takes longer than all of it."""
    _, found = chosen(layer(8, 16, 8, 32, "{replicated}"), AutoSharding())
    assert set(found.values()) == {"{replicated}"}


@pytest.mark.slow
def test_a_mesh_of_two_axes() -> None:
    """The user cuts the batch along the first axis; the search takes the second one."""
    by_rows = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"
    _, found = chosen(layer(2048, 1024, 16, 4096, by_rows), AutoSharding(mesh=(2, 4)))
    assert found["w1"].startswith("{devices=[1,4")
    assert found["w2"].startswith("{devices=[4,1")


def test_parameters_without_room_are_cut() -> None:
    """Even of a small layer, where a device has room for a quarter; its value stays the same."""
    text = layer(8, 16, 8, 32, "{replicated}")
    room = sum(p.shape.bytes for p in hlo.parse(text).entry.parameters) // 4
    module, _ = chosen(text, AutoSharding(memory=room))
    made = SpmdPartitioning(entry=True).run(module, Log())
    assert sum(p.shape.bytes for p in made.entry.parameters) <= room
    random = np.random.default_rng(0)
    whole = [random.standard_normal(p.shape.dims, np.float32) for p in module.entry.parameters]
    want = interpreter.evaluate(hlo.parse(text), *whole)

    def part(array: np.ndarray, shape: tuple[int, ...], device: int) -> np.ndarray:
        starts = [device * m if m < n else 0 for n, m in zip(array.shape, shape, strict=True)]
        return array[tuple(slice(a, a + m) for a, m in zip(starts, shape, strict=True))]

    shapes = [p.shape.dims for p in made.entry.parameters]
    each = [[part(a, s, d) for a, s in zip(whole, shapes, strict=True)] for d in range(8)]
    for value in interpreter.evaluate(made, per_device=each):
        np.testing.assert_allclose(value, want, rtol=1e-4, atol=1e-5)
