"""Reshapes and transposes that are moved past others: in one walk, however many there are."""

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import hlo
from interpreter import evaluate
from optimizer import Log, parse_pipeline


def alternating(count, random):
    """Elementwise code of a chain with reshapes and transposes, some of which others use too."""
    lines, dims = ["v0 = f32[2,3,4] parameter(0)"], (2, 3, 4)
    used = []
    for i in range(count):
        kind = random.choice(["reshape", "transpose", "negate", "add"])
        value, how = f"v{i}", ""
        if kind == "reshape":
            dims = random.choice([(2, 3, 4), (6, 4), (24,), (4, 6)])
        elif kind == "transpose":
            order = random.sample(range(len(dims)), len(dims))
            dims = tuple(dims[d] for d in order)
            how = f", dimensions={{{','.join(map(str, order))}}}"
        elif kind == "add":
            value = f"v{i}, v{i}"
        lines.append(f"v{i + 1} = f32[{','.join(map(str, dims))}] {kind}({value}){how}")
        if random.random() < 0.1:
            used.append(f"v{i + 1}")
    body = "\n".join(lines)
    return hlo.parse(
        f"HloModule m\nENTRY e {{\n{body}\nROOT t = tuple({', '.join([*used, f'v{count}'])})\n}}"
    )


@given(seed=st.integers(0, 2**32), count=st.integers(1, 30))
def test_values_stay_and_nothing_is_left(seed, count):
    before = alternating(count, Random(seed))
    run = parse_pipeline("reshape-mover")
    after = run.run(before)
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    for got, want in zip(evaluate(after, x), evaluate(before, x), strict=True):
        np.testing.assert_array_equal(got, want)
    assert run.run(after) is after


def test_each_instruction_is_moved_once():
    text = "\n".join(
        f"r{i} = f32[{'6' if i % 2 else '2,3'}] reshape(v{i})\n"
        f"v{i + 1} = f32[{'6' if i % 2 else '2,3'}] negate(r{i})"
        for i in range(200)
    )
    module = hlo.parse(
        f"HloModule m\nENTRY e {{\nv0 = f32[6] parameter(0)\n{text}\nROOT r = tuple(v200)\n}}"
    )
    log = Log()
    after = parse_pipeline("reshape-mover").run(module, log)
    assert log.numbers <= 200
    assert not any(i.opcode == "reshape" for i in after.instructions())
