"""StableHLO, the language in which JAX, TensorFlow and PyTorch hand programs to XLA, as HLO.

`jax.jit(f).lower(x).as_text()` is such a text. Its operations are nearly HLO's opcodes; what
differs is told in the files behind the table of operations.

The files, in the order in which they are best read: `stablehlo.lark` (which texts are allowed),
`operation` (a program as data), `read`, `attributes`, `forms` and `versions` (text to operations),
`table`, `scope` and `translation` (operations to instructions), and `operations/` (each operation).
`bytecode/` reads operations from bytes instead of text, `writing/` is the way back.

Source: the StableHLO specification, `docs/spec.md` in openxla/stablehlo.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from hlo.errors.error import Source
from hlo.frontends.stablehlo import operations
from hlo.frontends.stablehlo.bytecode import read_bytecode
from hlo.frontends.stablehlo.read import read_program
from hlo.frontends.stablehlo.translation import Translation
from hlo.frontends.stablehlo.writing import write
from hlo.support.garbage import no_collection

if TYPE_CHECKING:
    from hlo.instruction import Module

# Files define their operations when they are imported.
for _file in iter_modules(operations.__path__, f"{operations.__name__}."):
    import_module(_file.name)

__all__ = ["parse", "parse_bytecode", "write"]


@no_collection()
def parse(text: str, name: str = "<string>", entry: str = "") -> Module:
    """Parse StableHLO text into a module of HLO.

    Parameters
    ----------
    text : in MLIR's syntax, with operations in their custom or generic form.
    name : what errors call the text, such as a file's name.
    entry : the function that becomes the entry computation; by default `main`, or else the only
        public one.

    Raises
    ------
    HloError
        HLO012 if the text is not of the form of StableHLO, HLO013 if HLO has nothing for what it
        says.
    """
    source = Source(text, name)
    return Translation(read_program(source), source, entry).module()


@no_collection()
def parse_bytecode(raw: bytes, name: str = "<bytes>", entry: str = "") -> Module:
    """Parse a StableHLO program in MLIR's bytecode into a module of HLO.

    Parameters
    ----------
    raw : a portable artifact, as `jax.export` gives it: `exported.mlir_module_serialized`, or
        the bytes of `exported.serialize()`, which has it inside.
    name, entry : as for `parse`.

    Raises
    ------
    HloError
        HLO012 if the bytes are broken, HLO013 if HLO has nothing for what they say.
    """
    return Translation(read_bytecode(raw, name), Source("", name), entry).module()
