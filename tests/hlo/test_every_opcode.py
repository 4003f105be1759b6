"""What holds for every opcode: it reads back from text; its value has the inferred shape."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies.equal import assert_same
from strategies.ops import NOT_EVALUATED, OPS, STARTS, modules_of
from strategies.values import values

import hlo
import interpreter
from hlo.opcode import OPCODES
from hlo.types.element_type import TOKEN
from hlo.types.shape import Shape
from hlo.verify import trust

few = settings(max_examples=12, suppress_health_check=list(HealthCheck), deadline=None)


def test_every_opcode_has_a_generator() -> None:
    assert OPS.keys() == OPCODES.keys()


@pytest.mark.parametrize("opcode", OPCODES)
@few
@given(data=st.data())
def test_instructions_are_well_formed_and_read_back(opcode: str, data: st.DataObject) -> None:
    module = data.draw(modules_of(opcode))
    if opcode not in STARTS:
        hlo.verify(module)
    assert hlo.infer(module.entry.root).compatible(module.entry.root.shape)
    again = hlo.parse(str(module))
    assert str(again) == str(module)
    assert_same(again, module)


@pytest.mark.parametrize("opcode", [opcode for opcode in OPCODES if opcode not in NOT_EVALUATED])
@few
@given(data=st.data())
def test_values_have_the_inferred_shape(opcode: str, data: st.DataObject) -> None:
    module = data.draw(modules_of(opcode))
    arguments = [data.draw(values(p.shape)) for p in module.entry.parameters]
    # What begins something is well formed only with what ends it, and these are alone.
    value = interpreter.evaluate(trust(module), *arguments)
    assert_fits(value, module.entry.root.shape)


def assert_fits(value: Any, shape: Shape) -> None:
    """See that a value is of a shape, at most as large where that is dynamic."""
    if shape.is_tuple:
        assert isinstance(value, tuple)
        assert len(value) == len(shape.elements)
        for part, element in zip(value, shape.elements, strict=True):
            assert_fits(part, element)
    elif shape.element_type is TOKEN:
        assert value is None
    else:
        assert isinstance(value, np.ndarray)
        assert value.dtype == shape.element_type.dtype
        assert len(value.shape) == shape.rank
        for i, (size, bound) in enumerate(zip(value.shape, shape.dims, strict=True)):
            assert size <= bound if shape.dynamic_at(i) else size == bound
