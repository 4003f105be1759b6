"""Reads `metadata={...}`: where an instruction came from in the user's program.

Nearly every instruction of a dump carries its own, so this is the commonest attribute by far, and
it is read by regular expressions rather than by the grammar.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hlo.annotations import Metadata
from hlo.error import HloError, did_you_mean
from hlo.lexer import METADATA, QUOTED
from hlo.quoting import quote, unquote

if TYPE_CHECKING:
    from hlo.error import Span

# The keys in the order in which XLA prints them, each with the kind of its value.
KEYS = {
    "op_type": "string",
    "op_name": "string",
    "source_file": "string",
    "source_line": "number",
    "source_end_line": "number",
    "source_column": "number",
    "source_end_column": "number",
    "stack_frame_id": "number",
    "profile_type": "braces",
    "deduplicated_name": "string",
    "scheduling_name": "string",
    "metadata_payload": "string",
    "size_of_generated_code_in_bytes": "number",
    "size_of_memory_working_set_in_bytes": "number",
    "preserve_layout": "word",
}
# Keys that XLA reads but never writes.
UNPRINTED = {"deduplicated_name"}
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
        entries[key] = quote(unquote(value)) if value[0] in "\"'" else value
        at = found.end()
    kept = (f"{key}={entries[key]}" for key in KEYS if key in entries and key not in UNPRINTED)
    return "{" + " ".join(kept) + "}"
