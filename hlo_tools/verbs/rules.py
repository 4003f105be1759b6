"""List the rewrite rules of the optimizer, each with its promise: how exactly it keeps values.

BITS keeps every bit. ZERO_SIGN may flip the sign of a zero, FINITE may also change what NaN and
infinities become, ROUNDING also the last digits. Each keeps integers exactly. The project's tests
hold every rule against the interpreter, and show that it does not keep the next stronger promise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interpreter.compare import PROMISES
from optimizer.catalogue import ALL_RULE_SETS

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    """The verb's command line."""
    parser.add_argument("word", nargs="?", help="only rules that have this in their text")
    parser.add_argument("--promise", choices=PROMISES, help="only rules with this promise")


def run(arguments: Namespace) -> int:
    """Print a line a rule."""
    rules = [
        rule
        for rule_set in ALL_RULE_SETS
        for rule in rule_set
        if arguments.promise in (None, rule.promise_name)
        and (arguments.word is None or arguments.word in str(rule))
    ]
    width = max(map(len, PROMISES))
    for rule in rules:
        xla = f"    XLA: {rule.xla}" if rule.xla else ""
        print(f"{rule.promise_name:{width}}  {rule}{xla}")
    print(f"\n{len(rules)} rules")
    return 0
