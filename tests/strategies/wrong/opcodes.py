"""Backends with one fault each: the interpreter, but for one opcode.

`FAULTS` says what `hlo check --backend` must find fault with: the opcode, or another thing.
"""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from hlo.instruction import Instruction
from hlo.types.element_type import BF16, F32, F64, S8, S64, U32
from interpreter import evaluate
from interpreter.table import evaluates

FAULTS: dict[str, str] = {}


def opcode(name: str, about: str = "") -> Callable[[Any], Any]:
    """A backend that computes one opcode otherwise: `wrong(right, instr, operands)`."""

    def enter(wrong: Any) -> Any:
        def entry(*given: Any) -> Any:
            place = next(k for k, each in enumerate(given) if isinstance(each, Instruction))
            head, operands = given[: place + 2], given[place + 2 :]
            return wrong(lambda *o: right(*head, *o), given[place], *operands)

        right = evaluates[name]

        def compile_(module: Any) -> Any:
            def run(*arguments: Any) -> Any:
                with evaluates.replaced(name, entry):
                    return evaluate(module, *arguments)

            return run

        FAULTS[wrong.__name__] = about or name
        return compile_

    return enter


def only(element_type: Any, instr: Instruction) -> bool:
    return instr.shape.is_array and instr.shape.element_type is element_type


# ---------------------------------------------------------------------------------- types


@opcode("multiply")
def doubles_as_floats(right, instr, *o):
    if not only(F64, instr):
        return right(*o)
    return right(*(x.astype(np.float32).astype(np.float64) for x in o))


@opcode("add")
def bf16_cut_off(right, instr, x, y):
    if not only(BF16, instr):
        return right(x, y)
    with np.errstate(all="ignore"):
        wide = x.astype(np.float32) + y.astype(np.float32)
    cut = (wide.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    return cut.astype(ml_dtypes.bfloat16)


@opcode("add")
def bytes_saturate(right, instr, x, y):
    if not only(S8, instr):
        return right(x, y)
    return np.clip(x.astype(np.int32) + y, -128, 127).astype(np.int8)


@opcode("compare")
def unsigned_compared_as_signed(right, instr, x, y):
    if instr.operands[0].shape.element_type is not U32:
        return right(x, y)
    return right((x ^ np.uint32(1 << 31)), (y ^ np.uint32(1 << 31)))


@opcode("negate")
def long_cut_to_int(right, instr, x):
    return right(x.astype(np.int32).astype(np.int64) if only(S64, instr) else x)


@opcode("shift-right-arithmetic")
def shift_fills_with_zeros(right, instr, x, n):
    return right(np.abs(x), n) if instr.shape.element_type.kind == "signed" else right(x, n)


@opcode("abs")
def complex_abs_is_its_real_part(right, instr, x):
    return np.abs(x.real) if np.iscomplexobj(x) else right(x)


@opcode("divide")
def quotient_rounds_down(right, instr, x, y):
    if not instr.shape.element_type.is_integer:
        return right(x, y)
    return np.where(y == 0, right(x, y), x // np.where(y == 0, y + 1, y)).astype(x.dtype)


@opcode("convert")
def floats_wrap_into_integers(right, instr, x):
    if x.dtype != np.float32 or not only(S8, instr):
        return right(x)
    with np.errstate(all="ignore"):
        return np.nan_to_num(x, posinf=0, neginf=0).astype(np.int64).astype(np.int8)


# ---------------------------------------------------------------------------------- NaN and zeros


@opcode("maximum")
def maximum_drops_nan(right, instr, x, y):
    return np.fmax(x, y) if only(F32, instr) else right(x, y)


@opcode("compare")
def nan_equals_nan(right, instr, x, y):
    if instr.attrs.direction != "EQ" or x.dtype != np.float32:
        return right(x, y)
    return right(x, y) | (np.isnan(x) & np.isnan(y))


@opcode("sign")
def sign_of_nan_is_zero(right, instr, x):
    return np.nan_to_num(right(x)) if only(F32, instr) else right(x)


@opcode("is-finite")
def infinity_is_finite(right, instr, x):
    return ~np.isnan(x)


@opcode("negate")
def negate_is_zero_minus(right, instr, x):
    return np.float32(0) - x if only(F32, instr) else right(x)


@opcode("round-nearest-even")
def rounding_loses_minus_zero(right, instr, x):
    return right(x) + np.float32(0) if only(F32, instr) else right(x)


@opcode("minimum")
def minimum_of_zeros_is_either(right, instr, x, y):
    return np.where(y < x, y, np.where(np.isnan(y), y, x)) if only(F32, instr) else right(x, y)


@opcode("round-nearest-afz")
def halves_go_to_even(right, instr, x):
    return np.rint(x) if only(F32, instr) else right(x)


@opcode("tanh")
def tanh_is_sinh(right, instr, x):
    return np.sinh(x) if only(F32, instr) else right(x)


# ---------------------------------------------------------------------------------- indices


@opcode("dynamic-slice")
def starts_wrap_around(right, instr, x, *starts):
    return right(x, *(np.int32(int(s) % max(n, 1)) for s, n in zip(starts, x.shape, strict=True)))


@opcode("sort")
def sort_by_the_first_dimension(right, instr, *o):
    return np.sort(o[0], axis=0) if len(o) == 1 and o[0].dtype == np.float32 else right(*o)


@opcode("pad")
def pad_forgets_the_inside(right, instr, x, v):
    padded = right(x, v)
    inside = any(p.interior for p in instr.attrs.padding)
    return np.full_like(padded, v) if inside else padded


@opcode("iota")
def iota_counts_from_one(right, instr):
    made = right()
    return made + 1 if made.dtype == np.int32 else made


# ---------------------------------------------------------------------------------- errors


@opcode("custom-call", "errors")
def unknown_calls_do_nothing(right, instr, *o):
    return o[0]


# ---------------------------------------------------------------------------------- control flow


@opcode("conditional")
def the_first_branch_by_default(right, instr, index, *o):
    count = len(instr.called)
    if np.asarray(index).dtype != np.bool_ and not 0 <= int(index) < count:
        index = np.int32(0)
    return right(index, *o)


@opcode("call")
def calls_turn_their_arguments(right, instr, *o):
    same = len(o) == 2 and o[0] is not None and np.shape(o[0]) == np.shape(o[1])
    return right(*o[::-1]) if same and o[0].dtype == o[1].dtype else right(*o)


# ---------------------------------------------------------------------------------- crashes


@opcode("reverse")
def ends_the_process(right, instr, x):
    os.kill(os.getpid(), signal.SIGSEGV)


@opcode("cosine")
def leaves(right, instr, x):
    sys.exit(3)


@opcode("floor")
def result_of_another_type(right, instr, x):
    return right(x).astype(np.float64)
