"""Reads files of XLA's messages: `.pb`, `.hlo.pb`, `.pbtxt`, and snapshots with arguments.

The messages do not say everything that the text says: the numbers of replicas and partitions are
XLA's configuration, unless the file has a device assignment. What else they say, and the text has
no word for, is told when it is met: see `left_out`.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hlo.errors.error import HloError
from hlo.frontends.protobuf.left_out import left_out
from hlo.frontends.protobuf.schema import message
from hlo.frontends.protobuf.shapes import literal_of
from hlo.frontends.protobuf.text import module_text
from hlo.read.other_formats import refuse_other_formats
from hlo.read.parse import parse

if TYPE_CHECKING:
    from collections.abc import Generator

    from hlo.instruction import Module

# Ends of names of files with messages; the others are text.
BINARY = (".pb", ".hlo_proto")
TEXT = (".pbtxt", ".prototxt", ".textproto")
# The messages that a file may hold, the largest first: each has the next one inside.
_KINDS = ("HloSnapshot", "HloUnoptimizedSnapshot", "HloProto", "HloModuleProto")


def is_message(raw: bytes, name: str) -> bool:
    """Whether a file holds a message, by its name or because it is binary."""
    return name.endswith((*BINARY, *TEXT)) or b"\0" in raw[:4096]


def tell(text: str) -> None:
    """Print a note about a file on standard error."""
    sys.stderr.write(f"hlo: {text}\n")


def read_message(raw: bytes, name: str) -> Module:
    """The module in a file of messages; fields left out are told on standard error.

    Raises
    ------
    HloError
        HLO201 if it holds none, or the library `protobuf` is missing; else what parsing its text
        raises, which may point into that text.
    """
    module = _module(_message(raw, name))
    if missing := left_out(module):
        tell(f"{name}: left out: {', '.join(missing)}")
    with _refusing(name):
        text = module_text(module)
    return parse(text, name)


@contextmanager
def _refusing(name: str) -> Generator[None]:
    """Refuse a message whose fields contradict each other, or have values that XLA never writes.

    Raises
    ------
    HloError
        HLO201 for such a message.
    """
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise HloError("HLO201", f"{name} holds a message that is broken: {error}") from error


def values_of(path: str, prefix: str) -> list[Any]:
    """The arrays of a snapshot: arguments, all of the first device before those of the next.

    Parameters
    ----------
    prefix : "in" for the arguments, "out" for the result.

    Raises
    ------
    HloError
        HLO200 if the file can't be read, HLO201 if it is no snapshot.
    """
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise HloError("HLO200", f"cannot read {path}: {error.strerror}") from error
    snapshot = _message(raw, path)
    kind = snapshot.DESCRIPTOR.name
    if kind == "HloSnapshot":
        if prefix == "out" and not snapshot.HasField("result"):
            raise HloError("HLO201", f"{path} has no result")
        literals = [snapshot.result] if prefix == "out" else snapshot.arguments
    elif kind == "HloUnoptimizedSnapshot" and snapshot.partitions and prefix == "in":
        literals = [
            argument for partition in snapshot.partitions for argument in partition.arguments
        ]
        if any(p.arguments_descriptors for p in snapshot.partitions) and not literals:
            raise HloError("HLO201", f"{path} has its arguments after the message: not read")
    else:
        why = "no snapshot: it has no arguments" if prefix == "in" else "no snapshot with a result"
        raise HloError("HLO201", f"{path} is {why}")
    with _refusing(path):
        return [leaf for part in literals for leaf in _leaves(literal_of(part).value)]


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, tuple):
        return [leaf for element in value for leaf in _leaves(element)]  # pyright: ignore[reportUnknownVariableType]
    return [] if value is None else [value]


def _message(raw: bytes, name: str) -> Any:
    refuse_other_formats(raw, name)
    for kind in _KINDS:
        parsed = _parsed(raw, name, message(kind))
        if parsed is not None and _module(parsed).computations:
            return parsed
    raise HloError("HLO201", f"{name} is no HloModuleProto, HloProto or HloSnapshot of XLA")


def _parsed(raw: bytes, name: str, message_type: Any) -> Any:
    """The message in a file, or None if it is none of this kind."""
    from google.protobuf import text_format  # noqa: PLC0415
    from google.protobuf.message import DecodeError  # noqa: PLC0415

    try:
        if name.endswith(TEXT):
            return _parsed_text(raw, name, message_type)
        return message_type.FromString(raw)
    except (DecodeError, text_format.ParseError, UnicodeDecodeError):
        return None


def _parsed_text(raw: bytes, name: str, message_type: Any) -> Any:
    """The message in a text; of fields that are not known, the first is told."""
    from google.protobuf import text_format  # noqa: PLC0415

    try:
        return text_format.Parse(raw, message_type())
    except text_format.ParseError as error:
        parsed = text_format.Parse(raw, message_type(), allow_unknown_field=True)
        if _module(parsed).computations:
            tell(f"{name}: left out: {error}")
        return parsed


def _module(parsed: Any) -> Any:
    """The module in a message of any kind."""
    if parsed.DESCRIPTOR.name == "HloSnapshot":
        return parsed.hlo.hlo_module
    return parsed if parsed.DESCRIPTOR.name == "HloModuleProto" else parsed.hlo_module
