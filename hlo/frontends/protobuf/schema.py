"""The messages of `hlo.proto` as classes of the library `protobuf`, without a compiler for it.

`hlo.proto` has little of the language: messages, enumerations and fields, one in the other.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hlo.errors.error import HloError

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA = Path(__file__).with_name("hlo.proto")
PACKAGE = "xla"
_TOKEN = re.compile(r"//[^\n]*|[\w.]+|[{}=;]|\"[^\"]*\"")


def message(name: str) -> Any:
    """The class of a message.

    Raises
    ------
    HloError
        HLO201 if the library is missing.
    """
    try:
        from google.protobuf import message_factory  # noqa: PLC0415
    except ImportError:
        note = "pip install 'pyhlo[protobuf]', or dump the text: --xla_dump_hlo_as_text"
        raise HloError("HLO201", "protocol buffers need protobuf", notes=[note]) from None
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"{PACKAGE}.{name}"))


@cache
def _pool() -> Any:
    from google.protobuf import descriptor_pb2, descriptor_pool  # noqa: PLC0415

    file: Any = descriptor_pb2.FileDescriptorProto(
        name=SCHEMA.name, package=PACKAGE, syntax="proto3"
    )
    tokens = (t for t in _TOKEN.findall(SCHEMA.read_text()) if not t.startswith("//"))
    for token in tokens:
        if token == "message":
            _message(file.message_type.add(), tokens)
        elif token == "enum":
            _enumeration(file.enum_type.add(), tokens)
    pool: Any = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool


def _message(descriptor: Any, tokens: Iterator[str]) -> None:
    """Read a message, after the word itself."""
    descriptor.name = next(tokens)
    next(tokens)  # its brace
    for token in tokens:
        if token == "}":
            return
        if token == "message":
            _message(descriptor.nested_type.add(), tokens)
        elif token == "enum":
            _enumeration(descriptor.enum_type.add(), tokens)
        else:
            field = descriptor.field.add()
            if token == "optional":  # it is known whether the field is there
                field.proto3_optional = True
                field.oneof_index = len(descriptor.oneof_decl)
                descriptor.oneof_decl.add(name=f"optional_{field.oneof_index}")
                _field(field, next(tokens), tokens)
            else:
                _field(field, token, tokens)


def _enumeration(descriptor: Any, tokens: Iterator[str]) -> None:
    descriptor.name = next(tokens)
    next(tokens)
    for token in tokens:
        if token == "}":
            return
        next(tokens)  # =
        descriptor.value.add(name=token, number=int(next(tokens)))
        next(tokens)  # ;


def _field(field: Any, token: str, tokens: Iterator[str]) -> None:
    field.label = field.LABEL_REPEATED if token == "repeated" else field.LABEL_OPTIONAL
    kind = next(tokens) if token == "repeated" else token
    field.name = next(tokens)
    next(tokens)  # =
    field.number = int(next(tokens))
    next(tokens)  # ;
    known = getattr(field, f"TYPE_{kind.upper()}", None)
    if known is None:
        field.type_name = kind  # a message or an enumeration; the pool finds out which
    else:
        field.type = known
