"""What a process that runs somebody else's code may use: time, memory, and no network.

It imports nothing but the standard library, as it must run before anything starts threads.
"""

from __future__ import annotations

import ctypes
import os
import resource
import sys
from typing import Any

NEW_USER, NEW_NETWORK = 0x10000000, 0x40000000
NETWORK = ("socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo")


class NoNetworkError(PermissionError):
    """Code that may not asked for the network."""


def limit(seconds: int, megabytes: int) -> None:
    """From now on this process has so much CPU time and memory, and no network.

    Where the system allows it, the process gets a network of its own with nothing in it. Where not,
    Python refuses to open connections; that stops what goes by mistake, not what wants to.
    """
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
        _leave_network()
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    sys.addaudithook(_refuse)


def _leave_network() -> None:
    try:
        ctypes.CDLL(None, use_errno=True).unshare(NEW_USER | NEW_NETWORK)
    except (OSError, AttributeError):
        return


def _refuse(event: str, _: tuple[Any, ...]) -> None:
    if event in NETWORK:
        raise NoNetworkError("an exercise has no network")
