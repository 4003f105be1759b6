"""Every opcode is held against a formulation of its meaning that is independent of ours.

`HELD_BY` names the test that does it: loops over elements, Python's own numbers, published or
measured answers, the definition of an inverse. An opcode without one fails here.
"""

import ast
import decimal
import math
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies.ops import given as parameter
from strategies.ops import modules_of
from strategies.values import dims, values

import interpreter
from hlo.build import Builder, module
from hlo.opcode import OPCODES
from hlo.types.element_type import ARRAY_TYPES, PRED, ElementType
from interpreter.numbers.compare import ROUNDING, compare

# fmt: off
HELD_BY = {
    "test_arithmetic.py::test_all_values_of_narrow_integers":
        "and count-leading-zeros mulhi not or popcnt shift-left shift-right-arithmetic "
        "shift-right-logical xor",
    "test_arithmetic.py::test_total_order": "compare",
    "test_collectives.py::test_all_gather_joins_in_the_order_of_the_group": "all-gather",
    "test_collectives.py::test_all_reduce_folds_each_group": "all-reduce",
    "test_collectives.py::test_all_to_all_transposes_pieces_and_devices": "all-to-all",
    "test_collectives.py::test_collective_broadcast_sends_from_the_first_and_zeros_elsewhere":
        "collective-broadcast",
    "test_collectives.py::test_collective_permute_sends_from_sources_to_targets":
        "collective-permute",
    "test_collectives.py::test_collectives_in_a_loop_and_the_devices_own_numbers":
        "partition-id replica-id",
    "test_collectives.py::test_ragged_all_to_all": "ragged-all-to-all",
    "test_collectives.py::test_reduce_scatter_keeps_the_piece_of_the_place_in_the_group":
        "reduce-scatter",
    "test_collectives.py::test_started_collectives_give_what_they_give_at_once":
        "all-gather-done all-gather-start all-reduce-done all-reduce-start "
        "collective-permute-done collective-permute-start",
    "test_complexes.py::test_parts_and_magnitudes": "complex imag real",
    "test_contract.py::test_dot": "dot",
    "test_contract.py::test_ragged_rows": "ragged-dot",
    "test_contract.py::test_scaled_dot_scales_blocks": "scaled-dot",
    "test_control.py::test_a_computation_is_called_with_its_own_arguments": "call",
    "test_control.py::test_a_conditional_runs_one_branch": "conditional",
    "test_control.py::test_a_fusion_of_any_kind_is_its_computation": "fusion",
    "test_control.py::test_a_while_runs_until_its_condition_fails": "while",
    "test_control.py::test_an_async_computation_yields_its_result":
        "async-done async-start async-update",
    "test_conversion.py::test_floats_become_the_nearest": "convert",
    "test_conversion.py::test_reduce_precision_is_a_conversion_and_back": "reduce-precision",
    "test_conversion.py::test_stochastic_convert_by_the_fraction": "stochastic-convert",
    "test_convolve.py::test_convolution": "convolution",
    "test_factorizations.py::test_potrf": "custom-call",
    "test_devices.py::test_infeed_takes_and_outfeed_puts": "infeed outfeed",
    "test_devices.py::test_send_and_recv_with_the_host": "recv recv-done send send-done",
    "test_dynamic.py::test_a_dynamic_reshape_keeps_the_order": "dynamic-reshape",
    "test_dynamic.py::test_a_set_size_cuts_the_array": "set-dimension-size",
    "test_dynamic.py::test_the_size_is_the_actual_one": "get-dimension-size",
    "test_evaluate.py::test_tuples_tokens_and_plumbing":
        "add-dependency after-all constant copy copy-done copy-start get-tuple-element "
        "opt-barrier parameter tuple",
    "test_fold.py::test_map": "map",
    "test_fold.py::test_reduce_known_operations": "reduce",
    "test_fold.py::test_scan": "scan",
    "test_formulations.py::test_real_numbers":
        "abs acos acosh add asin asinh atan2 atanh cbrt ceil clamp cosh cosine divide erf "
        "exponential exponential-minus-one floor is-finite log log-plus-one logistic maximum "
        "minimum multiply negate power remainder round-nearest-afz round-nearest-even rsqrt "
        "select sign sine sinh sqrt subtract tan tanh",
    "test_formulations.py::test_a_domain_is_its_operand": "domain",
    "test_indexing.py::test_gather": "gather",
    "test_indexing.py::test_scatter": "scatter",
    "test_linear_algebra.py::test_cholesky": "cholesky",
    "test_linear_algebra.py::test_fft": "fft",
    "test_linear_algebra.py::test_triangular_solve": "triangular-solve",
    "test_movement.py::test_broadcast": "broadcast",
    "test_movement.py::test_concatenate": "concatenate",
    "test_movement.py::test_dynamic_slices_clamp": "dynamic-slice dynamic-update-slice",
    "test_movement.py::test_every_type_is_moved_bit_by_bit": "reshape",
    "test_movement.py::test_iota_of_every_type": "iota",
    "test_movement.py::test_pad": "pad",
    "test_movement.py::test_slice_and_reverse": "reverse slice",
    "test_movement.py::test_transpose": "transpose",
    "test_normalization.py::test_gradients_are_differences": "batch-norm-grad",
    "test_normalization.py::test_training_and_inference":
        "batch-norm-inference batch-norm-training",
    "test_order.py::test_sort": "sort",
    "test_order.py::test_topk": "topk",
    "test_random.py::test_device_state_advances": "rng-get-and-update-state",
    "test_random.py::test_measured_on_xla_cpu": "rng-bit-generator",
    "test_random.py::test_uniform_floats": "rng",
    "test_reinterpretation.py::test_bitcast_reads_memory_in_layout_order": "bitcast",
    "test_reinterpretation.py::test_low_bits_come_first": "bitcast-convert",
    "test_windows.py::test_reduce_window": "reduce-window",
    "test_windows.py::test_select_and_scatter": "select-and-scatter",
}
# fmt: on


def test_every_opcode_is_held_against_another_formulation() -> None:
    held = [opcode for opcodes in HELD_BY.values() for opcode in opcodes.split()]
    assert sorted(held) == sorted(OPCODES)


@pytest.mark.parametrize("name", HELD_BY)
def test_the_named_tests_are_there(name: str) -> None:
    file, _, function = name.partition("::")
    tree = ast.parse((Path(__file__).parent / file).read_text(encoding="utf-8"))
    assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def half_away(x: float) -> float:
    whole = decimal.Decimal(x).to_integral_value(decimal.ROUND_HALF_UP)
    return math.copysign(float(whole), x)


# What an opcode means, in Python's numbers.
# fmt: off
BY_PYTHON: dict[str, Callable[..., float]] = {
    "abs": abs, "acos": math.acos, "acosh": math.acosh, "add": operator.add, "asin": math.asin,
    "asinh": math.asinh, "atan2": math.atan2, "atanh": math.atanh, "cbrt": math.cbrt,
    "ceil": math.ceil, "clamp": lambda low, x, high: min(max(low, x), high), "cosh": math.cosh,
    "cosine": math.cos, "divide": operator.truediv, "erf": math.erf, "exponential": math.exp,
    "exponential-minus-one": math.expm1, "floor": math.floor, "is-finite": math.isfinite,
    "log": math.log, "log-plus-one": math.log1p, "logistic": lambda x: 1 / (1 + math.exp(-x)),
    "maximum": max, "minimum": min, "multiply": operator.mul, "negate": operator.neg,
    "power": math.pow, "remainder": math.fmod, "round-nearest-afz": half_away,
    "round-nearest-even": round, "rsqrt": lambda x: 1 / math.sqrt(x),
    "select": lambda condition, x, y: x if condition else y,
    "sign": lambda x: (x > 0) - (x < 0), "sine": math.sin, "sinh": math.sinh, "sqrt": math.sqrt,
    "subtract": operator.sub, "tan": math.tan, "tanh": math.tanh,
}
# fmt: on
FLOATS = [kind for kind in ARRAY_TYPES if kind.is_floating]


@pytest.mark.parametrize("opcode", BY_PYTHON)
@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(data=st.data(), kind=st.sampled_from(FLOATS), wanted=dims())
def test_real_numbers(
    opcode: str, data: st.DataObject, kind: ElementType, wanted: tuple[int, ...]
) -> None:
    b = Builder()
    kinds = (PRED, kind, kind) if opcode == "select" else (kind,) * (OPCODES[opcode].arity or 1)
    operands = [parameter(b, one, *wanted) for one in kinds]
    whole = module(b.build(b.add(opcode, *operands)))
    arguments = [data.draw(values(operand.shape)) for operand in operands]
    result = interpreter.evaluate(whole, *arguments)
    for index in np.ndindex(wanted):
        expected = by_python(opcode, [float(argument[index]) for argument in arguments])
        if expected is not None:
            with np.errstate(all="ignore"):
                want = np.asarray(expected).astype(result.dtype)
            assert compare(result[index], want, ROUNDING) is None


def by_python(opcode: str, numbers: list[float]) -> Any:
    """The number; None where Python has none, or leaves NaN to chance."""
    if any(map(math.isnan, numbers)) and opcode not in ("is-finite", "select"):
        return None
    try:
        return float(BY_PYTHON[opcode](*numbers))
    except (ValueError, OverflowError, ZeroDivisionError):
        return None


@given(st.data())
def test_a_domain_is_its_operand(data: st.DataObject) -> None:
    whole = data.draw(modules_of("domain"))
    argument = data.draw(values(whole.entry.parameters[0].shape))
    assert compare(interpreter.evaluate(whole, argument), argument) is None
