"""Reading what a verb's FILE names."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import hlo
from hlo.errors.error import HloError
from hlo.verify import verify

if TYPE_CHECKING:
    from hlo.instruction import Module

# Stands for standard input where a file is read, for standard output where one is written.
STANDARD = "-"


def read_text(path: str) -> str:
    """The text of a file, or of standard input for `-`, byte for byte.

    Line ends stay as they are, and bytes that are no UTF-8 become surrogates, so that printing
    gives them back.

    Raises
    ------
    HloError
        HLO200 if the file can't be read, HLO201 if it is binary.
    """
    try:
        raw = sys.stdin.buffer.read() if path == STANDARD else Path(path).read_bytes()
    except OSError as error:
        raise HloError("HLO200", f"cannot read {path}: {error.strerror}") from error
    if b"\0" in raw:
        raise HloError("HLO201", f"{name_of(path)} is binary, not HLO text")
    return raw.decode("utf-8", "surrogateescape")


def name_of(path: str) -> str:
    """What messages call a file."""
    return "<stdin>" if path == STANDARD else path


def read_module(path: str) -> Module:
    """Parse a file, or standard input for `-`."""
    return hlo.parse(read_text(path), name_of(path))


def read_sound_module(path: str) -> Module:
    """Parse a file, or standard input for `-`, and verify what it says."""
    module = read_module(path)
    verify(module)
    return module


def write_text(path: str, text: str) -> None:
    """Write a text to a file, or to standard output for `-`, surrogates as the bytes they were.

    Raises
    ------
    HloError
        HLO200 if the file can't be written.
    """
    if path == STANDARD:
        sys.stdout.write(text)
        return
    try:
        Path(path).write_bytes(text.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise HloError("HLO200", f"cannot write {path}: {error.strerror}") from error
