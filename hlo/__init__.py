"""The language HLO: opcodes, element types, shapes, text, inference, verification.

`parse` reads a module, `str(module)` prints it as XLA does, `verify` checks it.
"""

from hlo.error import HloError, Source, Span
from hlo.infer import infer
from hlo.instruction import Computation, Instruction, Module
from hlo.literal import Literal, literal
from hlo.parse import parse
from hlo.print import Options
from hlo.shape import Layout, Shape
from hlo.verify import verify

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
