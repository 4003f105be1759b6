"""Running a scalar computation for all elements of arrays at once.

`map`, `reduce`, `sort` and others call a computation of scalars for each element. Calling it a
million times would be slow, so it is *lifted*: run once, with an array of values instead of each
scalar. The array's dimensions are the *batch*. Elementwise opcodes do not notice, since NumPy
computes on arrays and scalars alike. Branches and loops compute for the whole batch, and each
element keeps the value of its own choice. What remains (a dot inside the computation, say) runs
element by element.

An instruction's lifted value has the batch dimensions in front of its own; or only its own, if it
is the same for the whole batch, as a constant is. The number of dimensions tells which.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hlo.attributes import ParameterNumber
from hlo.opcode import IDENTITIES, TUPLES, VIEWS
from interpreter.table import Value, evaluates, needs_frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hlo.instruction import Computation, Instruction
    from hlo.types.shape import Shape
    from interpreter.engine.frame import Frame

    Array = NDArray[Any]
    Dims = tuple[int, ...]

# These yield their operand, if it is a scalar and they are lifted.
_IDENTITIES = IDENTITIES - {"add-dependency"} | VIEWS - {"bitcast"}
# These run their computation once, of scalars.
_CALLS = {"call", "fusion", "map"}


def lifted(frame: Frame, computation: Computation, *arguments: Array) -> tuple[Array, ...]:
    """Run a computation of scalars for all elements of arrays.

    Parameters
    ----------
    arguments : an array a parameter; their shapes are broadcast against each other.

    Returns
    -------
    tuple of Array
        the elements of the computation's tuple, or its one result; of the arguments' shape.
    """
    batch = np.broadcast_shapes(*(argument.shape for argument in arguments))
    if not batch:
        value = frame.call(computation, *arguments)
    else:
        spread = [np.broadcast_to(argument, batch) for argument in arguments]
        value = _run(frame, computation, spread, batch)
    return tuple(np.broadcast_to(result, batch) for result in as_tuple(value))


def as_tuple(value: Value) -> tuple[Array, ...]:
    """The arrays of a value that is a tuple of arrays, or one array."""
    return cast("tuple[Array, ...]", value) if isinstance(value, tuple) else (value,)


def _run(frame: Frame, computation: Computation, arguments: Sequence[Value], batch: Dims) -> Value:
    """The computation's lifted value."""
    values: dict[Instruction, Value] = {}
    for instr in computation.instructions:
        operands = [values[operand] for operand in instr.operands]
        if instr.opcode == "parameter":
            values[instr] = arguments[ParameterNumber.of(instr).number]
        else:
            values[instr] = _lift(frame, instr, operands, batch)
    return values[computation.root]


def _lift(frame: Frame, instr: Instruction, operands: list[Value], batch: Dims) -> Value:
    ranks = {operand.shape.rank for operand in instr.operands}
    scalars = ranks == {0} and instr.shape.rank == 0
    value: Value
    if instr.opcode in TUPLES:
        value = evaluates[instr.opcode](instr, instr.attrs, *operands)
    elif instr.opcode in _CALLS and scalars:
        value = _run(frame, instr.called[0], operands, batch)
    elif instr.opcode == "conditional":
        value = _branch(frame, instr, operands, batch)
    elif instr.opcode == "while":
        value = _loop(frame, instr, operands[0], batch)
    elif instr.opcode in _IDENTITIES and scalars:
        value = operands[0]
    elif instr.opcode == "bitcast" and scalars:
        value = evaluates["bitcast-convert"](instr, instr.attrs, operands[0])
    elif instr.opcode == "bitcast-convert" or (
        instr.row.elementwise and ranks == {instr.shape.rank}
    ):
        # Equal ranks: the operands' own dimensions meet, and so do the batch's.
        # A bitcast-convert changes only the last dimension, and never one of the batch.
        value = evaluates[instr.opcode](instr, instr.attrs, *operands)
    else:
        value = _element_by_element(frame, instr, operands, batch)
    return value


def _element_by_element(
    frame: Frame, instr: Instruction, operands: list[Value], batch: Dims
) -> Value:
    """The lifted value of an instruction that NumPy has no arrays of."""
    context = (frame,) if needs_frame(instr.row) else ()
    shapes = [operand.shape for operand in instr.operands]

    def at(element: Dims) -> Value:
        here = (_at(v, s, element) for v, s in zip(operands, shapes, strict=True))
        return evaluates[instr.opcode](*context, instr, instr.attrs, *here)

    if instr.row.pure and not any(map(_differs, operands, shapes)):
        return at((0,) * len(batch))
    return _stack([at(element) for element in np.ndindex(batch)], instr.shape, batch)


def _differs(value: Value, shape: Shape) -> bool:
    """Whether a lifted value has the batch dimensions, and so may differ along them."""
    if shape.is_tuple:
        return any(map(_differs, value, shape.elements))
    return shape.is_array and value.ndim > shape.rank


def _at(value: Value, shape: Shape, element: Dims) -> Value:
    """A lifted value at one index of the batch."""
    if shape.is_tuple:
        return tuple(_at(v, s, element) for v, s in zip(value, shape.elements, strict=True))
    return value[element] if _differs(value, shape) else value


def _stack(values: list[Value], shape: Shape, batch: Dims) -> Value:
    """The lifted value that is made of one value for each element of the batch."""
    if shape.is_tuple:
        columns = [[value[i] for value in values] for i in range(len(shape.elements))]
        return tuple(_stack(c, s, batch) for c, s in zip(columns, shape.elements, strict=True))
    if not shape.is_array:
        return None
    stacked = np.array(values, dtype=shape.element_type.dtype)
    return stacked.reshape(batch + shape.dims)


def _branch(frame: Frame, instr: Instruction, operands: list[Value], batch: Dims) -> Value:
    """A conditional: all branches run, and each element keeps the value of its own."""
    index, *arguments = operands
    last = len(instr.called) - 1
    # A pred chooses the first branch when it holds; an index out of range, the last one.
    chosen = np.where(index, 0, 1) if index.dtype == np.bool_ else index
    chosen = np.where((chosen < 0) | (chosen > last), last, chosen)
    result: Value = None
    for number, (branch, argument) in enumerate(zip(instr.called, arguments, strict=True)):
        # Of no elements at all, the last branch says what the value is like.
        if np.any(chosen == number) or (number == last and result is None):
            value = _run(frame, branch, [argument], batch)
            first = result is None
            result = value if first else _choose(chosen == number, value, result, instr.shape)
    return result


def _loop(frame: Frame, instr: Instruction, state: Value, batch: Dims) -> Value:
    """A while: the body runs until no element goes on, and changes only those that do."""
    condition, body = instr.called
    while np.any(going := _run(frame, condition, [state], batch)):
        state = _choose(going, _run(frame, body, [state], batch), state, instr.shape)
    return state


def _choose(where: Array, value: Value, other: Value, shape: Shape) -> Value:
    """One lifted value where a pred of the batch holds, else another."""
    if shape.is_tuple:
        triples = zip(value, other, shape.elements, strict=True)
        return tuple(_choose(where, v, o, s) for v, o, s in triples)
    if not shape.is_array:
        return None
    chosen = where.reshape(where.shape + (1,) * shape.rank)
    return cast("Array", np.where(chosen, value, other))
