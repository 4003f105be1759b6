"""XLA's own flags in the environment, which hold here, too, where they mean something."""

from __future__ import annotations

import os


def has_flag(name: str) -> bool:
    """Whether `XLA_FLAGS` turns on a flag, as `xla_gpu_ftz`; as in XLA, its last value counts."""
    flags = [word.split("=", 1) for word in os.environ.get("XLA_FLAGS", "").split()]
    values = [value for flag, *value in flags if flag == f"--{name}"]
    return bool(values) and values[-1] in ([], ["true"], ["1"])
