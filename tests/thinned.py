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
    "emit_c/test_dot.py": 3,
    "emit_c/test_every_opcode.py": 2,
    "emit_c/test_ordering.py": 3,
    "emit_c/test_outline_math.py": 3,
    "emit_c/test_quads.py": 4,
    "emit_c/test_transpose_tiles.py": 3,
    "emit_c/test_transposed_rows.py": 4,
    "emit_cuda/test_convolutions.py": 3,
    "emit_cuda/test_for_gpus.py::test_every_elementwise_opcode_compiles_for_each_of_its_types": 4,
    "emit_cuda/test_products.py": 3,
    "hlo/test_every_opcode.py": 2,
    "hlo_tools/test_candidates.py": 3,
    "hlo_tools/test_planted_passes.py::test_planted_fault_is_found": 3,
    "interpreter/test_formulations.py": 3,
    "optimizer/test_control_dependencies.py": 3,
    "optimizer/test_passes.py": 3,
    "optimizer/test_rules.py::test_next_stronger_promise_fails": 4,
    "optimizer/test_rules.py::test_proved_for_small_integers": 2,
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
