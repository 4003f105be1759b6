"""The platforms that can run a module, for `hlo run --platform` and `--reference`.

A package that brings a platform puts its runner here in the place of the reason why there is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hlo.error import HloError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable

INTERPRETER: Final = "interpreter"

# What each platform is, in one line.
PLATFORMS: Final = {
    INTERPRETER: "the reference interpreter, in NumPy",
    "c": "optimized, emitted as C and compiled for the CPU",
    "cuda": "optimized, emitted as CUDA C and run on a GPU",
    "cuda-host": "the emitted CUDA C, run on the CPU",
}
