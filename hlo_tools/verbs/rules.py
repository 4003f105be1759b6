"""List the rewrite rules of the optimizer, each with its promise: how exactly it keeps values.

BITS keeps every bit. ZERO_SIGN may flip the sign of a zero, FINITE may also change what NaN and
infinities become, ROUNDING also the last digits. Each keeps integers exactly.

The project's tests hold every rule against the interpreter on random instances, and show that it
does not keep the next stronger promise. A rule is "proved" where they also try all values of its
variables in pred, s4, u4 and f8e5m2, and "sampled" where they can't.

With --why FILE and --at NAME, each rule says why it does not rewrite that instruction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.errors.error import HloError, did_you_mean
from hlo.walk import users
from hlo.wording import counted
from hlo_tools.files import read_sound_module
from interpreter.numbers.compare import PROMISES
from optimizer.catalogue import ALL_RULE_SETS
from optimizer.rewriting.evidence import evidence, is_proved
from optimizer.rewriting.rule import why_not

if TYPE_CHECKING:
    from argparse import Namespace

    from hlo.instruction import Module
    from hlo_tools.arguments import Parser
    from optimizer.rewriting.rule import Rule


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    parser.add_argument("word", nargs="?", help="only rules that have this in their text")
    parser.add_argument("--promise", choices=PROMISES, help="only rules with this promise")
    parser.add_argument("--why", metavar="FILE", help="tell why rules do not apply in this module")
    parser.add_argument("--at", metavar="NAME", help="... to this instruction; else to the root")
    parser.only_with(("--at",), "--why")


def run(arguments: Namespace) -> int:
    """Print a line a rule."""
    rules = [
        rule
        for rule_set in ALL_RULE_SETS
        for rule in rule_set
        if arguments.promise in (None, rule.promise_name)
        and (arguments.word is None or arguments.word in str(rule))
    ]
    if not rules:
        raise HloError("HLO204", f"no rule{_limits(arguments)}", notes=["`hlo rules` lists all"])
    if arguments.why:
        print("\n".join(reasons(rules, read_sound_module(arguments.why), arguments.at)))
        return 0
    width = max(map(len, PROMISES))
    for rule in rules:
        xla = f"    XLA: {rule.xla}" if rule.xla else ""
        print(f"{rule.promise_name:{width}}  {evidence(rule):7}  {rule}{xla}")
    proved = sum(map(is_proved, rules))
    print(f"\n{counted(len(rules), 'rule')}, {proved} of them proved in small types")
    return 0


def _limits(arguments: Namespace) -> str:
    word = f" has `{arguments.word}` in its text" if arguments.word else ""
    promise = f" promises {arguments.promise}" if arguments.promise else ""
    return " and".join(filter(None, (word, promise)))


def reasons(rules: list[Rule], module: Module, name: str | None) -> list[str]:
    """A line a rule: why it does not rewrite an instruction.

    Raises
    ------
    HloError
        HLO204 if the module has no such instruction.
    """
    wanted = (name or module.entry.root.name).removeprefix("%")
    found = {instr.name: (instr, c) for c in module.computations for instr in c.instructions}
    if wanted not in found:
        message = f"there is no instruction `{wanted}`"
        raise HloError("HLO204", message, notes=did_you_mean(wanted, found))
    instr, computation = found[wanted]
    uses = {used: len(by) for used, by in users(computation).items()}
    return [
        f"{rule}\n    {why_not(rule, instr, uses)}"
        for rule in rules
        if instr.opcode in rule.left.opcodes
    ]
