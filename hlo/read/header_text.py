"""Reads the text around computations: the `HloModule` line and the stack-frame tables."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from hlo.errors.error import HloError, did_you_mean
from hlo.instruction import Header, StackFrames
from hlo.read.old_names import old_attribute
from hlo.read.recovery_text import read_recovery_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hlo.read.by_grammar import GrammarReader
    from hlo.read.syntax import Item, TableSyntax

# Attributes of the header by the rule that reads them.
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
    "origin_recovery_table": "recovery_table",
}
_TABLES = {
    "FileNames": "file_names",
    "FunctionNames": "function_names",
    "FileLocations": "file_locations",
    "StackFrames": "stack_frames",
}
_ORDER = f"the tables are {', '.join(_TABLES)}, in this order"


def read_header(
    items: Sequence[Item], reader: GrammarReader, reprint: Callable[[str], str]
) -> Header:
    """The header of a module from its attributes.

    Parameters
    ----------
    reprint : parses a module and prints it.

    Raises
    ------
    HloError
        HLO002 if a value can't be read, HLO005 if an attribute is unknown or given twice.
    """
    fields: dict[str, Any] = {}
    others: list[tuple[str, str]] = []
    for key, value in items:
        kind = HEADER_ATTRIBUTES.get(key.text)
        span = reader.span(key)
        if kind is None:
            notes = old_attribute("HloModule", key.text) or did_you_mean(
                key.text, HEADER_ATTRIBUTES
            )
            raise HloError("HLO005", f"HloModule has no attribute `{key.text}`", span, notes)
        if key.text in fields or any(key.text == other for other, _ in others):
            raise HloError("HLO005", f"attribute `{key.text}` is given twice", span)
        if kind == "recovery_table":
            table = read_recovery_table(value, reader, reprint)
            others += [(key.text, table)] if table else []
        else:
            content = reader.value(kind, value)
            if kind == "int" and content < 1:
                message = f"{key.text} is at least 1, not {content}"
                raise HloError("HLO002", message, reader.span(value))
            # XLA takes one `false` where nothing is said.
            fields[key.text] = () if content == (False,) else content
    return Header(**fields, others=tuple(others))


def read_stack_frames(tables: Sequence[TableSyntax], reader: GrammarReader) -> StackFrames:
    """The tables that are between the header and the computations.

    Raises
    ------
    HloError
        HLO006 if the rows of one are not numbered 1, 2, 3, ..., or if the tables are not all four
        in their order.
    """
    frames = StackFrames()
    for table in tables:
        heading = table.heading.text
        rows: list[str] = []
        for number, text in table.rows:
            wanted = str(len(rows) + 1)
            if number.text != wanted:
                message = f"row {number.text[:20]} of {heading} should be {wanted}"
                raise HloError("HLO006", message, reader.span(number))
            rows.append(text.text)
        frames = replace(frames, **{_TABLES[heading]: tuple(rows)})
    for number, table in enumerate(tables):
        if table.heading.text != next(islice(_TABLES, number, None), ""):
            message = f"{table.heading.text} is not the stack-frame table that follows here"
            raise HloError("HLO006", message, reader.span(table.heading), [_ORDER])
    if tables and len(tables) < len(_TABLES):
        message = f"after {tables[-1].heading.text} there are no more stack-frame tables"
        raise HloError("HLO006", message, reader.span(tables[-1].heading), [_ORDER])
    return frames
