"""List the rewrite rules of the optimizer, each with its promise: how exactly it keeps values.

BITS keeps every bit. ZERO_SIGN may flip the sign of a zero, FINITE may also change what NaN and
infinities become, ROUNDING also the last digits, LOSSY many digits and what becomes 0 on the way,
MAGNITUDE all digits but a number's size to a factor of four. Each keeps integers exactly.

Below each rule is what was shown of it. A rule is "proved" if its promise holds for all values:
by an SMT solver (integers at every width, IEEE floats), by trying every value of small types, or
because elements are only moved; a rule about arrays, at the shapes that were tried. It is "partly"
proved for some types or constants, "sampled" if it was only tried on random values, and "not run
yet" if it was changed since. Where there is no proof, the line says why.

--prove proves the rules now, and stops with a counterexample at one that is wrong. A WORD such as
`my_rules.py:RULES` names rules of your own. It needs the SMT solver: pip install z3-solver.

With --why FILE and --at NAME, each rule says why it does not rewrite that instruction.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from hlo.errors.error import HloError, did_you_mean
from hlo.walk import users
from hlo.wording import counted, with_article
from hlo_tools.locations import spell_location
from hlo_tools.options.files import read_sound_module
from hlo_tools.proofs.own_rules import find_rules, names_a_file
from hlo_tools.proofs.record import Evidence, evidence_of, read_record, write_record
from interpreter.numbers.compare import PROMISES
from optimizer.catalogue import all_rules
from optimizer.rewriting.rule import why_not
from optimizer.rewriting.version import version

if TYPE_CHECKING:
    from argparse import Namespace

    from hlo.instruction import Module
    from hlo_tools.arguments import Parser
    from optimizer.rewriting.rule import Rule

RIGHT, WRONG = 0, 1
WORDS: Final = ("proved", "partly", "sampled", "not run yet")
BELOW: Final = " " * 20


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    parser.add_argument("word", nargs="?", help="only rules that have this in their text")
    parser.add_argument("--promise", choices=PROMISES, help="only rules with this promise")
    parser.add_argument("--why", metavar="FILE", help="tell why rules do not apply in this module")
    parser.add_argument("--at", metavar="NAME", help="... to this instruction; else to the root")
    parser.add_argument("--prove", action="store_true", help="prove the rules, or refute them")
    parser.add_argument(
        "--record",
        action="store_true",
        help="... those not run yet, and write it down",
    )
    parser.only_with(("--at",), "--why")
    parser.only_with(("--record",), "--prove")
    parser.not_with("--prove", "--why")


def run(arguments: Namespace) -> int:
    """Print a line a rule, and below it where it is from, and the evidence for it."""
    word = arguments.word
    rules = find_rules(word) if word and names_a_file(word) else _listed(arguments)
    if not rules:
        raise HloError("HLO204", f"no rule{_limits(arguments)}", notes=["`hlo rules` lists all"])
    if arguments.why:
        print("\n".join(reasons(rules, read_sound_module(arguments.why), arguments.at)))
        return RIGHT
    if arguments.prove:
        return _prove(rules, arguments.record)
    record = read_record()
    counts: Counter[str] = Counter()
    for rule in rules:
        evidence = evidence_of(rule, record)
        word = evidence.word if evidence else "not run yet"
        counts[word] += 1
        print(_line(rule, word))
        print(_below(evidence) if evidence else f"{BELOW}version {version(rule)}")
    shown = ", ".join(f"{counts[word]} {word}" for word in WORDS if counts[word])
    print(f"\n{counted(len(rules), 'rule')}: {shown}")
    return RIGHT


def _listed(arguments: Namespace) -> list[Rule]:
    """The optimizer's rules that the command line asks for."""
    return [
        rule
        for rule in all_rules()
        if arguments.promise in (None, rule.promise_name)
        and (arguments.word is None or arguments.word in str(rule))
    ]


def _line(rule: Rule, word: str) -> str:
    xla = f"XLA: {rule.xla}; " if rule.xla else ""
    head = f"{rule.promise_name:{max(map(len, PROMISES))}}  {word:7}  {rule}"
    return f"{head}\n{BELOW}{xla}{spell_location(rule.location)}"


def _below(evidence: Evidence) -> str:
    return "\n".join(f"{BELOW}{line}" for line in str(evidence).splitlines())


def _prove(rules: list[Rule], recorded: bool) -> int:
    """Prove rules, a line each; stop at one that is wrong."""
    # The solver is loaded only here: nothing else needs it.
    from hlo_tools.proofs.evidence import gather_evidence  # noqa: PLC0415
    from hlo_tools.proofs.prove import RefutedError  # noqa: PLC0415

    record = read_record() if recorded else {}
    for rule in rules:
        if evidence_of(rule, record) is None:
            try:
                record[rule.name] = gather_evidence(rule)
            except RefutedError as error:
                print(f"{_line(rule, 'WRONG')}\n\n{error}")
                return WRONG
            print(f"{_line(rule, record[rule.name].word)}\n{_below(record[rule.name])}", flush=True)
        if recorded:
            write_record({r.name: record[r.name] for r in all_rules() if r.name in record})
    return RIGHT


def _limits(arguments: Namespace) -> str:
    word = f" has `{arguments.word}` in its text" if arguments.word else ""
    promise = f" promises {arguments.promise}" if arguments.promise else ""
    return " and".join(filter(None, (word, promise)))


def reasons(rules: list[Rule], module: Module, name: str | None) -> list[str]:
    """The reasons why rules do not rewrite an instruction, a line for each.

    Raises
    ------
    HloError
        HLO204 if the module has no such instruction, or none of the rules is about its opcode.
    """
    wanted = (name or module.entry.root.name).removeprefix("%")
    homes = {instr.name: (instr, c) for c in module.computations for instr in c.instructions}
    if wanted not in homes:
        message = f"there is no instruction `{wanted}`"
        raise HloError("HLO204", message, notes=did_you_mean(wanted, homes))
    instr, computation = homes[wanted]
    uses = {used: len(by) for used, by in users(computation).items()}
    fitting = [rule for rule in rules if instr.opcode in rule.left.opcodes]
    if not fitting:
        count = counted(len(rules), "rule")
        message = f"none of {count} rewrites {with_article(instr.opcode)}, as %{wanted} is"
        raise HloError("HLO204", message, notes=["--at NAME asks about another instruction"])
    return [f"{rule}\n    {why_not(rule, instr, uses)}" for rule in fitting]
