"""Modules that a compiler has laid out: what a bitcast reads depends on its operand's layout."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import emit_c
import hlo
import interpreter
import optimizer
from optimizer import Log, parse_pipeline

SHAPES = [(2, 3), (3, 2), (6,), (1, 6), (2, 1, 3), (3, 2, 1)]


def shape(dims: tuple[int, ...], order: tuple[int, ...]) -> str:
    """An array of six numbers in a layout, as text."""
    return f"f32[{','.join(map(str, dims))}]{{{','.join(map(str, order))}}}"


@st.composite
def laid_out(draw: st.DrawFn) -> str:
    """A module of copies, transposes, bitcasts, fused ones too, and sines, each in any layout."""
    lines, fused = ["x = f32[2,3]{1,0} parameter(0)"], list[str]()
    there = [("x", (2, 3), (1, 0))]
    kinds = ["copy", "transpose", "bitcast", "sine", "reshape", "fusion"]
    for number in range(draw(st.integers(2, 10))):
        operand, dims, order = draw(st.sampled_from(there))
        source, more = shape(dims, order), ""
        kind = draw(st.sampled_from(kinds))
        if kind in ("bitcast", "reshape", "fusion"):
            dims = draw(st.sampled_from(SHAPES))
        if kind == "transpose":
            turned = draw(st.permutations(range(len(dims))))
            dims = tuple(dims[d] for d in turned)
            more = f", dimensions={{{','.join(map(str, turned))}}}"
        order = tuple(draw(st.permutations(range(len(dims)))))
        if kind == "fusion":
            more = f", kind=kLoop, calls=fused{number}"
            parameter = f"p = {source} parameter(0)"
            root = f"ROOT b = {shape(dims, order)} bitcast(p)"
            fused += [f"fused{number} {{", parameter, root, "}"]
        lines.append(f"v{number} = {shape(dims, order)} {kind}({operand}){more}")
        there.append((f"v{number}", dims, order))
    names = ", ".join(name for name, *_ in there[1:])
    shapes = ", ".join(shape(dims, order) for _, dims, order in there[1:])
    root = f"ROOT t = ({shapes}) tuple({names})"
    return "\n".join(["HloModule m", *fused, "ENTRY e {", *lines, root, "}"])


def expect_same(text: str, passes: Any) -> None:
    """Fail if passes change a value."""
    module = hlo.parse(text)
    note(text)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    made = passes(module)
    note(str(made))
    before, after = interpreter.evaluate(module, x), interpreter.evaluate(made, x)
    for number, (one, other) in enumerate(zip(before, after, strict=True)):
        assert np.array_equal(one, other), f"v{number}"


@given(laid_out(), st.sampled_from(["cpu", "gpu"]))
def test_pipelines_keep_what_bitcasts_read(text: str, target: Any) -> None:
    expect_same(text, lambda module: optimizer.optimize(module, target=target))


@given(
    laid_out(),
    st.sampled_from(
        [
            *("cse", "algebraic-simplifier", "multi-output-fusion", "fusion", "reshape-mover"),
            *("bitcast-expander", "layout-assignment", "layout-normalization", "dce"),
            *("reshape-decomposer", "transpose-folding", "priority-fusion", "constant_folding"),
            "move-copy-to-users",
        ]
    ),
)
def test_passes_keep_what_bitcasts_read(text: str, name: str) -> None:
    expect_same(text, lambda module: parse_pipeline(name).run(module, Log()))


def test_equal_values_in_two_layouts_are_two_to_a_bitcast() -> None:
    text = """ENTRY e {
      x = f32[2,3]{1,0} parameter(0)
      t = f32[3,2]{1,0} transpose(x), dimensions={1,0}
      u = f32[3,2]{0,1} transpose(x), dimensions={1,0}
      bt = f32[6]{0} bitcast(t)
      bu = f32[6]{0} bitcast(u)
      ROOT r = (f32[6]{0}, f32[6]{0}) tuple(bt, bu)
    }"""
    module = hlo.parse(text)
    assert parse_pipeline("cse").run(module, Log()) is module
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    rows, columns = interpreter.evaluate(optimizer.optimize(module), x)
    assert rows.tolist() == [0, 3, 1, 4, 2, 5]
    assert columns.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("dims", SHAPES)
def test_a_bitcast_of_the_same_bytes_is_expanded(dims: tuple[int, ...]) -> None:
    assert prod(dims) == 6
    order = tuple(range(len(dims)))
    text = f"""ENTRY e {{
      x = f32[2,3]{{0,1}} parameter(0)
      ROOT b = {shape(dims, order)} bitcast(x)
    }}"""
    module = hlo.parse(text)
    made = parse_pipeline("bitcast-expander").run(module, Log())
    assert "bitcast" not in made.entry.opcodes
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(interpreter.evaluate(made, x), interpreter.evaluate(module, x))
    assert made.entry.root.shape == module.entry.root.shape


def test_a_kernel_finds_the_elements_that_a_bitcast_moves() -> None:
    """Sums that lie by columns, read by rows, in a kernel with two results."""
    text = """
    sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
    fused {
      p = f32[3,4,4]{2,1,0} parameter(0)
      zero = f32[] constant(0)
      r = f32[4,4]{0,1} reduce(p, zero), dimensions={0}, to_apply=sum
      b = f32[4,4]{1,0} bitcast(r)
      d = f32[4,4]{1,0} add(b, b)
      n = f32[4,4]{1,0} negate(b)
      ROOT t = (f32[4,4]{1,0}, f32[4,4]{1,0}) tuple(d, n)
    }
    ENTRY e {
      x = f32[3,4,4]{2,1,0} parameter(0)
      ROOT f = (f32[4,4]{1,0}, f32[4,4]{1,0}) fusion(x), kind=kLoop, calls=fused
    }"""
    module = hlo.parse(text)
    x = np.arange(48, dtype=np.float32).reshape(3, 4, 4)
    for optimize in (False, True):
        doubled, negated = emit_c.compile(module, optimize=optimize)(x)
        np.testing.assert_array_equal(doubled, 2 * x.sum(0).T)
        np.testing.assert_array_equal(negated, -x.sum(0).T)
