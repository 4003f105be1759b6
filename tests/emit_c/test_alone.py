"""Collectives of a device that is alone, as C: what the interpreter gives for one device."""

from itertools import product

import numpy as np
import pytest
from strategies.compiled import check, entry

import emit_c
import hlo
from interpreter.numbers.compare import Promise

ADD = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }"
X = "x = f32[4,3] parameter(0)\ny = f32[2] parameter(1)\n"


@pytest.mark.parametrize(
    "lines",
    [
        "ROOT r = (f32[4,3], f32[2]) all-reduce(x, y), to_apply=add",
        "ROOT r = f32[4,3] reduce-scatter(x), dimensions={0}, to_apply=add, replica_groups={{0}}",
        (
            "s = (f32[4,3], f32[4,3]) all-gather-start(x), dimensions={0}\n"
            "ROOT r = f32[4,3] all-gather-done(s)"
        ),
        (
            "s = ((f32[4,3], f32[2]), (f32[4,3], f32[2])) all-gather-start(x, y), dimensions={0}\n"
            "ROOT r = (f32[4,3], f32[2]) all-gather-done(s)"
        ),
        "ROOT r = (f32[4,3]) all-to-all(x), replica_groups={{0}}",
        "ROOT r = f32[4,3] collective-broadcast(x), replica_groups={{0}}",
        "ROOT r = f32[4,3] collective-broadcast(x), replica_groups={}",
        (
            "s = (f32[4,3], f32[4,3], u32[], u32[]) collective-permute-start(x), "
            "source_target_pairs={{0,0}}\nROOT r = f32[4,3] collective-permute-done(s)"
        ),
        "ROOT r = f32[4,3] collective-permute(x), source_target_pairs={{0,1},{1,0}}",
        "p = u32[] partition-id()\nq = u32[] replica-id()\nROOT r = u32[] add(p, q)",
    ],
)
def test_a_lone_device_keeps_what_it_brings(lines):
    check(entry(X + lines, ADD))


def test_rows_go_where_they_are_sent():
    check(
        entry("""x = f32[4,3] parameter(0)
y = f32[6,3] parameter(1)
s = s64[2] constant({1, 3})
n = s64[2] constant({2, 1})
t = s64[2] constant({4, 0})
ROOT r = f32[6,3] ragged-all-to-all(x, y, s, n, t, n), replica_groups={{0}}""")
    )


def test_rows_that_do_not_exist_are_not_sent():
    """However many there are: numbers that the run brings may be anything."""
    module = hlo.parse(entry("""x = f32[3] parameter(0)
y = f32[4] parameter(1)
s = s64[1] parameter(2)
n = s64[1] parameter(3)
t = s64[1] parameter(4)
ROOT r = f32[4] ragged-all-to-all(x, y, s, n, t, n), replica_groups={{0}}"""))  # fmt: skip
    run = emit_c.compile(module)
    x, y = np.float32([1, 2, 3]), np.float32([7, 7, 7, 7])
    largest, smallest = 2**63 - 1, -(2**63)
    wild = [smallest, smallest + 1, -3, -2, -1, 0, 1, 2, 3, 4, 5, largest - 1, largest]
    for start, count, target in product(wild, repeat=3):
        first, end = max(0, -start, -target), min(count, 3 - start, 4 - target)
        want = y.copy()
        for r in range(first, end):
            want[target + r] = x[start + r]
        got = run(x, y, *(np.int64([n]) for n in (start, count, target)))
        assert got.tolist() == want.tolist(), (start, count, target)


def test_a_bitcast_behind_a_collective_sees_its_layout():
    check(
        entry("""x = f32[2,3] parameter(0)
g = f32[2,3]{0,1} all-gather(x), dimensions={0}
ROOT b = f32[3,2] bitcast(g)""")
    )


def test_a_started_computation_runs_where_it_is_waited_for():
    before = "twice { a = f32[3] parameter(0)  ROOT t = f32[3] add(a, a) }"
    check(entry("""x = f32[3] parameter(0)
s = ((f32[3]), f32[3], u32[]) async-start(x), calls=twice
u = ((f32[3]), f32[3], u32[]) async-update(s)
n = f32[3] negate(x)
d = f32[3] async-done(u)
ROOT r = f32[3] multiply(n, d)""", before))  # fmt: skip


@pytest.mark.parametrize("optimize", [False, True])
def test_random_numbers_begin_anew_with_every_run(optimize):
    text = entry("""a = f32[] constant(1)
b = f32[] constant(5)
u = f32[7] rng(a, b), distribution=rng_uniform
s = u64[2] rng-get-and-update-state(), delta=-3
n = f64[3] rng(c, d), distribution=rng_normal
i = s8[9] rng(e, f), distribution=rng_uniform
z = f32[0] rng(a, b), distribution=rng_normal
ROOT r = (f32[7], f64[3], s8[9], u64[2], f32[0]) tuple(u, n, i, s, z)""".replace(
        "u = ", "c = f64[] constant(-1)\nd = f64[] constant(2)\n"
                "e = s8[] constant(-5)\nf = s8[] constant(100)\nu = "))  # fmt: skip
    # The normal numbers are made of sines, of which libraries differ in the last digit.
    executable = check(text, Promise(atol=4e-15), optimize=optimize)
    assert (executable()[0] == executable()[0]).all()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            "ROOT r = f32[4,3] all-gather(x), dimensions={0}, replica_groups={{0,1}}",
            "a group names number 1, and there are only 1",
        ),
        ("ROOT r = f32[4,3] all-gather(x), dimensions={0}", "groups of 1 make"),
        (
            """s = (f32[2,3], f32[4,3]) all-gather-start(x), dimensions={0}
        ROOT r = f32[4,3] all-gather-done(s)""",
            "groups of 1 make",
        ),
    ],
)
def test_a_device_that_is_alone_misses_the_others(lines, message):
    """The module can be compiled; only a call knows that there are no others."""
    text = f"HloModule m\nENTRY e {{\n  x = f32[2,3] parameter(0)\n  {lines}\n}}"
    called = emit_c.compile(hlo.parse(text), optimize=False)
    with pytest.raises(hlo.HloError, match=message) as caught:
        called(np.zeros((2, 3), np.float32))
    assert caught.value.code == "HLO119"
    assert caught.value.span is not None
