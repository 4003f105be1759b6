"""Make assignments with planted bugs, one set for each student, and grade them.

    hlo assignment make --seed 7 -o ada   a folder with suspects and exercises
    hlo assignment try ada 1 my.hlo       whether suspect 1 is wrong; --log
    hlo assignment grade ada ben          points; --format csv or json
    hlo assignment grade eve --seed 7     points for a project in eve/project.py

Every seed gives another set of over a hundred bugs: in rules, passes, kernels of C, and plans of
memory. Each answer that a student hands in runs in a sandbox, in which it can change no file, has
no network and sees no other process. It has --seconds of time and --megabytes of memory. On a
system without a sandbox, --trust runs answers that you have read. The exit status is 1 where an
answer is not right.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import emit_c
from emit_c.table import emits_c
from hlo.errors.error import HloError
from hlo.wording import counted
from hlo_tools.arguments import at_least
from hlo_tools.assignments.assignment import WORDS, make_folder, read_folder
from hlo_tools.assignments.grade import FORMATS, grade
from hlo_tools.exercises import sandbox
from hlo_tools.exercises.apart import Limits
from hlo_tools.options.files import read_sound_module
from hlo_tools.trace.changes import Tell
from optimizer.log import Log

if TYPE_CHECKING:
    from argparse import Namespace

    from hlo_tools.arguments import Parser

RIGHT, WRONG = 0, 1
ACTIONS = ("make", "try", "grade")


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    parser.add_argument("action", choices=ACTIONS, help="what to do")
    parser.add_argument("words", metavar="WORD", nargs="*", help="folders; for `try` see above")
    parser.add_argument(
        "--seed",
        type=at_least(0),
        metavar="N",
        help="seed of a student's set; of the programs that a project is tried on (default 0)",
    )
    parser.add_argument("-o", "--output", metavar="FOLDER", help="to make (default: student-N)")
    parser.add_argument(
        "--bugs", type=at_least(1), default=4, metavar="N", help="suspects (default 4)"
    )
    parser.add_argument(
        "--exercises", type=at_least(0), default=3, metavar="N", help="exercises (default 3)"
    )
    parser.add_argument(
        "--format", choices=FORMATS, default="text", help="of the table (default text)"
    )
    parser.add_argument(
        "--seconds", type=at_least(1), default=60, metavar="N", help="an answer (default 60)"
    )
    parser.add_argument(
        "--megabytes", type=at_least(64), default=4096, metavar="N", help="memory (default 4096)"
    )
    parser.add_argument("--log", action="store_true", help="for `try`: list a suspect's rewrites")
    parser.add_argument(
        "--trust", action="store_true", help="run answers with your rights, without sandbox"
    )


def run(arguments: Namespace) -> int:
    """Make, try, or grade."""
    if arguments.action == "make":
        return make(arguments)
    if arguments.action == "try":
        return try_suspect(arguments.words, log=arguments.log)
    limits = Limits(arguments.seconds, arguments.megabytes, trust=arguments.trust)
    if not arguments.words:
        raise HloError("HLO200", "no folder is given: hlo assignment grade FOLDER ...")
    if not limits.trust and (why := sandbox.refusal()):
        notes = ("--trust runs the answers with your rights: read them first",)
        raise HloError("HLO208", f"this system has no sandbox: {why}", notes=notes)
    seed = arguments.seed or 0
    marks = [m for word in arguments.words for m in grade(Path(word), limits, seed)]
    print(FORMATS[arguments.format](marks))
    return RIGHT if all(m.points == m.of for m in marks) else WRONG


def make(arguments: Namespace) -> int:
    """Write a student's folder."""
    if arguments.seed is None:
        raise HloError("HLO200", "no seed is given: hlo assignment make --seed N")
    folder = Path(arguments.output or f"student-{arguments.seed}")
    assignment = make_folder(folder, arguments.seed, arguments.bugs, arguments.exercises)
    kinds = ", ".join(bug.kind for bug in assignment.bugs)
    suspects = counted(len(assignment.bugs), "suspect")
    print(f"{folder}: {suspects} ({kinds}), {counted(len(assignment.exercises), 'exercise')}")
    return RIGHT


def try_suspect(words: list[str], *, log: bool = False) -> int:
    """Show the module that a suspect makes; on request, how: each rewrite, or the kernel's C."""
    if len(words) != 3 or not words[1].isdigit():
        raise HloError("HLO200", "say which: hlo assignment try FOLDER NUMBER FILE.hlo")
    assignment, number = read_folder(Path(words[0])), int(words[1])
    if not 1 <= number <= len(assignment.bugs):
        raise HloError("HLO204", f"there is no suspect {number}: there are {len(assignment.bugs)}")
    bug, module = assignment.bugs[number - 1], read_sound_module(words[2])
    if bug.kind in ("rule", "pass"):
        after = bug.mutant.run(module, Log([Tell(whole=True)] if log else []))
        print("it changes nothing" if after is module else str(after).rstrip())
    if log and bug.kind == "kernel":
        with emits_c.replaced(bug.opcodes[0], bug.mutant):
            print(emit_c.compile(module, optimize=False, remember=False).source)
    mistake = bug.wrong_on(module)
    outcome = f"wrong: {mistake}" if mistake else "right on this module"
    print(f"suspect {number} ({WORDS[bug.kind]}) is {outcome}")
    return WRONG if mistake is None else RIGHT
