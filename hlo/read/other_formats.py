"""Formats of files that are no HLO, told by their first bytes."""

from __future__ import annotations

from hlo.errors.error import HloError

# A file of MLIR's bytecode begins with this; what `jax.export` serializes has it so early.
BYTECODE = b"ML\xefR"
_BEGINNING = 4096
# Other formats by the first bytes of a file, and how to get from them to HLO.
OTHER_FORMATS = {
    b"\xff\xfe": ("text in UTF-16", "save it as UTF-8"),
    b"\xfe\xff": ("text in UTF-16", "save it as UTF-8"),
    b"\x1f\x8b": ("compressed by gzip", "`gunzip` makes text of it"),
    b"PK\x03\x04": ("a zip archive", "take the module's file out of it"),
}


def is_bytecode(raw: bytes) -> bool:
    """Whether a file is MLIR's bytecode, or has it inside as those of `jax.export` do."""
    return BYTECODE in raw[:_BEGINNING]


def refuse_other_formats(raw: bytes, name: str) -> None:
    """Raise an error if a file is known to be no HLO: an archive, UTF-16.

    Raises
    ------
    HloError
        HLO201 if it is.
    """
    for beginning, (format_, note) in OTHER_FORMATS.items():
        if raw.startswith(beginning):
            raise HloError("HLO201", f"{name} is {format_}", notes=[note])
