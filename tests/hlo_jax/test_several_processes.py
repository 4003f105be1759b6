"""JAX in several processes, each with some devices: global arrays, and exchange among all."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("across_processes.py")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


@pytest.mark.slow
@pytest.mark.parametrize(("count", "devices"), [(2, 1), (2, 2), (4, 1)])
def test_processes_share_arrays(count: int, devices: int) -> None:
    """As `jax.distributed.initialize` has them on any platform."""
    address = f"127.0.0.1:{free_port()}"
    new = {"JAX_PLATFORMS": "pyhlo", "PYHLO_JAX_DEVICES": str(devices)}
    started = [
        subprocess.Popen(
            [sys.executable, str(SCRIPT), address, str(count), str(number)],
            env=os.environ | new, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for number in range(count)
    ]  # fmt: skip
    for number, process in enumerate(started):
        out, err = process.communicate(timeout=300)
        wanted = [
            f"{number} {count} {devices} {count * devices}",
            "sum True", "trained True True", "turned True", "ring True", "told 7",
        ]  # fmt: skip
        assert out.splitlines() == wanted, err
