"""Lark parsers of the grammar in `hlo.lark`.

Building the tables of a grammar takes ten times longer than reading them from a file, and longer
than parsing 500 KB of HLO; so they are kept in the user's cache, and made anew when the grammar or
Lark has changed. Lark would keep them pickled, and whoever could write such a file could have
anything run.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import lark
from lark import Lark
from lark.grammar import Rule
from lark.lark import _LOAD_ALLOWED_OPTIONS  # pyright: ignore[reportPrivateUsage]
from lark.lexer import TerminalDef

from hlo.support.cache import cache_folder, read_sealed, write_sealed

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
PLAIN_KINDS = (
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
)
KINDS = (
    *PLAIN_KINDS,
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
    decided: dict[str, Any] = {
        "parser": "lalr", "start": list(start), "maybe_placeholders": True,
        "g_regex_flags": re.ASCII,
        **{n: v for n, v in options.items() if n not in _LOAD_ALLOWED_OPTIONS},
    }  # fmt: skip
    key = hashlib.sha256(f"{lark.__version__} {decided} {text}".encode()).hexdigest()
    folder = cache_folder("grammars")
    path = folder / f"{name}.json" if folder else None
    recalled = _recalled(path, key) if path else None
    if recalled:
        changing = {n: v for n, v in (decided | options).items() if n in _LOAD_ALLOWED_OPTIONS}
        return cast("Any", Lark)._load_from_dict(recalled["data"], recalled["memo"], **changing)  # noqa: SLF001
    parser: Any = Lark(text, **(decided | options))
    if path:
        _remember(path, key, parser)
    return parser


def _recalled(path: Path, key: str) -> dict[str, Any] | None:
    """The tables that were kept under a key, as Lark takes them; None if there are none."""
    text = read_sealed(path)
    data: dict[str, Any] = json.loads(text) if text else {}
    if data.get("key") != key:
        return None
    # The keys of JSON's objects are strings.
    data["memo"] = {int(number): part for number, part in data["memo"].items()}
    tables = data["data"]["parser"]["parser"]
    tables["tokens"] = {int(number): token for number, token in tables["tokens"].items()}
    tables["states"] = {
        int(state): {int(token): tuple(action) for token, action in actions.items()}
        for state, actions in tables["states"].items()
    }
    return data


def _remember(path: Path, key: str, parser: Any) -> None:
    """Keep the tables of a parser, without the options that are given on loading."""
    data, memo = parser.memo_serialize([TerminalDef, Rule])
    data["options"] = {n: v for n, v in data["options"].items() if n not in _LOAD_ALLOWED_OPTIONS}
    write_sealed(path, json.dumps({"key": key, "data": data, "memo": memo}).encode())
