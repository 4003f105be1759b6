"""Writing modules to files, in the language that a file's name asks for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.frontends import stablehlo
from hlo.frontends.protobuf.reading import BINARY, TEXT
from hlo_tools.options.files import STANDARD, write_text

if TYPE_CHECKING:
    from hlo.instruction import Module

# What each end of a file's name asks for, as verbs tell it; of other names it is HLO text.
ENDS = "StableHLO if its name ends in .mlir, XLA's protocol buffer for .pb, .hlo.pb or .pbtxt"


def is_text(path: str) -> bool:
    """Whether a file is to hold HLO text."""
    return path == STANDARD or not path.endswith((".mlir", *BINARY, *TEXT))


def write_module(path: str, module: Module) -> None:
    """Write a module to a file whose name asks for StableHLO or for a protocol buffer, or as text.

    Raises
    ------
    HloError
        HLO200 if the file can't be written, HLO014 if StableHLO has nothing for a part of it,
        HLO201 if a protocol buffer has not, or the library is missing.
    """
    if is_text(path):
        write_text(path, str(module))
    elif path.endswith(".mlir"):
        write_text(path, stablehlo.write(module))
    else:
        from hlo.frontends.protobuf.writing import message_bytes  # noqa: PLC0415  few need it

        try:
            Path(path).write_bytes(message_bytes(module, path))
        except OSError as error:
            raise HloError("HLO200", f"cannot write {path}: {error.strerror}") from error
