"""The options by which verbs choose passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.pipeline_text import parse_pipeline
from optimizer.pipelines import pipeline

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from optimizer.passes import Pipeline


def add_pipeline_options(parser: ArgumentParser) -> None:
    """The options that `chosen_pipeline` looks at."""
    parser.add_argument(
        "--passes", metavar="A,B", help="passes by name, such as `cse,dce` (see `hlo passes`)"
    )
    parser.add_argument(
        "--target", choices=("cpu", "gpu"), default="cpu", help="whose standard pipeline"
    )
    parser.add_argument(
        "--strict", action="store_true", help="in it, only what keeps every bit of every value"
    )


def chosen_pipeline(arguments: Namespace) -> Pipeline:
    """The passes that were asked for, or the target's standard pipeline."""
    if arguments.passes:
        return parse_pipeline(arguments.passes)
    return pipeline(arguments.target, strict=arguments.strict)
