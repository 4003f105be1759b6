"""The options of a verb, as tests over all of them go through them."""

import argparse
from importlib import import_module

from hlo_tools.arguments import Parser


def options_of(verb: str) -> list[argparse.Action]:
    """The verb's options, but for --help."""
    parser = Parser(prog=verb)
    import_module(f"hlo_tools.verbs.{verb.replace('-', '_')}").add_arguments(parser)
    return [a for a in parser._actions if a.option_strings and a.dest != "help"]
