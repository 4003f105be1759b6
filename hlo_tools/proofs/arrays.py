"""Graphs of instructions as arrays of the solver's terms, one term an element.

The elements that are only moved are moved by the interpreter itself: its functions move whatever
an array holds. What computes is translated element by element (`meanings`), and what folds is
folded in the interpreter's order. Shapes are known numbers here; values are unknown.
"""

# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from hlo.opcode import OPCODES
from hlo.table import OpTable
from hlo.types.element_type import PRED
from hlo_tools.proofs.conversions import converted
from hlo_tools.proofs.meanings import (
    COMPARISONS,
    UntranslatedError,
    choose,
    meaning,
    number,
    unknown,
)
from hlo_tools.proofs.opcodes import as_bytes_lie
from hlo_tools.proofs.solver import Solved, z3
from hlo_tools.proofs.term_arrays import (
    Value,
    clamped_cases,
    each,
    each_chosen,
    filled,
    numbers,
)
from interpreter.table import evaluates

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from hlo import attributes as a
    from hlo.instruction import Computation, Instruction

    Array = NDArray[Any]

# A gather may have so many results, over which its indices decide.
MOST_OFFSETS: Final = 256
translates: OpTable[Callable[..., Any]] = OpTable("translates")


def translated(root: Instruction, values: dict[Instruction, Value]) -> Value:
    """The value of an instruction as terms.

    Parameters
    ----------
    values : of instructions whose value is given, parameters at least; it is filled up.

    Raises
    ------
    UntranslatedError
        if the solver has no terms for an opcode or a type.
    """
    stack = [root]
    while stack:
        instr = stack[-1]
        if instr in values:
            stack.pop()
            continue
        pending = [operand for operand in instr.operands if operand not in values]
        if pending:
            stack += pending
            continue
        values[stack.pop()] = value_of_instruction(instr, [values[o] for o in instr.operands])
    return values[root]


def value_of_instruction(instr: Instruction, operands: list[Value]) -> Value:
    """The value of an instruction over its operands' values."""
    function = translates.get(instr.opcode)
    if function is None or (instr.shape.is_dynamic and instr.opcode != "set-dimension-size"):
        feature = "a dynamic size" if instr.shape.is_dynamic else instr.opcode
        raise UntranslatedError(f"the solver has no terms for {feature}")
    return function(instr, instr.attrs, *operands)


def called(computation: Computation, *arguments: Value) -> Value:
    """The value of a computation of given arguments."""
    values = dict(zip(computation.parameters, arguments, strict=True))
    return translated(computation.root, values)


@translates("constant")
def _constant(instr: Instruction, attrs: a.Constant) -> Value:
    if attrs.literal.elided or not instr.shape.is_array:
        raise UntranslatedError("a constant without its text, or a tuple")
    return numbers(cast("Array", attrs.literal.array), instr.shape)


@translates("iota")
def _iota(instr: Instruction, attrs: a.Iota) -> Value:
    return numbers(evaluates["iota"](instr, attrs), instr.shape)


@translates("compare")
def _compare(instr: Instruction, attrs: a.Compare, x: Array, y: Array) -> Value:
    element_type = instr.operands[0].shape.element_type
    compared = COMPARISONS[element_type.kind].get(attrs.direction)
    if element_type.is_floating and meaning("add", element_type) is None:
        compared = None
    if attrs.type == "TOTALORDER" and element_type.is_floating:
        # The solver's floats have one NaN, which has no sign.
        raise UntranslatedError("a total order of floats")
    if compared is None:
        name = f"compare {attrs.direction}"
        return each(lambda *row: unknown(name, PRED, *row), x, y)
    return each(compared, x, y)


@translates("select")
def _select(_instr: Instruction, _attrs: a.Attrs, condition: Array, x: Array, y: Array) -> Value:
    return each(choose, condition, x, y)


@translates("convert")
def _convert(instr: Instruction, _attrs: a.Attrs, x: Array) -> Value:
    source, target = instr.operands[0].shape.element_type, instr.shape.element_type
    return each(lambda v: converted(v, source, target), x)


def _elementwise(instr: Instruction, attrs: a.Attrs, *operands: Array) -> Value:
    """The opcode's terms; an unknown function where the solver is not told its meaning."""
    source, target = instr.operands[0].shape.element_type, instr.shape.element_type
    known = meaning(instr.opcode, source)
    if known is None:
        name = f"{instr.opcode} {attrs}"
        return each(lambda *row: unknown(name, target, *row), *operands)
    return each(known, *operands)


def _moved(instr: Instruction, attrs: a.Attrs, *operands: Array) -> Value:
    """The terms that the interpreter makes: it moves elements and does not look at them."""
    moved = evaluates[instr.opcode](instr, attrs, *operands)
    # NumPy takes the one element out of an array without dimensions.
    return moved if isinstance(moved, np.ndarray) else filled((), [moved])


translates.define_all(
    {
        opcode: _elementwise
        for opcode, row in OPCODES.items()
        if row.elementwise and opcode not in translates and opcode != "stochastic-convert"
    }
)
translates.define_all(
    {
        opcode: _moved
        for opcode, row in OPCODES.items()
        if "movement" in row.traits and "data_dependent" not in row.traits and opcode != "bitcast"
    }
)


@translates("tuple")
def _tuple(_instr: Instruction, _attrs: a.Attrs, *operands: Value) -> Value:
    return operands


@translates("get-tuple-element")
def _element(_instr: Instruction, attrs: a.GetTupleElement, operand: Value) -> Value:
    return operand[attrs.index]


@translates("bitcast")
def _bitcast(instr: Instruction, _attrs: a.Attrs, operand: Array) -> Value:
    source, target = instr.operands[0].shape, instr.shape
    if source.element_type is not target.element_type or source.size != target.size:
        raise UntranslatedError("a bitcast to another type")
    return as_bytes_lie(source, target, operand)


@translates("dynamic-slice")
def _dynamic_slice(
    instr: Instruction, attrs: a.DynamicSlice, operand: Array, *starts: Array
) -> Value:
    for axis, (start, size) in enumerate(_starts(instr, 1, starts, attrs.dynamic_slice_sizes)):
        whole = operand.shape[axis]
        pieces = [operand.take(range(i, i + size), axis) for i in range(whole - size + 1)]
        operand = _piece(start, pieces)
    return operand


@translates("dynamic-update-slice")
def _dynamic_update_slice(
    instr: Instruction, _attrs: a.Attrs, operand: Array, update: Array, *starts: Array
) -> Value:
    return _updated(operand, update, list(_starts(instr, 2, starts, update.shape)))


def _updated(operand: Array, update: Array, starts: list[Any]) -> Array:
    """The operand with a piece replaced, along the first dimension first."""
    if not starts:
        return update
    (start, size), *rest = starts
    rows: list[Array] = []
    for i in range(operand.shape[0] - size + 1):
        new = operand.copy()
        for k in range(size):
            inner = operand[i + k : i + k + 1].reshape(operand.shape[1:])
            piece = update[k : k + 1].reshape(update.shape[1:])
            new[i + k] = _updated(inner, piece, rest)[()]
        rows.append(new)
    return _piece(start, rows)


def _starts(instr: Instruction, skipped: int, starts: Sequence[Array], sizes: Sequence[int]) -> Any:
    """Each start, as its term and whether it is signed, with the size of the piece."""
    types = [operand.shape.element_type for operand in instr.operands[skipped:]]
    if len(starts) == 1 and starts[0].ndim == 1:
        starts, types = [np.asarray(s, object) for s in starts[0]], types * len(sizes)
    for start, element_type, size in zip(starts, types, sizes, strict=True):
        yield (start[()], element_type.kind == "signed"), size


def _piece(start: tuple[Solved, bool], pieces: list[Array]) -> Array:
    """The piece at a start, which is clamped to those that there are."""
    term, signed = start
    chosen = pieces[-1]
    for i in range(len(pieces) - 2, -1, -1):
        number_here = z3.BitVecVal(i, term.size())
        # A number that its type does not have is never reached.
        if i >= 1 << term.size() - signed:
            continue
        here = term <= number_here if signed else z3.ULE(term, number_here)
        chosen = each_chosen(here, pieces[i], chosen)
    return chosen


@translates("gather")
def _gather(instr: Instruction, attrs: a.Gather, operand: Array, indices: Array) -> Value:
    """Gather at every offset that the indices can name, and choose among the results."""
    vector, signed = attrs.index_vector_dim, instr.operands[1].shape.element_type.kind == "signed"
    limits = [operand.shape[d] - attrs.slice_sizes[d] for d in attrs.start_index_map]
    choices: list[list[tuple[int, Solved]]] = []
    for element in np.ndindex(indices.shape):
        limit = limits[element[vector]] if vector < indices.ndim else limits[0]
        cases = clamped_cases(indices[element], limit, signed)
        choices.append([case for case in cases if not z3.is_false(case[1])])
    if prod(map(len, choices)) > MOST_OFFSETS or not operand.size:
        raise UntranslatedError("a gather at so many offsets")
    chosen: Any = None
    for row in product(*choices):
        starts = np.array([value for value, _ in row], np.int64).reshape(indices.shape)
        gathered = evaluates["gather"](instr, attrs, operand, starts)
        here = z3.simplify(z3.And(*[condition for _, condition in row]))
        chosen = gathered if chosen is None else each_chosen(here, gathered, chosen)
    return chosen


@translates("scatter")
def _scatter(_instr: Instruction, _attrs: a.Scatter, *operands: Array) -> Value:
    operand, _, *updates = operands
    if len(updates) != 1 or updates[0].size:
        raise UntranslatedError("a scatter of something")
    return operand


@translates("reduce")
def _reduce(instr: Instruction, attrs: a.Dimensions, *operands: Array) -> Value:
    half = len(operands) // 2
    arrays, totals = operands[:half], list(operands[half:])
    dims_left = [d for d in range(arrays[0].ndim) if d not in attrs.dimensions]
    dims = [arrays[0].shape[d] for d in dims_left]
    order = [*dims_left, *sorted(attrs.dimensions)]
    count = prod(arrays[0].shape[d] for d in attrs.dimensions)
    rows = [x.transpose(order).reshape((*dims, count)) for x in arrays]
    totals = [np.broadcast_to(total, dims) for total in totals]
    for i in range(count):
        totals = _folded(instr.called[0], totals, [row[..., i] for row in rows])
    return tuple(totals) if instr.shape.is_tuple else totals[0]


def _folded(
    computation: Computation, totals: Sequence[Array], elements: Sequence[Array]
) -> list[Array]:
    """The totals after one more element each."""
    count = len(totals)

    def fold(*row: Solved) -> Solved:
        result = called(computation, *(np.asarray(x, object) for x in row))
        return result[0][()] if isinstance(result, tuple) else result[()]

    if count != 1:
        raise UntranslatedError("a reduction of several arrays at once")
    return [each(fold, *totals, *elements)]


@translates("reduce-window")
def _reduce_window(instr: Instruction, attrs: a.Windowed, *operands: Array) -> Value:
    if len(operands) != 2:
        raise UntranslatedError("a reduction of several arrays at once")
    x, init = operands
    window = attrs.window
    result = np.broadcast_to(init, instr.shape.dims)
    for offset in np.ndindex(tuple(d.size for d in window)):
        spread = [
            [position * d.stride + i * d.window_dilation - d.pad_low for position in range(n)]
            for n, d, i in zip(instr.shape.dims, window, offset, strict=True)
        ]
        elements: list[Solved] = []
        for position in np.ndindex(instr.shape.dims):
            at = [row[p] for row, p in zip(spread, position, strict=True)]
            elements.append(_element_of_base(x, init, at, [d.base_dilation for d in window]))
        result = _folded(instr.called[0], [result], [filled(instr.shape.dims, elements)])[0]
    return result


def _element_of_base(x: Array, init: Array, at: list[int], dilation: list[int]) -> Solved:
    """An element of an array that is spaced and surrounded by the initial value."""
    inside = all(
        0 <= i <= (n - 1) * d and i % d == 0 for i, n, d in zip(at, x.shape, dilation, strict=True)
    )
    return x[tuple(i // d for i, d in zip(at, dilation, strict=True))] if inside else init[()]


@translates("dot")
def _dot(instr: Instruction, attrs: a.DotDims, x: Array, y: Array) -> Value:
    """Sums of products, in the type of the result."""
    element_type = instr.shape.element_type
    types = [operand.shape.element_type for operand in instr.operands]
    if element_type.is_complex or (element_type.is_floating and set(types) != {element_type}):
        raise UntranslatedError("a dot of complex numbers, or of other floats than its operands")
    x, y = (
        each(lambda v, t=t: converted(v, t, element_type), operand)
        for operand, t in zip((x, y), types, strict=True)
    )
    left = [*attrs.lhs_batch_dims, *_free(x, attrs.lhs_batch_dims, attrs.lhs_contracting_dims)]
    right = [*attrs.rhs_batch_dims, *_free(y, attrs.rhs_batch_dims, attrs.rhs_contracting_dims)]
    batch = len(attrs.lhs_batch_dims)
    x = x.transpose([*left, *attrs.lhs_contracting_dims])
    y = y.transpose([*right, *attrs.rhs_contracting_dims])
    summed = x.shape[len(left) :]
    multiply, add = (cast("Any", meaning(o, element_type)) for o in ("multiply", "add"))
    elements: list[Solved] = []
    for element in np.ndindex(instr.shape.dims):
        lhs = element[: len(left)]
        rhs = (*element[:batch], *element[len(left) :])
        total = number(0, element_type)
        for at in np.ndindex(summed):
            total = add(total, multiply(x[lhs + at], y[rhs + at]))
        elements.append(total)
    return filled(instr.shape.dims, elements)


def _free(x: Array, *taken: Sequence[int]) -> list[int]:
    return [d for d in range(x.ndim) if not any(d in dims_of for dims_of in taken)]


@translates("conditional")
def _conditional(instr: Instruction, _attrs: a.Attrs, index: Array, *operands: Value) -> Value:
    term = index[()]
    values = [called(c, o) for c, o in zip(instr.called, operands, strict=True)]
    if any(isinstance(value, tuple) for value in values):
        raise UntranslatedError("a conditional of tuples")
    if instr.operands[0].shape.element_type is PRED:
        return each_chosen(term, *values)
    chosen = values[-1]
    for i, value in enumerate(values[:-1]):
        chosen = each_chosen(term == i, value, chosen)
    return chosen


@translates("map")
def _map(instr: Instruction, _attrs: a.Attrs, *operands: Array) -> Value:
    def apply(*row: Solved) -> Solved:
        return called(instr.called[0], *(np.asarray(x, object) for x in row))[()]

    return each(apply, *operands)


@translates("sort")
def _sort(instr: Instruction, attrs: a.Sort, *operands: Array) -> Value:
    (along,) = attrs.dimensions
    if operands[0].shape[along] > 1:
        raise UntranslatedError("a sort of more than one element")
    return operands if instr.shape.is_tuple else operands[0]
