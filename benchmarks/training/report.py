"""The output of a training script: a loss a line, with the time."""

from __future__ import annotations

import time


def tell(loss: float) -> None:
    """Print a loss, exactly, and the seconds of a clock."""
    print(loss.hex(), time.perf_counter(), flush=True)
