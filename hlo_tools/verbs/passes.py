"""List the passes of the optimizer with their options, for `hlo opt --passes`.

Passes of other installed packages, their entry points in the group `pyhlo.passes`, are listed
too. Those in a file of your own need no list: `FILE.py:NAME` names one.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING

import optimizer
from hlo.errors.error import HloError, did_you_mean
from hlo_tools.locations import defined
from hlo_tools.own_passes import GROUP
from optimizer.pipeline_text import option_defaults, spelled

if TYPE_CHECKING:
    from argparse import Namespace

    from hlo_tools.arguments import Parser


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    parser.add_argument("word", nargs="?", help="only passes with this in their name or summary")


def run(arguments: Namespace) -> int:
    """Print a line a pass, and a line an option.

    Raises
    ------
    HloError
        HLO204 if no pass has the word.
    """
    others = {entry.name: entry.value for entry in entry_points(group=GROUP)}
    summaries = {name: (c.__doc__ or "").partition("\n")[0] for name, c in optimizer.PASSES.items()}
    summaries = {**others, **summaries}
    word: str = arguments.word or ""
    shown = {n: s for n, s in sorted(summaries.items()) if word.lower() in f"{n} {s}".lower()}
    if not shown:
        notes = did_you_mean(word, summaries)
        raise HloError("HLO204", f"no pass has `{word}` in its name or summary", notes=notes)
    width = max(map(len, shown))
    for name, summary in shown.items():
        pass_class = optimizer.PASSES.get(name)
        location = f"  ({defined(pass_class)})" if pass_class else ""
        print(f"{name:{width}}  {summary}{location}")
        if pass_class is None:
            continue
        for option, default in option_defaults(pass_class).items():
            print(f"{'':{width}}    {option}={spelled(default)}")
    return 0
