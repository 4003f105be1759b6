"""Lark parsers of the grammar in `hlo.lark`.

Building the tables of a grammar takes ten times longer than reading them from a file, and longer
than parsing 500 KB of HLO; so Lark keeps them in the user's cache, and makes them anew when the
grammar, Lark or Python has changed.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lark import Lark

from hlo.support.cache import cache_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

# Rules that cut a text into pieces; `hlo.read.syntax` says into which.
PIECES = (
    "commented",
    "text",
    "operands",
    "names",
    "called",
    "called_list",
    "parameters",
    "elements",
    "shaped_literal",
)
# Rules that read a value; a class of `hlo.attributes` names one for each of its attributes.
KINDS = (
    "int",
    "bool",
    "float",
    "word",
    "group_mode",
    "string",
    "ints",
    "int_lists",
    "bools",
    "precisions",
    "shape",
    "shapes",
    "computation_layout",
    "window",
    "padding",
    "slice_ranges",
    "dim_labels",
    "operand_aliases",
    "origin",
    "recovery_table",
    "statistics",
    "domain",
    "input_output_alias",
    "buffer_donor",
    "sharding",
    "replica_groups",
    "metadata",
    "frontend_attributes",
    "result_accuracy",
    "sparsity_config",
)


def load_grammar(name: str, start: Sequence[str], **options: Any) -> Any:
    """The LALR parser of some rules of the grammar.

    Parameters
    ----------
    name : of the file of tables in the cache.
    start : the rules that a text may be read by.
    options : of `lark.Lark`.
    """
    text = Path(__file__).with_name("hlo.lark").read_text()
    folder = cache_folder("grammars")
    return Lark(
        text,
        parser="lalr",
        start=list(start),
        cache=str(folder / f"{name}.tables") if folder else False,
        maybe_placeholders=True,
        g_regex_flags=re.ASCII,
        **options,
    )
