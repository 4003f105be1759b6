"""The stepper: single rewrites and kernel passes, forwards and backwards.

`Stepper(module)` is it, for programs; `step(module)` takes the commands of `hlo step`, for
notebooks.
"""

from __future__ import annotations

from hlo_tools.step.session import Session, step
from hlo_tools.step.stepper import Stepper

__all__ = ["Session", "Stepper", "step"]
