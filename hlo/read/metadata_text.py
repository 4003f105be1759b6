"""Reads `metadata={...}`: where an instruction came from in the user's program.

Nearly every instruction of a dump carries its own, so this is the commonest attribute by far, and
it is read by regular expressions rather than by the grammar.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hlo.attributes.annotations import Metadata
from hlo.errors.error import HloError, did_you_mean
from hlo.read.lexer import METADATA, QUOTED
from hlo.read.quoting import quote, unquote

if TYPE_CHECKING:
    from hlo.errors.error import Span

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
# Values that are as good as none.
_NOTHING = {None, '""', "0", "{}"}
_CANONICAL = re.compile(rf"\{{{METADATA}\}}", re.ASCII)
_ENTRY = re.compile(
    rf"\s*(\w+)\s*=\s*({QUOTED}|'(?:[^'\\]++|\\.)*+'|\{{[^{{}}]*\}}|[\w.\-]+)\s*,?\s*", re.ASCII
)
_KINDS = {
    "string": re.compile(r"[\"'].*", re.DOTALL),
    "number": re.compile(r"-?\d{1,19}", re.ASCII),
    "braces": re.compile(r"\{.*\}", re.DOTALL),
    "word": re.compile(r"\w+", re.ASCII),
}


def read_metadata(text: str, span: Span | None) -> Metadata:
    """The metadata that a text in braces spells.

    Raises
    ------
    HloError
        HLO002 if it does not read as `{key=value key=value}`.
    """
    if not text.startswith("{"):
        raise HloError("HLO002", "metadata stands in braces", span)
    if not _CANONICAL.fullmatch(text):
        text = _canonical_form(text, span)
    return Metadata(text[1:-1])


def _canonical_form(text: str, span: Span | None) -> str:
    entries: dict[str, str] = {}
    at, end = 1, len(text) - 1
    while text[at:end].strip():
        found = _ENTRY.match(text, at, end)
        if not found:
            place = span.part(at, end) if span else None
            raise HloError("HLO002", "metadata: expects `key=value`", place)
        key, value = found.groups()
        place = span.part(*found.span(1)) if span else None
        if key not in KEYS:
            notes = did_you_mean(key, KEYS)
            raise HloError("HLO002", f"metadata has no key `{key}`", place, notes)
        if key in entries:
            raise HloError("HLO002", f"metadata: `{key}` is given twice", place)
        if not _KINDS[KEYS[key]].fullmatch(value):
            raise HloError("HLO002", f"metadata: `{key}` is a {KEYS[key]}", place)
        entries[key] = _canonical_value(KEYS[key], value)
        if KEYS[key] == "number" and not -_INT32 <= int(value) < _INT32:
            raise HloError("HLO002", f"metadata: `{key}` does not fit into 32 bits", place)
        at = found.end()
    kept = (f"{key}={entries[key]}" for key in KEYS if entries.get(key) not in _NOTHING)
    return "{" + " ".join(kept) + "}"


def _canonical_value(kind: str, value: str) -> str:
    if kind == "string":
        return quote(unquote(value))
    return str(int(value)) if kind == "number" else "".join(value.split())


def is_seen(text: str) -> bool:
    """Whether XLA prints an instruction's metadata, of which this is all that stands in braces."""
    return not _UNSEEN.fullmatch(text)
