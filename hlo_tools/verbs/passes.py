"""List the passes of the optimizer with their options, for `hlo opt --passes`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import optimizer
from optimizer.pipeline_text import option_defaults

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    """The verb's command line: there is nothing to choose."""
    del parser


def run(arguments: Namespace) -> int:
    """Print a line a pass, and a line an option."""
    del arguments
    width = max(map(len, optimizer.PASSES))
    for name, pass_class in sorted(optimizer.PASSES.items()):
        print(f"{name:{width}}  {(pass_class.__doc__ or '').partition(chr(10))[0]}")
        for option, default in option_defaults(pass_class).items():
            spelled = str(default).lower() if isinstance(default, bool) else default
            print(f"{'':{width}}    {option}={spelled}")
    return 0
