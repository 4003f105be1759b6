"""Reading what a verb's FILE names."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import hlo
from hlo.errors.error import HloError
from hlo.read.load import decoded
from hlo.verify import verify

if TYPE_CHECKING:
    from hlo.instruction import Module

# Stands for standard input where a file is read, for standard output where one is written.
STANDARD = "-"


def name_of(path: str) -> str:
    """What messages call a file."""
    return "<stdin>" if path == STANDARD else path


def read_module(path: str) -> Module:
    """Parse a file, or standard input for `-`."""
    if path != STANDARD:
        return hlo.load(path)
    name = name_of(path)
    return hlo.parse(decoded(sys.stdin.buffer.read(), name), name)


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
