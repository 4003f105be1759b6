"""Splits the rows of a softmax that no block of threads can keep: each part is read once.

    m = max(x), s = sum(exp(x - m))   =>   m_p = max(x_p), s_p = sum(exp(x_p - m_p))
                                           m = max(m_p),   s = sum(s_p exp(m_p - m))

The sum of a row needs its maximum first, so that a long row is read from memory twice. A part has a
maximum of its own, and is short enough to stay in registers; exp(m_p - m) corrects its sum.

References
----------
Milakov and Gimelshein, *Online normalizer calculation for softmax*, 2018.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import Dimensions
from hlo.types.shape import array
from interpreter.numbers.compare import ROUNDING
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.fusion.policy import ELEMENTWISE
from optimizer.fusion.rows import MOST_ROW
from optimizer.reducers import leaves_alone, operation_of
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction

# Elements of a part at most, and a number of which it has a multiple: threads read whole vectors.
MOST_PART, VECTOR = 1 << 14, 4


@expander("long-softmax-splitter", "reduce", promise=ROUNDING)
def softmax_of_parts(site: ExpansionSite) -> Instruction | None:
    """Takes the maxima of long rows, and the sums of their exponentials, from those of parts."""
    instr = site.instr
    if _is_long(instr, "maximum"):
        return _folded(instr, _maxima(instr))
    if not _is_long(instr, "add") or instr.operands[0].opcode != "exponential":
        return None
    (difference,), initial = instr.operands[0].operands, instr.operands[1]
    if difference.opcode != "subtract" or difference.operands[1].opcode != "broadcast":
        return None
    x, spread = difference.operands
    maximum = _maximum_below(spread.operands[0], x)
    if maximum is None or Dimensions.of(spread).dimensions != tuple(range(x.shape.rank - 1)):
        return None
    maxima = _maxima(maximum)
    # A part of which no element is finite has exponentials of its elements themselves.
    finite = make("select", make("is-finite", maxima), maxima, 0.0)
    parts = _parts(x)
    inside = make("exponential", make("subtract", parts, _spread(finite, parts)))
    last = parts.shape.rank - 1
    sums = make("reduce", inside, initial, dimensions=(last,), called=instr.called)
    factors = make("exponential", make("subtract", maxima, _spread(spread.operands[0], maxima)))
    return _folded(instr, make("multiply", sums, factors))


def _is_long(instr: Instruction, operation: str) -> bool:
    """Whether an operation reduces rows that no block keeps, and that have parts of equal size."""
    x, *initial = instr.operands
    kind, last = x.shape.element_type, x.shape.rank - 1
    rows = len(initial) == 1 and Dimensions.of(instr).dimensions == (last,)
    if not rows or kind.name not in ("f32", "f64") or x.shape.dims[last] <= MOST_ROW:
        return False
    neutral = leaves_alone(initial[0], instr.called[0], zero_sign=True)
    return neutral and operation_of(instr.called[0], x) == operation and _size(x) > 0


def _size(x: Instruction) -> int:
    """Elements of a part of a row; 0 where there are no good ones."""
    sizes = range(MOST_PART, MOST_PART // 4, -VECTOR)
    return next((size for size in sizes if x.shape.dims[-1] % size == 0), 0)


def _parts(x: Instruction) -> Instruction:
    *rows, n = x.shape.dims
    return make("reshape", x, shape=array(x.shape.element_type, (*rows, n // _size(x), _size(x))))


def _maxima(maximum: Instruction) -> Instruction:
    """The maxima of parts of rows."""
    x, initial = maximum.operands
    parts, last = _parts(x), x.shape.rank
    return make("reduce", parts, initial, dimensions=(last,), called=maximum.called)


def _folded(instr: Instruction, of_parts: Instruction) -> Instruction:
    """The result of a reduce, from its results for parts of rows."""
    return instr.with_(operands=(of_parts, instr.operands[1]))


def _spread(narrow: Instruction, like: Instruction) -> Instruction:
    """Numbers of rows for all elements of these."""
    dims = tuple(range(narrow.shape.rank))
    return make("broadcast", narrow, shape=like.shape, dimensions=dims)


def _maximum_below(value: Instruction, x: Instruction) -> Instruction | None:
    """The maximum of an array's rows from which a value for each row is made."""
    stack, seen = [value], {value}
    while stack:
        instr = stack.pop()
        if instr.opcode == "reduce" and instr.operands[0] is x and _is_long(instr, "maximum"):
            return instr
        if instr.opcode in ELEMENTWISE:
            new = [o for o in instr.operands if o not in seen]
            seen.update(new)
            stack += new
    return None
