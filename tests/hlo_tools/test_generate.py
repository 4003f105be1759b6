"""What is generated: every opcode as its row says, and values with all that may surprise."""

from random import Random

import ml_dtypes
import numpy as np
import pytest

from hlo.build import module
from hlo.errors.error import HloError
from hlo.names import NameSupply
from hlo.opcode import GIVEN, OPCODES
from hlo.types.element_type import BF16, C64, F8E5M2, F16, F32, F64, PRED, S4, S8, S64, U8
from hlo.types.shape import array, tuple_of
from hlo.verify import verify
from hlo_tools.generate.instances import Instance, arguments
from hlo_tools.generate.layouts import laid_out
from hlo_tools.generate.modules import random_module
from hlo_tools.generate.mutation import mutated
from hlo_tools.generate.operands import UnfitError, operands_for, scalar_computation
from hlo_tools.generate.random_shapes import TYPES, random_shape
from hlo_tools.generate.values import ends, exponents, nasty, scaled, tame
from hlo_tools.values.bounded import devices_of, run
from interpreter import evaluate
from optimizer.rewriting.application import Application, Rest

GENERATED = [opcode for opcode in OPCODES if opcode in operands_for]


@pytest.mark.parametrize("opcode", GENERATED)
def test_values_have_the_inferred_shape(opcode):
    made = 0
    for seed in range(400):
        random = Random(f"{opcode}/{seed}")
        shape = random_shape(random)
        if opcode == "tuple":
            shape = tuple_of(shape, random_shape(random))
        try:
            module = Instance(random).build(Application((opcode,), (Rest("xs"),)), shape)
        except UnfitError:
            continue
        verify(module)
        value = run(module, arguments(module, random))
        value = value[0] if devices_of(module) > 1 else value
        leaves = value if isinstance(value, tuple) else (value,)
        for leaf, (_, part) in zip(leaves, module.entry.root.shape.leaves(), strict=True):
            assert (leaf.dtype, leaf.shape) == (part.element_type.dtype, part.dims)
        made += 1
        if made == 10:
            return
    assert made, "no operands were found for any result"


@pytest.mark.parametrize("element_type", [F8E5M2, F16, BF16, F32, F64], ids=str)
def test_floats_hold_all_that_may_surprise(element_type):
    values = nasty(array(element_type, (500,)), Random(0)).astype(np.float64)
    info = ml_dtypes.finfo(element_type.dtype)
    assert np.isnan(values).any()
    assert {np.inf, -np.inf, float(info.max)} <= set(values)
    assert {False, True} == set(np.signbit(values[values == 0]))
    assert ((values != 0) & (np.abs(values) < float(info.tiny))).any()


@pytest.mark.parametrize("element_type", [S4, S8, S64, U8], ids=str)
def test_integers_reach_their_limits(element_type):
    values = {int(v) for v in nasty(array(element_type, (500,)), Random(0))}
    signed = element_type.kind == "signed"
    lowest = -(1 << element_type.bits - 1) if signed else 0
    assert {0, 1, lowest, lowest + (1 << element_type.bits) - 1} <= values


def test_tame_values_are_neither_large_nor_small():
    values = np.abs(tame(array(F32, (500,)), Random(0)))
    assert values.min() >= 0.25
    assert values.max() <= 4


def test_shapes_have_sizes_zero_and_one():
    dims = {d for seed in range(100) for d in random_shape(Random(seed)).dims}
    ranks = {random_shape(Random(seed)).rank for seed in range(100)}
    assert dims >= {0, 1, 2, 3}
    assert ranks == {0, 1, 2, 3}


def test_modules_are_well_formed_and_run():
    for seed in range(40):
        random = Random(seed)
        module = random_module(random)
        verify(module)
        try:
            evaluate(module, *arguments(module, random))
        except HloError as error:
            pytest.fail(f"seed {seed}: {error}")


def test_a_seed_makes_the_same_module_again():
    assert str(random_module(Random(7))) == str(random_module(Random(7)))


@pytest.mark.parametrize("direction", ["LT", "GT"])
def test_comparisons_order_no_nan_before_another(direction):
    compared = module(scalar_computation(direction, F32, NameSupply()))
    nans = np.float32(np.nan), np.float32(-np.nan)
    assert not any(evaluate(compared, x, y) for x in nans for y in nans)
    for nan in nans:
        assert evaluate(compared, nan, np.float32(np.inf)) == (direction == "GT")
    assert evaluate(compared, np.float32(-0.0), np.float32(0.0)) == (direction == "LT")


def test_random_modules_have_every_type_and_control_flow():
    made = [random_module(Random(seed)) for seed in range(80)]
    types = {i.shape.element_type for m in made for i in m.instructions()}
    opcodes = {i.opcode for m in made for i in m.instructions()}
    assert types >= set(TYPES)
    assert opcodes >= {"while", "conditional", "call", "reduce", "dot", "dynamic-update-slice"}


def test_laid_out_modules_are_well_formed_and_read_in_memory_order():
    """Parameters, results and values between lie in any order; bitcasts and fusions are there."""
    orders, fused = set(), 0
    for seed in range(60):
        random = Random(f"layouts/{seed}")
        made = laid_out(random_module(random), random)
        verify(made)
        evaluate(made, *arguments(made, random))
        made = mutated(made, random, 2)
        for computation in made.computations:
            given, root = computation.parameters, computation.root
            orders |= {"given" for p in given if not p.shape.is_row_major}
            orders |= {"left"} if not root.shape.is_row_major else set()
            if "bitcast" in computation.opcodes:
                orders.add("read")
                inner = [i for i in computation.instructions if i.opcode not in GIVEN]
                orders |= {i.opcode for i in inner if not i.shape.is_row_major}
        fused += any("bitcast" in c.opcodes for c in made.computations if c is not made.entry)
    assert orders >= {"given", "left", "read", "bitcast", "copy", "transpose", "reshape", "tuple"}
    assert fused


def test_complex_numbers_are_not_ordered():
    """A comparison that differs from another one in its direction alone is one of equality."""
    for seed in range(300):
        made = random_module(Random(seed), types=(C64, S8, PRED), favoured=["compare"])
        compared = [i for i in made.instructions() if i.opcode == "compare"]
        unordered = [i for i in compared if i.operands[0].shape.element_type is C64]
        assert {i.attrs.direction for i in unordered} <= {"EQ", "NE"}


@pytest.mark.parametrize("make", [nasty, tame, ends, scaled, exponents])
@pytest.mark.parametrize("element_type", [C64, BF16, F64, S4, PRED], ids=str)
def test_values_have_the_type_of_their_shape(make, element_type) -> None:
    """Absolute values of complex numbers are real, for one."""
    for seed in range(8):
        assert make(array(element_type, (3,)), Random(seed)).dtype == element_type.dtype
