"""What the project's tests show of a rule; they ask here which of them apply to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.opcode import OPCODES
from optimizer.rewriting.term import Application, ConstantVariable, Term, Variable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from optimizer.rewriting.rule import Rule

# All values of three variables of four bits are 4,096 combinations; of four, 65,536 for each
# constant.
MOST_VARIABLES = 3


def terms(side: Term) -> Iterator[Term]:
    """All parts of a pattern, the whole first."""
    yield side
    for operand in side.operands if isinstance(side, Application) else ():
        yield from terms(operand)


def is_proved(rule: Rule) -> bool:
    """Whether a rule is tried on all values of its variables in small types.

    It is if each element of the result depends on one element of each variable, and there are few
    variables: in pred, s4 and u4 that proves the rule, in f8e5m2 nearly so.
    """
    parts = list(terms(rule.left))
    elementwise = all(
        OPCODES[opcode].elementwise
        for part in parts
        if isinstance(part, Application)
        for opcode in part.opcodes
    )
    variables = {part.name for part in parts if isinstance(part, Variable | ConstantVariable)}
    return elementwise and len(variables) <= MOST_VARIABLES


def evidence(rule: Rule) -> str:
    """How the tests hold a rule to its promise, in a word.

    "proved" for all values in small types and random instances; "sampled" for the latter only.
    """
    return "proved" if is_proved(rule) else "sampled"
