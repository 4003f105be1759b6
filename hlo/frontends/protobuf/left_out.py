"""Fields of messages that are not read: a reader is to know of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

# Fields that are not read, as people call them; others are told by their numbers.
NAMES: Final = {
    ("HloModuleProto", 10): "cross-program prefetches",
    ("HloModuleProto", 12): "the sharding of the result after partitioning",
    ("HloModuleProto", 13): "profiles",
    ("HloModuleProto", 14): "the shardings of parameters after partitioning",
    ("HloModuleProto", 16): "that shardings are to be found",
    ("HloInstructionProto", 99): "the payload of a backend configuration",
    ("HloProto", 3): "the buffer assignment",
}


def left_out(message: Any) -> list[str]:
    """The fields of a message, and of those inside of it, that its schema here leaves out."""
    known = type(message)()
    known.CopyFrom(message)
    known.DiscardUnknownFields()
    if known.ByteSize() == message.ByteSize():
        return []
    fields = Counter(_unknown(message))
    return [f"{name} ({count} times)" if count > 1 else name for name, count in fields.items()]


def _unknown(message: Any) -> Iterator[str]:
    from google.protobuf.unknown_fields import UnknownFieldSet  # noqa: PLC0415

    kind = message.DESCRIPTOR.name
    for field in UnknownFieldSet(message):
        number = field.field_number
        yield NAMES.get((kind, number), f"field {number} of {kind}")
    for field, value in message.ListFields():
        if field.message_type is not None:
            for inner in value if field.is_repeated else [value]:
                yield from _unknown(inner)
