"""Every pass: importing this file enters them all into `optimizer.passes.PASSES`."""

from __future__ import annotations

from optimizer.cleanup import cse, dce, tuple_simplifier
from optimizer.simplification import algebraic_simplifier

MODULES = (
    algebraic_simplifier,
    cse,
    dce,
    tuple_simplifier,
)
