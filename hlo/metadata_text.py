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
from hlo.value_rules import quote, unquote

if TYPE_CHECKING:
    from hlo.error import Span

# The keys in the order in which XLA prints them.
KEYS = (
    "op_type",
    "op_name",
    "source_file",
    "source_line",
    "source_end_line",
    "source_column",
    "source_end_column",
    "stack_frame_id",
    "profile_type",
    "deduplicated_name",
    "scheduling_name",
    "metadata_payload",
    "size_of_generated_code_in_bytes",
    "size_of_memory_working_set_in_bytes",
    "preserve_layout",
)
# Keys that XLA reads but never writes.
UNPRINTED = {"deduplicated_name"}
_CANONICAL = re.compile(rf"\{{{METADATA}\}}")
_ENTRY = re.compile(rf"\s*(\w+)\s*=\s*({QUOTED}|'[^']*'|\{{[^{{}}]*\}}|[\w.\-]+)\s*,?\s*")


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
    at = 1
    while at < len(text) - 1:
        found = _ENTRY.match(text, at, len(text) - 1)
        if not found:
            if text[at:-1].isspace():
                break
            place = span.part(at, len(text) - 1) if span else None
            raise HloError("HLO002", "metadata: expects `key=value`", place)
        key, value = found.groups()
        if key not in KEYS:
            notes = did_you_mean(key, KEYS)
            place = span.part(found.start(1), found.end(1)) if span else None
            raise HloError("HLO002", f"metadata has no key `{key}`", place, notes)
        entries[key] = quote(unquote(value)) if value[0] in "\"'" else value
        at = found.end()
    kept = (f"{key}={entries[key]}" for key in KEYS if key in entries and key not in UNPRINTED)
    return "{" + " ".join(kept) + "}"
