"""The stepper: single rewrites and kernel passes, forwards and backwards.

`Stepper(module)` is it, for notebooks and programs; `hlo step` puts it behind a prompt.
"""

from __future__ import annotations

from hlo_tools.step.stepper import Stepper

__all__ = ["Stepper"]
