"""Reads what stands around the computations: the `HloModule` line and the stack-frame tables."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hlo.error import HloError, did_you_mean
from hlo.instruction import Header, StackFrames
from hlo.value_text import read

if TYPE_CHECKING:
    from lark import Token

    from hlo.error import Span

# Attributes of the header by the rule that reads them; "raw" ones are kept as written.
HEADER_ATTRIBUTES = {
    "is_scheduled": "bool",
    "replica_count": "int",
    "num_partitions": "int",
    "alias_passthrough_params": "bool",
    "entry_computation_layout": "computation_layout",
    "input_output_alias": "input_output_alias",
    "buffer_donor": "buffer_donor",
    "frontend_attributes": "frontend_attributes",
    "allow_spmd_sharding_propagation_to_parameters": "bools",
    "allow_spmd_sharding_propagation_to_output": "bools",
    "origin_recovery_table": "raw",
    "debug_attributes": "raw",
}
_ROW = re.compile(r'(\d+)[ \t]+("(?:\\.|[^"\\])*"|\{[^{}]*\})')
_TABLES = {
    "FileNames": "file_names",
    "FunctionNames": "function_names",
    "FileLocations": "file_locations",
    "StackFrames": "stack_frames",
}


def split_attribute(text: str, span: Span) -> tuple[str, str, Span]:
    """Key, value and the value's place, of a `key=value` token."""
    key, _, value = text.partition("=")
    lead = len(key) + 1 + len(value) - len(value.lstrip())
    return key.rstrip(), value.strip(), span.part(lead, len(text))


def read_header(attributes: list[tuple[Token, Span]]) -> Header:
    """The header of a module from its attributes."""
    fields: dict[str, Any] = {}
    others: list[tuple[str, str]] = []
    for token, span in attributes:
        key, text, place = split_attribute(token, span)
        kind = HEADER_ATTRIBUTES.get(key)
        if kind is None:
            notes = did_you_mean(key, HEADER_ATTRIBUTES)
            raise HloError("HLO005", f"HloModule has no attribute `{key}`", span, notes)
        if key in fields or any(key == other for other, _ in others):
            raise HloError("HLO005", f"attribute `{key}` is given twice", span)
        if kind == "raw":
            others.append((key, text))
        else:
            value = read(kind, text, place)
            fields[key] = value if kind != "bools" or isinstance(value, tuple) else (value,)
    return Header(**fields, others=tuple(others))


def read_stack_frames(tables: StackFrames, token: Token, span: Span) -> StackFrames:
    """The tables with one more filled in."""
    heading = token.split(None, 1)[0]
    rows: list[str] = []
    for row in _ROW.finditer(token):
        if int(row[1]) != len(rows) + 1:
            raise HloError("HLO006", f"row {row[1]} of {heading} should be {len(rows) + 1}", span)
        rows.append(row[2])
    return replace(tables, **{_TABLES[heading]: tuple(rows)})
