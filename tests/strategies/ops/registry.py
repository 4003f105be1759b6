"""The table of generators, and what they are made with.

`modules_of(opcode)` gives modules whose root is such an instruction and whose other instructions
are as few as can be.
"""

from collections.abc import Callable

from hypothesis import strategies as st

from hlo.build import Builder, module
from hlo.instruction import Computation, Instruction, Module
from hlo.opcode import OPCODES
from hlo.types.element_type import (
    BF16,
    C64,
    F32,
    F64,
    PRED,
    S8,
    S32,
    U8,
    U32,
    ElementType,
)
from hlo.types.literal import literal
from hlo.types.shape import Shape, array

Generator = Callable[[st.DrawFn, Builder, str], Instruction]
OPS: dict[str, Generator] = {}
# Types of every kind, for opcodes that work alike on all of a kind.
numbers = st.sampled_from((S8, S32, U8, U32, BF16, F32, F64, C64))
floats = st.sampled_from((BF16, F32, F64))
types_and_pred = st.sampled_from((PRED, S8, U32, BF16, F32, C64))


def op(*opcodes: str) -> Callable[[Generator], Generator]:
    """Enter a function as the generator of opcodes; it is told which one is wanted."""

    def enter(generator: Generator) -> Generator:
        for opcode in opcodes:
            assert opcode in OPCODES
            assert opcode not in OPS
            OPS[opcode] = generator
        return generator

    return enter


@st.composite
def modules_of(draw: st.DrawFn, opcode: str) -> Module:
    """Modules whose root is an instruction of this opcode."""
    builder = Builder()
    return module(builder.build(OPS[opcode](draw, builder, opcode)))


def given(b: Builder, element_type: ElementType, *sizes: int) -> Instruction:
    """A parameter that is an array."""
    return b.parameter(array(element_type, sizes))


def folding(b: Builder, opcode: str, *types: ElementType) -> Computation:
    """A computation that applies an opcode to two scalars; of each pair, where there are more."""
    inner = Builder(b.names.unique(f"{opcode}_of"), b.names)
    first = [inner.parameter(array(t)) for t in types]
    second = [inner.parameter(array(t)) for t in types]
    made = [inner.add(opcode, x, y) for x, y in zip(first, second, strict=True)]
    return inner.build(made[0] if len(made) == 1 else inner.add("tuple", *made))


def same(b: Builder, shape: Shape) -> Computation:
    """A computation that gives what it takes."""
    inner = Builder(b.names.unique("same"), b.names)
    return inner.build(inner.parameter(shape))


def integer(b: Builder, value: int, element_type: ElementType = S32) -> Instruction:
    """A constant scalar."""
    return b.constant(literal(value, array(element_type)))
