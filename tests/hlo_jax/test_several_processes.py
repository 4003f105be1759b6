"""JAX in several processes, each with some devices: global arrays, and exchange among all."""

import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("across_processes.py")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


def started(
    count: int, devices: int, variables: Sequence[Mapping[str, str]]
) -> list[subprocess.Popen[str]]:
    """The processes, each with variables of its own in its environment."""
    address = f"127.0.0.1:{free_port()}"
    new = {"JAX_PLATFORMS": "pyhlo,cpu", "PYHLO_JAX_DEVICES": str(devices)}
    return [
        subprocess.Popen(
            [sys.executable, str(SCRIPT), address, str(count), str(number)],
            env={**os.environ, **own, **new}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )
        for number, own in enumerate(variables)
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("count", "devices"), [(2, 1), (2, 2), (4, 1)])
def test_processes_share_arrays(count: int, devices: int) -> None:
    """As `jax.distributed.initialize` has them on any platform."""
    for number, process in enumerate(started(count, devices, [os.environ] * count)):
        out, err = process.communicate(timeout=300)
        wanted = [
            f"{number} {count} {devices} {count * devices}",
            "sum True", "trained True True", "turned True", "ring True", "told 7",
            "heard True", f"of one process {[] if number else [2.0]}",
            f"sent to the last process {[True] if number == count - 1 else []}",
        ]  # fmt: skip
        assert out.splitlines() == wanted, err


@pytest.mark.slow
def test_processes_that_would_compute_other_values_are_refused() -> None:
    """One keeps subnormal numbers, and the other one flushes them."""
    words = [{"PYHLO_SUBNORMALS": word} for word in ("keep", "flush")]
    for process in started(2, 1, words):
        _, err = process.communicate(timeout=300)
        assert "HLO126" in err
        assert "process 0 and process 1 run different programs" in err
