"""Tests of many examples: some are tried in each run, and all in the slow ones.

The first of each so many examples of a test is tried in each run. A name is that of a file, for all
of its tests, or of one test.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

THINNED: Final = {
    "codegen/schedule/test_random_nests.py": 2,
    "course/test_exercises.py::test_a_wrong_answer_is_told_what_is_wrong": 3,
    "course/test_referee.py::test_a_wrong_answer_is_told_what_is_wrong": 4,
    "emit_c/test_ahead.py::test_no_file_takes_the_place_of_another": 4,
    "emit_c/test_buffers.py::test_c_has_the_buffers_that_are_shown": 3,
    "emit_c/test_devices.py::test_all_collectives_in_all_modes_of_all_types": 4,
    "emit_c/test_devices.py::test_programs_give_what_the_interpreter_gives": 2,
    "emit_c/test_dot.py": 3,
    "emit_c/test_dynamic.py": 3,
    "emit_c/test_every_opcode.py": 2,
    "emit_c/test_kernel_programs.py": 3,
    "emit_c/test_limits_of_memory.py::test_calls_are_nested_so_deep_and_no_deeper": 2,
    "emit_c/test_narrow_products.py": 4,
    "emit_c/test_ordering.py": 3,
    "emit_c/test_outline_math.py": 3,
    "emit_c/test_transpose_tiles.py": 3,
    "emit_cuda/test_convolutions.py": 6,
    "emit_cuda/test_faults.py": 3,
    "emit_cuda/test_for_gpus.py::test_every_elementwise_opcode_compiles_for_each_of_its_types": 4,
    "emit_cuda/test_grids.py::test_random_loops": 2,
    "emit_cuda/test_interrupting.py": 2,
    "emit_cuda/test_kernel_kinds.py": 3,
    "emit_cuda/test_products.py": 6,
    "hlo/frontends/test_writing.py::test_each_opcode_reads_back_with_the_same_value": 3,
    "hlo/test_every_opcode.py": 4,
    "hlo/test_fuzz.py::test_hostile_text": 2,
    "hlo_jax/test_harnesses.py": 2,
    "hlo_jax/test_lowered_for_gpus.py": 3,
    "hlo_jax/test_process.py::test_a_call_can_be_interrupted": 3,
    "hlo_jax/test_queue.py::test_a_wait_can_be_interrupted": 3,
    "hlo_tools/test_candidates.py": 3,
    "hlo_tools/test_every_option.py::test_an_option_has_an_effect": 2,
    "hlo_tools/test_planted_passes.py::test_planted_fault_is_found": 6,
    "hlo_tools/test_proofs.py": 2,
    "hlo_tools/test_wrong_and_right.py::test_right_is_let_go": 2,
    "interpreter/test_arithmetic.py::test_small_floats_are_rounded_once": 2,
    "interpreter/test_formulations.py": 6,
    "optimizer/test_batching.py::test_batches": 3,
    "optimizer/test_control_dependencies.py": 3,
    "optimizer/test_derivative_of_jax.py": 3,
    "optimizer/test_division.py::test_random_programs": 2,
    "optimizer/test_passes.py": 3,
    "optimizer/test_rules.py::test_next_stronger_promise_fails": 4,
    "optimizer/test_rules.py::test_promise_holds": 2,
    "optimizer/test_rules.py::test_proved_for_small_integers": 4,
    "optimizer/test_rules.py::test_tried_on_all_small_floats": 2,
    "test_nesting.py": 2,
    "test_precision.py": 2,
}


def thin(items: Iterable[pytest.Item]) -> None:
    """Mark the examples that are left out as slow."""
    seen: Counter[str] = Counter()
    for item in items:
        test = item.nodeid.partition("[")[0].removeprefix("tests/")
        of = THINNED.get(test) or THINNED.get(test.partition("::")[0])
        # One that is slow already takes no other's place.
        if of is None or item.get_closest_marker("slow"):
            continue
        if seen[test] % of:
            item.add_marker(pytest.mark.slow)
        seen[test] += 1
