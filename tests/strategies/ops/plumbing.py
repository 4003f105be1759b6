"""Generators of opcodes that hand values on, and of what they begin with."""

from hypothesis import strategies as st
from strategies.ops.registry import given, numbers, op
from strategies.values import dims, element_types, literals

from hlo.build import Builder
from hlo.instruction import Instruction
from hlo.types.element_type import (
    F32,
)
from hlo.types.shape import TOKEN_SHAPE, array, tuple_of
from hlo.types.sharding import Sharding
from hlo.types.values import DomainBorder


@op("parameter")
def parameter(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    return b.parameter(draw(st.builds(array, element_types, dims())))


@op("constant")
def constant(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    made = draw(literals())
    return b.add("constant", shape=made.shape, literal=made)


@op("iota")
def iota(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    shape = array(draw(numbers), draw(dims(min_rank=1)))
    along = draw(st.integers(0, shape.rank - 1))
    return b.add("iota", shape=shape, iota_dimension=along)


@op("tuple")
def make_tuple(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    shapes = draw(st.lists(st.builds(array, element_types, dims()), max_size=7))
    return b.add("tuple", *map(b.parameter, shapes))


@op("get-tuple-element")
def get_tuple_element(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    shapes = draw(st.lists(st.builds(array, element_types, dims()), min_size=1, max_size=3))
    whole = b.parameter(tuple_of(*shapes))
    return b.add("get-tuple-element", whole, index=draw(st.integers(0, len(shapes) - 1)))


@op("copy", "opt-barrier", "copy-start")
def passed_on(draw: st.DrawFn, b: Builder, opcode: str) -> Instruction:
    return b.add(opcode, given(b, draw(element_types), *draw(dims())))


@op("copy-done")
def copy_done(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    return b.add("copy-done", passed_on(draw, b, "copy-start"))


@op("domain")
def domain(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    border = DomainBorder("sharding", Sharding("replicated"), Sharding("maximal", device=1))
    return b.add("domain", given(b, F32, *draw(dims())), domain=border)


@op("after-all")
def after_all(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    return b.add("after-all", *(b.parameter(TOKEN_SHAPE) for _ in range(draw(st.integers(0, 3)))))


@op("add-dependency")
def add_dependency(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    return b.add("add-dependency", given(b, F32, *draw(dims())), b.parameter(TOKEN_SHAPE))
