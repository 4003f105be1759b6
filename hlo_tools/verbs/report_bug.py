"""Pack a run of `hlo` that goes wrong into one zip, as a report for PyHLO's developers.

    hlo report-bug -o bug.zip run m.hlo --platform c --input x.npz
    hlo replay bug.zip

The run is made once more. The zip has its words, the files that they name, what it printed and
wrote, its exit status, and the versions of everything that may matter. Look into it before you send
it: it has the whole of these files. `hlo minimize` makes the module small before.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.wording import counted
from hlo_tools.running.bug_report import make_report

if TYPE_CHECKING:
    from argparse import Namespace

    from hlo_tools.arguments import Parser

# Of these a report makes no sense.
_NOT_REPORTED = ("report-bug", "replay")


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the zip")
    parser.add_argument("verb", metavar="VERB", help="what goes wrong: a verb of `hlo`")
    parser.add_argument("words", metavar="...", nargs=argparse.REMAINDER, help="its own words")


def run(arguments: Namespace) -> int:
    """Run it, and write the zip.

    Raises
    ------
    HloError
        HLO203 for a verb that is not reported.
    """
    if arguments.verb in _NOT_REPORTED:
        raise HloError("HLO203", f"`hlo {arguments.verb}` is not reported")
    report = make_report([arguments.verb, *arguments.words], arguments.output)
    files = counted(len(report.files), "file")
    print(f"{arguments.output}: {files}, exit status {report.status}")
    return 0
