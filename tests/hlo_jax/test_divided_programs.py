"""JAX's programs for eight devices, divided here and by XLA."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.divided_programs import PROGRAMS


@pytest.mark.slow
def test_devices_exchange_at_most_as_many_bytes_as_in_xla_s_division() -> None:
    """All programs are right, too: `python -m benchmarks.divided` prints a row for each."""
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.divided"],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True,
    )  # fmt: skip
    count = len(PROGRAMS)
    last = run.stdout.strip().splitlines()[-1]
    assert last == f"{count} right, {count} with at most XLA's bytes, of {count}", run.stdout
