"""Backends with one fault each: the interpreter, but for one habit.

`FAULTS` says what `hlo check --backend` must find fault with.
"""

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from interpreter import evaluate
from interpreter.table import evaluates

FAULTS: dict[str, str] = {}


def fault(about: str) -> Callable[[Any], Any]:
    """A backend, and what is wrong with it."""

    def enter(compile_: Any) -> Any:
        FAULTS[compile_.__name__] = about
        return compile_

    return enter


# ---------------------------------------------------------------------------------- layouts


@fault("layouts")
def bitcast_forgets_layouts(module):
    with_rows = module

    def run(*arguments):
        def reshaped(instr, attrs, x):
            return np.asarray(x).reshape(instr.shape.dims)

        with evaluates.replaced("bitcast", reshaped):
            return evaluate(with_rows, *arguments)

    return run


@fault("strides")
def reads_rows_from_memory(module):
    def rows(array):
        if array.dtype.kind != "f" or array.ndim != 2 or not array.flags.f_contiguous:
            return array
        return np.ravel(array, order="K").reshape(array.shape)

    return lambda *arguments: evaluate(module, *map(rows, arguments))


# ---------------------------------------------------------------------------------- memory


@fault("donation")
def donates_whatever_is_given(module):
    def run(*arguments):
        value = evaluate(module, *[np.array(a) for a in arguments])
        if module.header.input_output_alias and arguments[-1].flags.writeable:
            arguments[-1][...] = 0
        return value

    return run


@fault("aliasing")
def works_in_the_first_argument(module):
    def run(*arguments):
        first = np.asarray(arguments[0]) if arguments else None
        value = evaluate(module, *[np.array(a) for a in arguments])
        leaf = value[0] if isinstance(value, tuple) and value else value
        if (
            first is not None and isinstance(leaf, np.ndarray) and first.flags.writeable
            and leaf.shape == first.shape and leaf.dtype == first.dtype
        ):  # fmt: skip
            first[...] = leaf
        return value

    return run


@fault("aliasing")
def results_in_one_buffer(module):
    kept: list[Any] = []

    def keep(value):
        if isinstance(value, tuple):
            return tuple(map(keep, value))
        return None if value is None else np.array(value)

    def copy(into, value):
        if isinstance(value, tuple):
            for a, b in zip(into, value, strict=True):
                copy(a, b)
        elif value is not None:
            into[...] = value

    def run(*arguments):
        value = evaluate(module, *arguments)
        if not kept:
            kept.append(keep(value))
        else:
            copy(kept[0], value)
        return kept[0]

    return run


@fault("aliasing")
def hands_out_its_constants(module):
    for instr in module.instructions():
        if instr.opcode == "constant" and instr.shape.is_array:
            instr.attrs.literal.value.flags.writeable = True
    return lambda *arguments: evaluate(module, *arguments)


@fault("aliasing")
def compiled_once_a_name(module):
    known = COMPILED.setdefault(module.name, module)
    return lambda *arguments: evaluate(known, *arguments)


COMPILED: dict[str, Any] = {}


@fault("aliasing")
def the_first_value_for_ever(module):
    values: list[Any] = []

    def run(*arguments):
        if not values:
            values.append(evaluate(module, *arguments))
        return values[0]

    return run


@fault("memory")
def keeps_all_results(module):
    def run(*arguments):
        KEPT.append(evaluate(module, *arguments))
        return KEPT[-1]

    return run


KEPT: list[Any] = []


# ---------------------------------------------------------------------------------- threads


@fault("threads")
def arguments_in_a_global(module):
    def run(*arguments):
        GIVEN[:] = arguments
        time.sleep(0.0005)
        return evaluate(module, *GIVEN)

    return run


GIVEN: list[Any] = []


@fault("threads")
def one_call_at_a_time_or_an_error(module):
    busy = threading.Lock()

    def run(*arguments):
        if not busy.acquire(blocking=False):
            raise RuntimeError("busy")
        try:
            time.sleep(0.001)
            return evaluate(module, *arguments)
        finally:
            busy.release()

    return run


# ---------------------------------------------------------------------------------- errors


def zeros(shape):
    if shape.is_tuple:
        return tuple(map(zeros, shape.elements))
    return np.zeros(shape.dims, shape.element_type.dtype) if shape.is_array else None


@fault("errors")
def zeros_in_the_place_of_errors(module):
    def run(*arguments):
        try:
            return evaluate(module, *arguments)
        except Exception:
            return zeros(module.entry.root.shape)

    return run


# ---------------------------------------------------------------------------------- control flow


@fault("while")
def loops_end_after_ten_turns(module):
    def run(*arguments):
        turns = [0]

        def loop(frame, instr, attrs, state):
            condition, body = (
                instr.called[::-1] if instr.called[0].root.shape.is_tuple else instr.called
            )
            turns[0] = 0
            while turns[0] < 10 and frame.call(condition, state):
                state, turns[0] = frame.call(body, state), turns[0] + 1
            return state

        with evaluates.replaced("while", loop):
            return evaluate(module, *arguments)

    return run


# ---------------------------------------------------------------------------------- crashes


@fault("results")
def tuples_are_flat(module):
    def flat(value):
        if not isinstance(value, tuple):
            return [value]
        return [leaf for each in value for leaf in flat(each)]

    def run(*arguments):
        value = evaluate(module, *arguments)
        return tuple(flat(value)) if isinstance(value, tuple) else value

    return run
