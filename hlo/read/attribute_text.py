"""Sorts and reads the attributes of an instruction: its opcode's own, and those of any opcode."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from hlo.attributes import Attrs, Constant, ParameterNumber, attribute_specs
from hlo.attributes.annotations import NO_ANNOTATIONS, Annotations
from hlo.attributes.kinds import nearest_words
from hlo.errors.error import HloError, did_you_mean
from hlo.opcode import ASYNC_ENDS
from hlo.read.literal_text import read_literal, read_shaped_literal
from hlo.read.old_names import old_attribute, old_form
from hlo.read.quoting import keep_json
from hlo.read.syntax import Item, Piece

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.attributes import AttributeSpec
    from hlo.errors.error import Span
    from hlo.opcode import Opcode
    from hlo.read.by_grammar import GrammarReader
    from hlo.read.syntax import InstructionSyntax
    from hlo.types.shape import Shape

# The annotations that any instruction may carry beside its meaning.
_ANNOTATIONS = (
    "backend_config",
    "statistics",
    "origin",
    "sharding",
    "frontend_attributes",
    "metadata",
)
_CONTROL = "control-predecessors"
# A field that XLA drops from backend configurations where it is empty.
_NO_QUEUES = '"wait_on_operation_queues":[],'
_RENAMED = {"original_value": "origin"}
# How newer XLA spells attributes that are printed as before.
_RESPELLED = {("compare", "order"): ("type", {"TOTAL": "TOTALORDER", "PARTIAL": "FLOAT"})}
# An async-update or async-done may repeat attributes of its async-start.
_OF_ASYNC_START = {"calls", "async_execution_thread", "output_to_operand_aliasing"}


class SortedAttributes(NamedTuple):
    """The attributes of one instruction, in groups by the reader that takes them.

    `repeated` holds what an async-update or async-done says that its async-start has said.
    """

    own: list[Item]
    called: list[Item]
    control: Piece | None
    annotations: Annotations
    repeated: list[Item]


def sort_attributes(row: Opcode, items: Sequence[Item], reader: GrammarReader) -> SortedAttributes:
    """Split attributes into the opcode's own, called computations, and those of any opcode.

    Raises
    ------
    HloError
        HLO005 if one is unknown or given twice.
    """
    own: list[Item] = []
    called: list[Item] = []
    repeated: list[Item] = []
    annotations: dict[str, Any] = {}
    control: Piece | None = None
    specs = attribute_specs(row.attrs)
    seen: set[str] = set()
    for item in map(partial(_respelled, row), items):
        key = _RENAMED.get(item.key.text, item.key.text)
        if key in seen:
            raise HloError("HLO005", f"attribute `{key}` is given twice", reader.span(item.key))
        seen.add(key)
        if key in specs:
            own.append(item)
        elif key in row.called or key + "*" in row.called:
            called.append(item)
        elif key in _ANNOTATIONS:
            annotations[key] = _annotation(key, item.value, reader)
        elif key == _CONTROL:
            control = item.value
        elif row.name in ASYNC_ENDS and key in _OF_ASYNC_START:
            repeated.append(item)
        else:
            raise _unknown(row, key, reader.span(item.key))
    others = Annotations(**annotations) if annotations else NO_ANNOTATIONS
    return SortedAttributes(own, called, control, others, repeated)


def _respelled(row: Opcode, item: Item) -> Item:
    """The attribute as it was spelled before; the item itself if it still is."""
    if (row.name, item.key.text) not in _RESPELLED:
        return item
    key, words = _RESPELLED[row.name, item.key.text]
    value = words.get(item.value.text, item.value.text)
    return Item(item.key._replace(text=key), item.value._replace(text=value))


def _annotation(key: str, value: Piece, reader: GrammarReader) -> Any:
    if key != "backend_config":
        return reader.value(key, value)
    text = value.text
    if text[:1] not in ('"', "'", "{"):
        message = "a backend_config is a string or JSON in braces"
        raise HloError("HLO002", message, reader.span(value))
    return "" if text in ('""', "''") else keep_json(text).replace(_NO_QUEUES, "")


def _unknown(row: Opcode, key: str, span: Span) -> HloError:
    called = [name.rstrip("*") for name in row.called]
    special = [*attribute_specs(row.attrs), *called]
    notes = old_attribute(row.name, key) or did_you_mean(key, [*special, *_ANNOTATIONS, _CONTROL])
    if special and not notes:
        notes = (f"{row.name} has: {', '.join(special)}",)
    return HloError("HLO005", f"{row.name} has no attribute `{key}`", span, notes)


def read_attrs(
    row: Opcode,
    shape: Shape | None,
    pieces: InstructionSyntax,
    own: Sequence[Item],
    reader: GrammarReader,
) -> Attrs:
    """The opcode's own attributes.

    Parameters
    ----------
    shape : of the instruction, if the text says it: the shape of a constant's literal.
    pieces : the instruction; of its arguments only opcodes without operands are read here.
    own : those of its attributes that are the opcode's own.

    Raises
    ------
    HloError
        HLO002 or HLO003 if a value can't be read, HLO005 if a required one is missing.
    """
    arguments = pieces.arguments
    specs = attribute_specs(row.attrs)
    values: dict[str, Any] = {}
    span = reader.span(arguments)
    if row.attrs is Constant:
        if shape is None:
            raise HloError("HLO009", "constant needs its shape: nothing else says it", span)
        values["literal"] = read_literal(shape, arguments.text, span)
    elif row.attrs is ParameterNumber:
        number = arguments.text.strip()
        start = arguments.start + arguments.text.index(number)
        values["number"] = reader.value("int", Piece(number, start))
        if values["number"] < 0:
            raise HloError("HLO008", "a parameter's number can't be negative", span)
    elif row.arity == 0 and arguments.text.strip():
        raise HloError("HLO008", f"{row.name} takes no operands", span)
    for key, value in own:
        spec = specs[key.text]
        values[spec.field] = _read_value(spec, value, reader)
    for name, spec in specs.items():
        if spec.required and spec.field not in values:
            message = f"{row.name} needs the attribute `{name}`"
            notes = old_form(row.name, name)
            raise HloError("HLO005", message, reader.span(pieces.opcode), notes)
    return row.attrs(**values)


def _read_value(spec: AttributeSpec, value: Piece, reader: GrammarReader) -> Any:
    span = reader.span(value)
    if spec.kind == "literal":
        return read_shaped_literal(value.text, span)
    read = reader.value(spec.kind, value)
    if spec.words and read not in spec.words:
        notes = nearest_words(spec, read)
        raise HloError("HLO002", f"`{read}` is no {spec.key}", span, notes)
    return read
