"""The language HLO: opcodes, element types, shapes, text, inference, verification.

`parse` reads a module, and `load` a file of one; `str(module)` prints it as XLA does, and `verify`
checks it.
"""

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
