"""Reads files of HLO text, and of StableHLO as text or bytecode."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.read.other_formats import is_bytecode, refuse_other_formats
from hlo.read.other_language import is_stablehlo
from hlo.read.parse import parse

if TYPE_CHECKING:
    from hlo.instruction import Module


def load(path: str | PathLike[str], entry: str = "") -> Module:
    """Parse a file of HLO text, or of StableHLO as text or in MLIR's bytecode.

    Parameters
    ----------
    entry : of StableHLO, the function that becomes the entry computation; by default `main`, or
        the only public one.

    Raises
    ------
    HloError
        HLO200 if the file can't be read, HLO201 if it is of another binary format; else as
        `parse_either`.
    """
    return parse_bytes(read_bytes(path), str(path), entry)


def parse_bytes(raw: bytes, name: str = "<bytes>", entry: str = "") -> Module:
    """Parse the bytes of a file: text, or MLIR's bytecode, also inside a file of `jax.export`.

    Parameters
    ----------
    name, entry : as for `parse_either`.

    Raises
    ------
    HloError
        As for `load`.
    """
    if is_bytecode(raw):
        from hlo.frontends import stablehlo  # noqa: PLC0415  its grammar is large

        return stablehlo.parse_bytecode(raw, name, entry)
    return parse_either(decoded(raw, name), name, entry)


def parse_either(text: str, name: str = "<string>", entry: str = "") -> Module:
    """Parse a text of HLO or StableHLO, whichever it is.

    Parameters
    ----------
    name : of its file; StableHLO's ends in .mlir, but its text tells it, too.
    entry : as for `load`.

    Raises
    ------
    HloError
        HLO012 if HLO is to have another entry; else as `hlo.parse` or
        `hlo.frontends.stablehlo.parse`.
    """
    if is_stablehlo(text, name):
        from hlo.frontends import stablehlo  # noqa: PLC0415  its grammar is large

        return stablehlo.parse(text, name, entry)
    if entry:
        note = "HLO text marks its entry computation by ENTRY"
        text = f"no other entry than its own can be chosen for {name}, which is HLO: {entry}"
        raise HloError("HLO012", text, notes=[note])
    return parse(text, name)


def read_bytes(path: str | PathLike[str]) -> bytes:
    """The bytes of a file.

    Raises
    ------
    HloError
        HLO200 if it can't be read.
    TypeError
        if the path is none, such as the text itself.
    """
    if not isinstance(path, str | PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"a path is needed, not {type(path).__name__}")
    if isinstance(path, str) and "\n" in path:
        raise TypeError("a path is needed, not a text of several lines; hlo.parse(text) reads one")
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise HloError("HLO200", f"cannot read {path}: {error.strerror}") from error


def decoded(raw: bytes, name: str) -> str:
    """The text of a file, byte for byte.

    Line ends stay as they are, and bytes that are no UTF-8 become surrogates, so that printing
    gives them back.

    Raises
    ------
    HloError
        HLO201 if it is binary.
    """
    refuse_other_formats(raw, name)
    if b"\0" in raw:
        raise HloError(
            "HLO201",
            f"{name} is binary, not HLO text",
            notes=[
                "the command `hlo print` writes XLA's protocol buffers as text",
                "in Python, `hlo.frontends.protobuf.reading.read_message` reads them",
            ],
        )
    return raw.decode("utf-8", "surrogateescape")
