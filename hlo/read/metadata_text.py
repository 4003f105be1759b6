"""Metadata in XLA's form: `metadata={...}` says where an instruction came from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hlo.attributes.annotations import Metadata
from hlo.errors.error import did_you_mean
from hlo.read.quoting import QUOTED, quote, unquote
from hlo.read.rule_tools import BadValue, integer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lark import Token

# The keys in the order in which XLA prints them, each with the kind of its value.
KEYS = {
    "op_type": "string",
    "op_name": "string",
    "source_file": "string",
    "source_line": "number",
    "source_end_line": "number",
    "source_column": "number",
    "source_end_column": "number",
    "profile_type": "braces",
    "deduplicated_name": "string",
    "scheduling_name": "string",
    "stack_frame_id": "number",
    "metadata_payload": "string",
    "size_of_generated_code_in_bytes": "number",
    "size_of_memory_working_set_in_bytes": "number",
    "preserve_layout": "word",
}
# Keys that alone are not worth being written: XLA then leaves the metadata of an instruction out.
_UNSEEN = re.compile(
    rf"(?:(?:source_\w+=-?\d+|profile_type=\{{[^}}]*\}}|deduplicated_name={QUOTED})(?: |$))*",
    re.ASCII,
)
_INT32 = 2**31
# The terminals of each kind of value.
_TOKENS = {"string": {"STRING"}, "number": {"INT"}, "braces": {"RAW"}, "word": {"WORD", "INT"}}
# Values that are as good as none.
_NOTHING = {None, '""', "0", "{}"}


def canonical_metadata(entries: Sequence[tuple[Token, Token]]) -> Metadata:
    """Metadata with its keys in XLA's order, without those that are as good as none.

    Parameters
    ----------
    entries : keys and the texts of their values.

    Raises
    ------
    BadValue
        if a key is unknown, or given twice, or has a value of another kind.
    """
    fields: dict[str, str] = {}
    for key, value in entries:
        if key not in KEYS:
            raise BadValue(f"there is no key `{key}`", key, did_you_mean(key, KEYS))
        if key in fields:
            raise BadValue(f"`{key}` is given twice", key)
        if value.type not in _TOKENS[KEYS[key]]:
            raise BadValue(f"`{key}` is a {KEYS[key]}", key)
        fields[key] = _canonical_value(KEYS[key], value)
        if KEYS[key] == "number" and not -_INT32 <= integer(value) < _INT32:
            raise BadValue(f"`{key}` does not fit into 32 bits", key)
    pairs = (f"{key}={fields[key]}" for key in KEYS if fields.get(key) not in _NOTHING)
    return Metadata(" ".join(pairs))


def _canonical_value(kind: str, value: Token) -> str:
    if kind == "string":
        return quote(unquote(value))
    return str(integer(value)) if kind == "number" else "".join(value.split())


def is_seen(text: str) -> bool:
    """Whether XLA prints an instruction's metadata, of which this is all that is in braces."""
    return not _UNSEEN.fullmatch(text)
