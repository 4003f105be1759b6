"""JAX's programs for eight devices, divided here and by XLA."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.divided_programs import PROGRAMS

ENGINES = ("interpreter", "C", "MPI")


@pytest.mark.slow
def test_devices_exchange_at_most_as_many_bytes_as_in_xla_s_division() -> None:
    """All programs are right, however they run: `python -m benchmarks.divided` prints rows."""
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.divided"],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True,
    )  # fmt: skip
    count = len(PROGRAMS)
    right, bytes_ = run.stdout.strip().splitlines()[-2:]
    assert right == f"right: {', '.join(f'{e} {count} of {count}' for e in ENGINES)}", run.stdout
    assert bytes_ == f"with at most XLA's bytes: {count} of {count}", run.stdout
