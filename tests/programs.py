"""Programs of one instruction, written as HLO text and evaluated."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from single import values

import hlo
import interpreter
from hlo.types.element_type import element_type_of
from hlo.types.values import WindowDim

# Numbers at which floats go wrong. Each is a number in every floating type, if not the same one.
SPECIAL = [0.0, -0.0, 1.0, -1.5, float("inf"), float("-inf"), float("nan"), 1e-45, 1e-40]
# Dimensions of size 0 and 1 go wrong more often than others.
SIZES = st.sampled_from([0, 1, 1, 2, 3, 4])
BINARY = """
{op} {{
  x = {type}[] parameter(0)
  y = {type}[] parameter(1)
  ROOT r = {type}[] {op}(x, y)
}}
"""


def shape_of(value: Any) -> str:
    """An array's shape as text."""
    element_type = element_type_of(value.dtype)
    assert element_type is not None
    return f"{element_type}[{','.join(map(str, value.shape))}]"


def run(instruction: str, *operands: Any, computations: str = "") -> Any:
    """What an instruction gives for operands, which its text calls p0, p1, ...

    Its shape is inferred; the value is checked to have it.
    """
    parameters = [f"p{i} = {shape_of(x)} parameter({i})" for i, x in enumerate(operands)]
    body = "\n  ".join([*parameters, f"ROOT result = {instruction}"])
    module = hlo.parse(f"HloModule test\n{computations}\nENTRY main {{\n  {body}\n}}")
    value = interpreter.evaluate(module, *operands)
    check_shape(value, module.entry.root.shape)
    return value


def check_shape(value: Any, shape: hlo.Shape) -> None:
    """A value must be of its instruction's shape."""
    if shape.is_tuple:
        assert isinstance(value, tuple)
        for part, part_shape in zip(value, shape.elements, strict=True):
            check_shape(part, part_shape)
    else:
        assert (value.dtype, value.shape) == (shape.element_type.dtype, shape.dims)


def binary(opcode: str, element_type: str) -> str:
    """A computation of two scalars, named as the opcode."""
    return BINARY.format(op=opcode, type=element_type)


def listed(numbers: Any) -> str:
    """A list as attributes spell it."""
    return "{" + ",".join(map(str, numbers)) + "}"


def window(**fields: Any) -> str:
    """A window attribute; a field is a list of a value a dimension, pads are pairs."""
    spelled = {
        key: "x".join(f"{v[0]}_{v[1]}" if isinstance(v, tuple) else str(v) for v in numbers)
        for key, numbers in fields.items()
    }
    return "window={" + " ".join(f"{key}={text}" for key, text in spelled.items()) + "}"


def window_of(dims: list[WindowDim], **fields: Any) -> str:
    """The window attribute of some dimensions, with other fields at its end."""
    return window(
        size=[w.size for w in dims],
        stride=[w.stride for w in dims],
        pad=[(w.pad_low, w.pad_high) for w in dims],
        lhs_dilate=[w.base_dilation for w in dims],
        rhs_dilate=[w.window_dilation for w in dims],
        **fields,
    )


def wholes(seed: int, dims: Any, low: int = -4, high: int = 5) -> Any:
    """Small whole numbers as f32: their sums and products are exact in any order."""
    return np.random.default_rng(seed).integers(low, high, dims).astype(np.float32)


def specials(seed: int, dims: Any, element_type: str = "f32") -> Any:
    """Numbers of which many are special."""
    return values(element_type, np.random.default_rng(seed).choice(SPECIAL, dims))


seeds = st.integers(0, 2**32 - 1)
