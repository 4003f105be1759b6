"""Lark parsers of the two grammars, `hlo.lark` and `values.lark`.

Building the tables of a grammar takes ten times longer than reading them from a file, and longer
than parsing 500 KB of HLO; so Lark keeps them in the user's cache, and makes them anew when the
grammar, Lark or Python has changed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lark import Lark

from hlo.support.cache import cache_folder


def load_grammar(name: str, **options: Any) -> Any:
    """The LALR parser of a grammar.

    Parameters
    ----------
    name : of the file, without `.lark`.
    options : of `lark.Lark`.
    """
    text = Path(__file__).with_name(f"{name}.lark").read_text()
    folder = cache_folder("grammars")
    cache = str(folder / f"{name}.tables") if folder else False
    return Lark(text, parser="lalr", cache=cache, maybe_placeholders=True, **options)
