"""Generators of opcodes that call computations or functions, and of sizes known at run time."""

from hypothesis import strategies as st
from strategies.ops.registry import given, integer, numbers, op, same
from strategies.values import dims, element_types, sizes

from hlo.build import Builder
from hlo.instruction import Instruction
from hlo.types.element_type import F32, PRED, S32, U32
from hlo.types.shape import array, tuple_of


@op("call", "fusion", "async-start")
def called(draw: st.DrawFn, b: Builder, opcode: str) -> Instruction:
    # What is started asynchronously is printed as one instruction; these are the names that XLA
    # gives to what is hidden then.
    name = "async_computation" if opcode == "async-start" else "called"
    inner = Builder(b.names.unique(name), b.names)
    kind, wanted = draw(numbers), draw(dims())
    x, y = (inner.parameter(array(kind, wanted), "async_param") for _ in range(2))
    inner.add("add", x, y)
    operands = given(b, kind, *wanted), given(b, kind, *wanted)
    attrs = {"kind": "kLoop"} if opcode == "fusion" else {}
    shape = tuple_of(tuple_of(*(o.shape for o in operands)), operands[0].shape, array(U32))
    shape = shape if opcode == "async-start" else None
    return b.add(opcode, *operands, shape=shape, called=[inner.build()], **attrs)


@op("async-update", "async-done")
def continued(draw: st.DrawFn, b: Builder, opcode: str) -> Instruction:
    return b.add(opcode, called(draw, b, "async-start"))


@op("conditional")
def conditional(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    shape = array(draw(element_types), draw(dims()))
    count = draw(st.integers(1, 3))
    by_pred = count == 2 and draw(st.booleans())
    index = given(b, PRED if by_pred else S32)
    arguments = [b.parameter(shape) for _ in range(count)]
    branches = [same(b, shape) for _ in range(count)]
    return b.add("conditional", index, *arguments, called=branches)


@op("while")
def loop(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    shape = tuple_of(array(S32), array(draw(element_types), draw(dims())))
    condition = Builder(b.names.unique("condition"), b.names)
    counter = condition.add("get-tuple-element", condition.parameter(shape), index=0)
    condition.add("compare", counter, integer(condition, draw(st.integers(0, 3))), direction="LT")
    body = Builder(b.names.unique("body"), b.names)
    state = body.parameter(shape)
    counter, kept = (body.add("get-tuple-element", state, index=i) for i in range(2))
    body.add("tuple", body.add("add", counter, integer(body, 1)), kept)
    start = b.add("tuple", integer(b, 0), b.parameter(shape.elements[1]))
    return b.add("while", start, called=[condition.build(), body.build()])


@op("custom-call")
def custom_call(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    shape = array(F32, draw(dims()))
    return b.add("custom-call", b.parameter(shape), shape=shape, custom_call_target="target")


@op("get-dimension-size", "set-dimension-size")
def dimension_size(draw: st.DrawFn, b: Builder, opcode: str) -> Instruction:
    wanted = draw(dims(min_rank=1))
    along = draw(st.integers(0, len(wanted) - 1))
    operand = given(b, draw(element_types), *wanted)
    if opcode == "get-dimension-size":
        return b.add(opcode, operand, dimensions=(along,))
    size = integer(b, draw(st.integers(0, wanted[along])))
    return b.add(opcode, operand, size, dimensions=(along,))


@op("dynamic-reshape")
def dynamic_reshape(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    n, m = draw(sizes), draw(sizes)
    shape = array(F32, (m, n), (True, False))
    operands = given(b, F32, n, m), integer(b, m), integer(b, n)
    return b.add("dynamic-reshape", *operands, shape=shape)
