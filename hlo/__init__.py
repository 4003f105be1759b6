"""The language HLO: opcodes, element types, shapes, text, inference, verification.

`parse` reads a module from a text, and `load` from a file; `str(module)` is the text of XLA, and
`verify` checks a module.

Examples
--------
>>> import hlo
>>> module = hlo.parse("ENTRY e { x = f32[2,3] parameter(0)  ROOT y = f32[2,3] negate(x) }")
>>> hlo.verify(module)
>>> module.entry.root
%y = f32[2,3]{1,0} negate(%x)
>>> module.entry.root.shape.dims, module.entry.root.operands
((2, 3), (%x = f32[2,3]{1,0} parameter(0),))
"""

import hlo.pickling  # pyright: ignore[reportUnusedImport]  # noqa: F401  modules need it
from hlo.errors.error import HloError, Source, Span
from hlo.files import load
from hlo.infer import infer
from hlo.instruction import Computation, Instruction, Module
from hlo.read.parse import parse
from hlo.types.literal import Literal, literal
from hlo.types.shape import Layout, Shape
from hlo.verify import verify
from hlo.write.print import Options

__all__ = [
    "Computation",
    "HloError",
    "Instruction",
    "Layout",
    "Literal",
    "Module",
    "Options",
    "Shape",
    "Source",
    "Span",
    "infer",
    "literal",
    "load",
    "parse",
    "verify",
]
