"""Every rule of the derivative against finite differences, and its transpose against itself.

An instruction is a function f of its operands. Along a direction t, f changes by J t: that is
compared with (f(x + h t) - f(x - h t)) / 2h, in f64. Where f has a kink, the differences to both
sides disagree, and nothing is compared. A transpose is right if <c, J t> = <J^T c, t>.
"""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hlo.errors.error import HloError
from hlo.opcode import OPCODES, having
from hlo.types.element_type import C128, F64
from hlo.verify import verify
from hlo_tools.generate.instances import Instance
from hlo_tools.generate.operands import UnfitError, operands_for
from hlo_tools.generate.random_shapes import random_shape
from hlo_tools.generate.values import tame
from interpreter import evaluate
from optimizer import parse_pipeline
from optimizer.derivative import differentiates
from optimizer.derivative.table import nothing
from optimizer.derivative.unfolded import UNFOLDINGS
from optimizer.rewriting.application import Application, Rest

TYPES = F64, F64, F64, C128
# Steps of 1e-6 are below what a smaller format can tell apart; the tangent is rounded as the value.
ROUNDED = {"reduce-precision"}
TRIED = sorted(
    opcode
    for opcode in OPCODES
    if opcode in operands_for
    and opcode not in ROUNDED | having("collective")
    and (opcode in UNFOLDINGS or differentiates.get(opcode) not in (None, nothing))
)
STEP = 1e-6


def leaves(value):
    """The real and complex arrays of a value."""
    if isinstance(value, tuple):
        return [leaf for element in value for leaf in leaves(element)]
    return [np.asarray(value)] if np.asarray(value).dtype.kind in "fc" else []


def instance(opcode, random):
    """A module of one instruction, with arguments."""
    for _ in range(50):
        shape = random_shape(random, TYPES)
        try:
            built = Instance(random, types=TYPES, values=tame).build(
                Application((opcode,), (Rest("xs"),)), shape
            )
            verify(built)
        except (UnfitError, HloError):
            continue
        given = [tame(p.shape, random) for p in built.entry.parameters]
        if leaves(tuple(given)) and leaves(evaluate(built, *given)):
            return built, given
    return None


def derivative(module, mode):
    """The derivative; None for an instruction that is refused."""
    try:
        return parse_pipeline(f"derivative{{mode={mode}}}").run(module)
    except HloError as error:
        if error.code != "HLO155":
            raise
        return None


def directions(arrays, random):
    return [tame_like(x, random) for x in arrays]


def tame_like(x, random):
    made = np.vectorize(lambda _: random.uniform(-1, 1), otypes=[float])(x.real)
    return made if x.dtype.kind == "f" else made + 0.5j * np.cos(made)


def moved(given, direction, step):
    """Arguments a step further in a direction."""
    rest = iter(direction)

    def further(x):
        if isinstance(x, tuple):
            return tuple(map(further, x))
        return x + step * next(rest) if np.asarray(x).dtype.kind in "fc" else x

    return [further(x) for x in given]


def product(xs, ys):
    return sum(float(np.sum(x * y).real) for x, y in zip(xs, ys, strict=True))


@pytest.mark.parametrize("opcode", TRIED)
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_rule(opcode, seed):
    random = Random(seed)
    made = instance(opcode, random)
    if made is None:
        return
    module, given = made
    direction = directions(leaves(tuple(given)), random)
    forward, back = derivative(module, "forward"), derivative(module, "vjp")
    if forward is None or back is None:
        return
    verify(forward)
    verify(back)
    value, *changes = evaluate(forward, *given, *direction)
    here = leaves(evaluate(module, *given))
    after, before = (
        leaves(evaluate(module, *moved(given, direction, step))) for step in (STEP, -STEP)
    )
    # An empty result does not show a number outside of the domain, as a negative variance.
    if not all(x.size and np.isfinite(x).all() for x in (*here, *changes)):
        return
    for x, y in zip(leaves(value), here, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)
    is_smooth = True
    for x, y, z, change in zip(before, here, after, changes, strict=True):
        right, left = (z - y) / STEP, (y - x) / STEP
        is_smooth &= np.allclose(right, left, rtol=1e-2, atol=1e-2)
        if is_smooth:
            scale = max(1.0, np.max(np.abs(change), initial=0), np.max(np.abs(y), initial=0))
            np.testing.assert_allclose(change, (z - x) / (2 * STEP), rtol=1e-5, atol=1e-6 * scale)
    cotangents = directions(changes, random)
    _, *gradients = evaluate(back, *given, *cotangents)
    want, got = product(cotangents, changes), product(gradients, direction)
    assert got == pytest.approx(want, rel=1e-9, abs=1e-9)


def test_most_opcodes_are_tried():
    assert len(TRIED) > 60
