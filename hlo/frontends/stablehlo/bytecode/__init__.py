"""MLIR's bytecode, the form in which `jax.export` and others keep StableHLO programs.

The files, in the order in which they are best read: `cursor` (numbers among bytes), `container`
(the sections of a file), `codes` (what numbers stand for), `entries`, `kinds` and `shardy`
(attributes and types), and `operations`.

Only portable artifacts are promised to stay readable: programs in VHLO, the versioned copy of
StableHLO. The others are text.

Sources: "MLIR Bytecode Format" at mlir.llvm.org; `stablehlo/dialect/VhloBytecode.cpp` and
`VhloOps.td` in openxla/stablehlo.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.frontends.stablehlo.bytecode.container import Container
from hlo.frontends.stablehlo.bytecode.cursor import BrokenError, Cursor
from hlo.frontends.stablehlo.bytecode.entries import Entries
from hlo.frontends.stablehlo.bytecode.kinds import READERS
from hlo.frontends.stablehlo.bytecode.operations import read_operations
from hlo.frontends.stablehlo.modules import module_of
from hlo.read.other_formats import BYTECODE

if TYPE_CHECKING:
    from hlo.frontends.stablehlo.operation import MlirModule

# `jax.export` keeps the bytes after their number, in an array of a flatbuffer.
_COUNT = 4


def program_in(raw: bytes) -> bytes:
    """The bytes of a program: the file, or what `jax.export` has put into it."""
    start = raw.find(BYTECODE)
    if start < _COUNT:
        return raw[max(start, 0) :]
    size = int.from_bytes(raw[start - _COUNT : start], "little")
    return raw[start : start + size] if size <= len(raw) - start else raw[start:]


def read_bytecode(raw: bytes, name: str = "<bytes>") -> MlirModule:
    """The operations of a program.

    Parameters
    ----------
    name : what errors call the file.

    Raises
    ------
    HloError
        HLO012 if the bytes are no program, or are broken; HLO013 if it is none in VHLO.
    """
    try:
        cursor = Cursor(program_in(raw))
        container = Container(cursor)
        entries = Entries(container, READERS)
        operations = read_operations(container, entries, name)
    except BrokenError as error:
        message = f"{name} is no MLIR bytecode that can be read: {error}"
        raise HloError("HLO012", message) from None
    return module_of("main", {}, operations, {}, {}, entries.meshes)
