"""Opcodes on arrays that are smaller than their shapes say."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies.ops import NOT_EVALUATED, OPS, modules_of

import hlo
import interpreter
from hlo.build import module as module_of
from hlo.instruction import Computation, Instruction, Module
from hlo.opcode import OPCODES
from hlo.types.element_type import F32
from hlo.types.shape import Shape, array
from hlo_tools.generate.values import tame
from interpreter.dynamic.run_time_sizes import filled
from interpreter.numbers.compare import compare


def with_run_time_sizes(module: Module, generator: random.Random) -> Module:
    """The module of one instruction, some dimensions of its parameters made dynamic."""
    new: dict[Instruction, Instruction] = {}
    for instr in module.entry.instructions:
        shape = instr.shape
        made = instr.with_(operands=tuple(new[operand] for operand in instr.operands))
        if instr.opcode != "parameter":
            made = made.with_(shape=hlo.infer(made))
        elif shape.is_array:
            dynamic = tuple(generator.random() < 0.4 for _ in shape.dims)
            made = made.with_(shape=array(shape.element_type, shape.dims, dynamic))
        new[instr] = made
    entry = Computation(module.entry.name, tuple(new.values()), new[module.entry.root])
    return module_of(entry)


def arguments_of(parameters: Sequence[Instruction], generator: random.Random) -> list[Any]:
    """Arguments; dimensions with one bound have one actual size."""
    arguments: list[Any] = []
    actual: dict[int, int] = {}
    for parameter in parameters:
        argument, shape = tame(parameter.shape, generator), parameter.shape
        for d, bound in enumerate(shape.dims if shape.is_array else ()):
            if shape.dynamic_at(d):
                size = actual.setdefault(bound, generator.randint(0, bound))
                argument = np.take(argument, np.arange(size), d)
        arguments.append(argument)
    return arguments


@pytest.mark.parametrize("opcode", sorted(OPS.keys() - NOT_EVALUATED))
@settings(max_examples=5, suppress_health_check=list(HealthCheck))
@given(data=st.data(), seed=st.integers(0, 2**30))
def test_sizes_fit_or_are_refused(opcode: str, data: st.DataObject, seed: int) -> None:
    generator = random.Random(seed)
    try:
        module = with_run_time_sizes(data.draw(modules_of(opcode)), generator)
        hlo.verify(module)
        arguments = arguments_of(module.entry.parameters, generator)
        value = interpreter.evaluate(module, *arguments)
    except hlo.HloError:
        return  # the only error that there may be
    assert_fits(value, module.entry.root.shape)


def assert_fits(value: Any, shape: Shape) -> None:
    if shape.is_tuple:
        for part, element in zip(value, shape.elements, strict=True):
            assert_fits(part, element)
    elif shape.is_array:
        for d, (size, bound) in enumerate(zip(value.shape, shape.dims, strict=True)):
            assert size <= bound if shape.dynamic_at(d) else size == bound


@pytest.mark.parametrize("opcode", [o for o, row in OPCODES.items() if row.elementwise])
@settings(max_examples=5, suppress_health_check=list(HealthCheck))
@given(data=st.data(), seed=st.integers(0, 2**30))
def test_elementwise_opcodes_look_at_what_all_have(
    opcode: str, data: st.DataObject, seed: int
) -> None:
    """The result is that of whole buffers, as XLA computes it, up to the smallest size."""
    generator = random.Random(seed)
    whole = data.draw(modules_of(opcode))
    module = with_run_time_sizes(whole, generator)
    arguments = arguments_of(module.entry.parameters, generator)
    parameters = module.entry.parameters
    if not all(p.shape.rank for p in parameters):
        return
    common = tuple(slice(min(sizes)) for sizes in zip(*(a.shape for a in arguments), strict=True))
    try:
        got = interpreter.evaluate(module, *arguments)
    except hlo.HloError:
        # The result of clamp has the operand's sizes, whatever those of its bounds are.
        assert opcode in ("clamp", "stochastic-convert")
        return
    buffers = [filled(a, p.shape) for a, p in zip(arguments, parameters, strict=True)]
    assert compare(got, interpreter.evaluate(whole, *buffers)[common]) is None


TEXT = """HloModule m
ENTRY e {{
  x = f32[6] parameter(0)
  n = s32[] parameter(1)
  start = s32[] parameter(2)
  short = f32[<=6] set-dimension-size(x, n), dimensions={{0}}
  y = f32[2] constant({{8, 9}})
  ROOT r = {instruction}
}}"""


def run(instruction: str, size: int, start: int) -> list[float]:
    x = np.arange(1, 7, dtype=F32.dtype)
    text = TEXT.format(instruction=instruction)
    return interpreter.evaluate(hlo.parse(text), x, np.int32(size), np.int32(start)).tolist()


def test_slices_are_clamped_to_the_bound() -> None:
    taken = "f32[2] dynamic-slice(short, start), dynamic_slice_sizes={2}"
    assert run(taken, 3, 1) == [2, 3]
    assert run(taken, 3, 2) == [3, 0]
    assert run(taken, 3, 99) == [0, 0]
    put = "f32[<=6] dynamic-update-slice(short, y, start)"
    assert run(put, 3, 1) == [1, 8, 9]
    assert run(put, 3, 2) == [1, 2, 8]
    assert run(put, 3, 99) == [1, 2, 3]


def test_static_slices_of_short_arrays() -> None:
    assert run("f32[2] slice(short), slice={[1:3]}", 2, 0) == [2, 0]
    assert run("f32[<=6] slice(short), slice={[0:6]}", 2, 0) == [1, 2]


def test_an_array_sorted_with_a_shorter_one_keeps_its_rest() -> None:
    """What counts in all is sorted; a result that the shape calls whole is whole."""
    text = """HloModule m
    more {
      a = f32[] parameter(0)
      b = f32[] parameter(1)
      i = s32[] parameter(2)
      j = s32[] parameter(3)
      ROOT r = pred[] compare(a, b), direction=GT
    }
    ENTRY e {
      x = f32[5] parameter(0)
      n = s32[] parameter(1)
      short = f32[<=5] set-dimension-size(x, n), dimensions={0}
      places = s32[5] iota(), iota_dimension=0
      ROOT r = (f32[<=5], s32[5]) sort(short, places), dimensions={0}, to_apply=more
    }"""
    x = np.array([2, 9, 4, 7, 8], np.float32)
    values, places = interpreter.evaluate(hlo.parse(text), x, np.int32(3))
    assert values.tolist() == [9, 4, 2]
    assert places.tolist() == [1, 2, 0, 3, 4]


@pytest.mark.parametrize(("indices", "updates"), [("i", "u"), ("short", "u"), ("i", "few")])
def test_a_scatter_writes_what_has_an_index_and_a_value(indices: str, updates: str) -> None:
    text = f"""HloModule m
    last {{
      a = f32[] parameter(0)
      ROOT b = f32[] parameter(1)
    }}
    ENTRY e {{
      x = f32[4] parameter(0)
      n = s32[] parameter(1)
      i = s32[3,1] constant({{{{3}}, {{1}}, {{0}}}})
      u = f32[3] constant({{7, 8, 9}})
      short = s32[<=3,1] set-dimension-size(i, n), dimensions={{0}}
      few = f32[<=3] set-dimension-size(u, n), dimensions={{0}}
      ROOT r = f32[4] scatter(x, {indices}, {updates}), update_window_dims={{}},
        inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}}, index_vector_dim=1,
        to_apply=last
    }}"""
    wanted = [9, 8, 0, 7] if (indices, updates) == ("i", "u") else [0, 8, 0, 7]
    got = interpreter.evaluate(hlo.parse(text), np.zeros(4, np.float32), np.int32(2))
    assert got.tolist() == wanted


def test_sizes_that_do_not_fit_are_an_error() -> None:
    product = "f32[] dot(short, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}"
    with pytest.raises(hlo.HloError, match="HLO123"):
        run(product, 3, 0)
