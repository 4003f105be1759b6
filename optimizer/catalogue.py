"""Every rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.support.lazily import import_files
from optimizer.cleanup import tuple_simplifier
from optimizer.expanders.op_expander import EXPANSION_RULES
from optimizer.rules import ALL_RULES

if TYPE_CHECKING:
    from optimizer.rewriting.rule import Rule


def all_rules() -> tuple[Rule, ...]:
    """The rules that the tests hold against the interpreter, and `hlo rules` lists.

    Those of expanders come last, by name: which of their files is imported first says nothing.
    """
    import_files("optimizer")
    expansions = sorted(EXPANSION_RULES.values(), key=lambda rule: rule.name)
    return (*ALL_RULES, *tuple_simplifier.RULES, *expansions)
