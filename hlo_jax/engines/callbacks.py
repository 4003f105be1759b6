"""Callbacks into Python: the custom call by which a program calls a function of its user.

A compiled program holds the function's number. The function is kept as long as a program of JAX
may call it. The number is no other process's, so a program from the compilation cache never calls
a function that it does not mean: such programs are not found there.
"""

from __future__ import annotations

import itertools
import os
import weakref
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from interpreter.custom_calls.options import config
from interpreter.custom_calls.registry import custom_call

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo.instruction import Instruction
    from interpreter.engine.frame import Frame
    from interpreter.table import Value

TARGET: Final = "pyhlo_python_callback"
_FUNCTIONS: dict[int, Callable[..., list[Any]]] = {}
_numbers = itertools.count(int.from_bytes(os.urandom(4)) << 32)


class Keeper:
    """Keeps a function as long as it lives itself."""


def enter(function: Callable[..., list[Any]]) -> tuple[int, Keeper]:
    """Give a function a number."""
    number, keeper = next(_numbers) % 2**63, Keeper()
    _FUNCTIONS[number] = function
    weakref.finalize(keeper, _FUNCTIONS.pop, number, None)
    return number, keeper


@custom_call(TARGET)
def call(_frame: Frame, instr: Instruction, *operands: Value) -> Value:
    """Call the function with copies of the operands, which it may keep; tokens go by."""
    function = _FUNCTIONS[config(instr)["index"]]
    results = iter(function(*(np.array(x) for x in operands if x is not None)))
    if not instr.shape.is_tuple:
        return next(results, None)
    return tuple(next(results) if s.is_array else None for s in instr.shape.elements)
