"""Reads files of XLA's messages: `.pb`, `.hlo.pb`, `.pbtxt`, and snapshots with arguments.

The messages do not say everything that the text says: the number of partitions is XLA's
configuration, unless the file has a device assignment. Origins of values and statistics are left
out here.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import hlo
from hlo.errors.error import HloError
from hlo_tools.protobuf.schema import message
from hlo_tools.protobuf.shapes import literal_of
from hlo_tools.protobuf.text import module_text

if TYPE_CHECKING:
    from hlo.instruction import Module

# Ends of names of files with messages; the others are text.
BINARY = (".pb", ".hlo_proto")
TEXT = (".pbtxt", ".prototxt", ".textproto")
# What a file may hold, the largest first: each has the next one inside.
_KINDS = ("HloSnapshot", "HloUnoptimizedSnapshot", "HloProto", "HloModuleProto")


def is_message(raw: bytes, name: str) -> bool:
    """Whether a file holds a message, by its name or because it is binary."""
    return name.endswith((*BINARY, *TEXT)) or b"\0" in raw[:4096]


def read_message(raw: bytes, name: str) -> Module:
    """The module that a file of messages holds.

    Raises
    ------
    HloError
        HLO201 if it holds none, or the library `protobuf` is missing; else what parsing its text
        raises, which may point into that text.
    """
    return hlo.parse(module_text(_module(_message(raw, name))), name)


def arguments_of(path: str) -> list[Any]:
    """The arguments of a snapshot, those of its first device.

    Raises
    ------
    HloError
        HLO200 if the file can't be read, HLO201 if it is no snapshot.
    """
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise HloError("HLO200", f"cannot read {path}: {error.strerror}") from error
    found = _message(raw, path)
    kind = found.DESCRIPTOR.name
    if kind == "HloSnapshot":
        literals = found.arguments
    elif kind == "HloUnoptimizedSnapshot" and found.partitions:
        literals = found.partitions[0].arguments
    else:
        raise HloError("HLO201", f"{path} is no snapshot: it has no arguments")
    return [leaf for each in literals for leaf in _leaves(literal_of(each).value)]


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, tuple):
        return [leaf for element in value for leaf in _leaves(element)]  # pyright: ignore[reportUnknownVariableType]
    return [] if value is None else [value]


def _message(raw: bytes, name: str) -> Any:
    for kind in _KINDS:
        found = _parsed(raw, name, message(kind))
        if found is not None and _module(found).computations:
            return found
    raise HloError("HLO201", f"{name} is no HloModuleProto, HloProto or HloSnapshot of XLA")


def _parsed(raw: bytes, name: str, made: Any) -> Any:
    """The message in a file, or None if it is none of this kind."""
    from google.protobuf import text_format  # noqa: PLC0415
    from google.protobuf.message import DecodeError  # noqa: PLC0415

    try:
        if name.endswith(TEXT):
            return text_format.Parse(raw, made(), allow_unknown_field=True)
        return made.FromString(raw)
    except (DecodeError, text_format.ParseError, UnicodeDecodeError):
        return None


def _module(found: Any) -> Any:
    """The module in a message of any kind."""
    if found.DESCRIPTOR.name == "HloSnapshot":
        return found.hlo.hlo_module
    return found if found.DESCRIPTOR.name == "HloModuleProto" else found.hlo_module
