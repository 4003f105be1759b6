"""Executables as bytes, for JAX's compilation cache: the program, not its compiled code.

What is slow to make of a program, its C, is kept by PyHLO's own cache already.
"""

from __future__ import annotations

from hlo_jax.abi.proto import bytes_field, fields
from hlo_jax.programs.options import read_options
from hlo_jax.programs.program import FormatError, JaxProgram, SentProgram, read_program

# The first bytes of every serialized executable: another version of this file, another number.
MAGIC = b"PyHLO executable 1\n"
_CODE, _FORMAT, _OPTIONS = 1, 2, 3


def serialized(program: JaxProgram) -> bytes:
    """A program as bytes."""
    source = program.source
    parts = {_CODE: source.code, _FORMAT: source.format.encode()}
    parts[_OPTIONS] = program.options.serialized
    return MAGIC + b"".join(bytes_field(number, content) for number, content in parts.items())


def deserialized(content: bytes, options: bytes | None = None) -> JaxProgram:
    """The program in bytes.

    Parameters
    ----------
    options : in place of those that the program was compiled with.

    Raises
    ------
    FormatError
        If these are not the bytes of a program.
    """
    if not content.startswith(MAGIC):
        raise FormatError(f"an executable of another plugin or version: {content[:20]!r} ...")
    try:
        parts = {k: v for k, v in fields(content[len(MAGIC) :]) if isinstance(v, bytes)}
        source = SentProgram(parts[_CODE], parts[_FORMAT].decode())
        given = parts[_OPTIONS] if options is None else options
    except (ValueError, KeyError) as error:
        raise FormatError(f"a serialized executable is damaged: {error}") from error
    return read_program(source, read_options(given))
