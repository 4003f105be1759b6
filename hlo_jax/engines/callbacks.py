"""Callbacks into Python: the custom call by which a program calls a function of its user.

The interpreter calls the function itself. C calls a function that `ctypes` makes of one here, with
the callback's number and the addresses of the arrays; what they are was noted when the call was
emitted.

A compiled program holds the function's number. The function is kept as long as a program of JAX
may call it. The number is no other process's, so a program from the compilation cache never calls
a function that it does not mean: such programs are not found there.
"""

from __future__ import annotations

import itertools
import os
import weakref
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from emit_c.code.foreign import fail
from emit_c.custom_calls.table import kernel
from hlo.attributes import CustomCall
from hlo.errors.error import HloError
from hlo.walk import rebuild, rebuild_module
from hlo_jax.called_from_c import array_at, write_call
from hlo_jax.shim import shim
from interpreter.custom_calls.options import config
from interpreter.custom_calls.registry import custom_call
from optimizer.partitioning.sharding_rules import CALLS_ON_PARTS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Name
    from hlo.instruction import Computation, Instruction, Module
    from hlo.types.shape import Shape
    from interpreter.engine.frame import Frame
    from interpreter.table import Value

# As XLA's CPU backend calls them: its partitioner, which divides programs for several devices,
# knows them by name. The second is called on each device with its part of an array.
WHOLE: Final = "xla_ffi_python_cpu_callback"
SHARDS: Final = "xla_ffi_partitioned_python_cpu_callback"
CALLS_ON_PARTS.add(SHARDS)
_FUNCTIONS: dict[int, Callable[..., list[Any]]] = {}
_numbers = itertools.count(int.from_bytes(os.urandom(4)) << 32)


_unused: list[int] = []


def _forget(number: int) -> None:
    _unused.append(number)
    _forget_unused()


def _forget_unused() -> None:
    """Forget functions whose programs are gone, once no call of one may run any more."""
    while _unused and not shim().is_busy():
        number = _unused.pop()
        _FUNCTIONS.pop(number, None)
        _ARRAYS.pop(number, None)


class Keeper:
    """Keeps a function as long as it lives itself."""


def enter(function: Callable[..., list[Any]]) -> tuple[int, Keeper]:
    """Give a function a number."""
    _forget_unused()
    number, keeper = next(_numbers) % 2**63, Keeper()
    _FUNCTIONS[number] = function
    weakref.finalize(keeper, _forget, number)
    return number, keeper


@dataclass(frozen=True, slots=True)
class Arrays:
    """The signature of a callback in C: the shapes of the operands, and of the results."""

    given: tuple[Shape, ...]
    made: tuple[Shape, ...]


_ARRAYS: dict[int, Arrays] = {}


def call_python(number: int, *addresses: int) -> int:
    """Call a function with copies of arrays, and copy its results to where C wants them."""
    try:
        arrays = _ARRAYS[number]
        shapes = (*arrays.given, *arrays.made)
        found = [array_at(a or 0, shape) for a, shape in zip(addresses, shapes, strict=True)]
        given, made = found[: len(arrays.given)], found[len(arrays.given) :]
        for result, value in zip(made, _FUNCTIONS[number](*(x.copy() for x in given)), strict=True):
            result[...] = value
    except BaseException as error:
        return fail(error)
    return 0


def _number(instr: Instruction) -> int:
    """The number of the function that a custom call names."""
    number = config(instr).get("index")
    if not isinstance(number, int):
        message = f"{instr.name}: a callback into Python names its function by the option `index`"
        raise HloError("HLO122", message, instr.span)
    return number


@kernel(WHOLE, SHARDS)
def write(body: Body, instr: Instruction, outputs: Sequence[Name]) -> None:
    """Call the function from C, with the addresses of all arrays; tokens have none."""
    number = _number(instr)
    given = [o for o in instr.operands if o.shape.is_array]
    made = tuple(shape for _, shape in instr.shape.leaves() if shape.is_array)
    _ARRAYS[number] = Arrays(tuple(o.shape for o in given), made)
    write_call(body, instr, outputs, call_python, number)


@custom_call(WHOLE, SHARDS)
def call(_frame: Frame, instr: Instruction, *operands: Value) -> Value:
    """Call the function with copies of the operands, which it may keep; tokens go by."""
    function = _FUNCTIONS.get(_number(instr))
    if function is None:
        message = f"{instr.name}: the function belongs to another process, or is gone"
        raise HloError("HLO122", message, instr.span)
    results = iter(function(*(np.array(x) for x in operands if x is not None)))
    if not instr.shape.is_tuple:
        return next(results, None)
    return tuple(next(results) if s.is_array else None for s in instr.shape.elements)


def without_numbers(module: Module) -> Module:
    """The module without the numbers of functions, which differ from process to process."""

    def changed(computation: Computation) -> Computation:
        plan = {
            i: i.with_(annotations=replace(i.annotations, backend_config=""))
            for i in computation.instructions
            if isinstance(i.attrs, CustomCall) and i.attrs.custom_call_target in (WHOLE, SHARDS)
        }
        return rebuild(computation, plan) if plan else computation

    return rebuild_module(module, changed)
