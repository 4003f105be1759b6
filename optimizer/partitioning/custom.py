"""Custom calls that their user divides: JAX's `custom_partitioning`.

A function says for a call how operands and results are cut, and what each device does with parts.
Cuts are propagated through the call by a rule that the program has: `xla.sdy.sharding_rule`.

    "#sdy.op_sharding_rule<([i, j], [j, k])->([i, k]) {i=8, j=4, k=8} reduction={j}, custom>"
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from optimizer.partitioning.sharding_rules import (
    PASS_THROUGH,
    PERMUTATION,
    REDUCTION,
    REPLICATION,
    Factor,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hlo.instruction import Instruction, Module
    from hlo.types.sharding import Sharding
    from optimizer.partitioning.sharding_rules import Rule

RULE = "xla.sdy.sharding_rule"
_FACTOR = re.compile(r"[a-z](?:_\d+)?")
_KINDS = {"reduction": REDUCTION, "need_replication": REPLICATION, "permutation": PERMUTATION}


@dataclass(frozen=True)
class DividedCall:
    """A call as its user divides it.

    Attributes
    ----------
    module : what each device runs.
    operands, results : the shardings of its parameters and results.
    """

    module: Module
    operands: Sequence[Sharding]
    results: Sequence[Sharding]


# By target: takes the call, and the shardings of operands and results as propagation found them.
DIVIDERS: dict[
    str, Callable[[Instruction, Sequence[Sharding], Sequence[Sharding]], DividedCall]
] = {}


def said_rule(instr: Instruction) -> Rule | None:
    """The rule that a custom call itself has; None if it has none."""
    attributes = instr.annotations.frontend_attributes
    text = attributes.get(RULE) if attributes else None
    match = re.search(r"<\((.*?)\)\s*->\s*\((.*?)\)\s*\{(.*?)\}(.*)>", text or "")
    if match is None:
        return None
    operands, results = (
        [_dims(inside) for inside in re.findall(r"\[([^\]]*)\]", match[n])] for n in (1, 2)
    )
    sizes = {name: int(size) for name, size in re.findall(r"([\w]+)\s*=\s*(\d+)", match[3])}
    kinds = {
        factor: kind
        for key, kind in _KINDS.items()
        for inside in re.findall(rf"\b{key}=\{{([^}}]*)\}}", match[4])
        for factor in _FACTOR.findall(inside)
    }
    # A dimension of several factors is cut along its first one; the others are needed whole.
    minor = {f for dims in (*operands, *results) for dim in dims for f in dim[1:]}
    factors: list[Factor] = []
    for name, size in sizes.items():
        if name in minor:
            continue
        here, there = (
            tuple(
                next((d for d, dim in enumerate(dims) if dim[:1] == [name]), None) for dims in names
            )
            for names in (operands, results)
        )
        factors.append(Factor(here, there, kinds.get(name, PASS_THROUGH), size))
    return tuple(factors)


def _dims(inside: str) -> list[list[str]]:
    return [_FACTOR.findall(dim) for dim in inside.split(",")] if inside.strip() else []
