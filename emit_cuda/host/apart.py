"""A launch in a process of its own, which a kernel may ruin without harm to this one.

Without checked mode nothing keeps a kernel inside of its arrays, and a stray address ends the
process, or changes Python's own memory.
"""

from __future__ import annotations

import faulthandler
import math
import mmap
import os
import pickle
import signal
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.errors.error import HloError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from emit_cuda.host.findings import Finding


def shared_array(shape: Sequence[int], dtype: np.dtype[Any]) -> NDArray[Any]:
    """An array of zeros that a process shares with those that it starts."""
    size = math.prod(shape) * dtype.itemsize
    # A page of nobody's on both sides.
    whole = np.frombuffer(mmap.mmap(-1, size + 2 * mmap.PAGESIZE), np.uint8)
    return whole[mmap.PAGESIZE :][:size].view(dtype).reshape(shape)


def apart(launch: Callable[[], tuple[Finding, ...]]) -> tuple[Finding, ...]:
    """The findings of a launch, in a process of its own where the system can start one.

    Raises
    ------
    HloError
        HLO192 if a signal ends the process; and whatever the launch raises.
    """
    if not hasattr(os, "fork"):
        return launch()
    out, into = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if not child:
        os.close(out)
        _child(launch, into)
    os.close(into)
    with os.fdopen(out, "rb") as file:
        data = file.read()
    _, status = os.waitpid(child, 0)
    if not data:
        raise _ended(os.waitstatus_to_exitcode(status))
    outcome = pickle.loads(data)
    if isinstance(outcome, HloError):
        raise outcome
    return outcome


def _child(launch: Callable[[], tuple[Finding, ...]], into: int) -> None:
    """Launch, write the outcome down, and end; never returns."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    faulthandler.disable()  # the parent reports the signal
    try:
        outcome: object = launch()
    except HloError as error:
        outcome = HloError(error.code, error.message, notes=error.notes)
    with os.fdopen(into, "wb") as file:
        pickle.dump(outcome, file)
    os._exit(0)


def _ended(status: int) -> HloError:
    name = signal.Signals(-status).name if status < 0 else f"status {status}"
    message = f"the kernel ended its process by {name}"
    notes = ["it left its arrays, or its stack of 252 kB: `--checked` tells in which line"]
    return HloError("HLO192", message, notes=notes)
