"""The language HLO: opcodes, element types, shapes, text, inference, verification.

`parse` reads a module, `str(module)` prints it as XLA does, `verify` checks it.
"""

from hlo.errors.error import HloError, Source, Span
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
    "parse",
    "verify",
]
