"""Every set of rules."""

from __future__ import annotations

from optimizer.cleanup import tuple_simplifier
from optimizer.rules import ALL_RULES

# The tests hold every rule of these against the interpreter, and `hlo rules` lists them.
ALL_RULE_SETS = (
    ALL_RULES,
    tuple_simplifier.RULES,
)
