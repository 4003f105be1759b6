"""Layers of an LSTM: a scan over time, and what each time step does alike as one product.

torch hands such a layer over as one operation where oneDNN would run it. Its gradient has the
layer's results, and not the gates: they are computed again, for all times in one product.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo.types.element_type import U8
from hlo.types.shape import array, tuple_of
from hlo_torch.operations.contraction import product
from hlo_torch.operations.table import Unsupported, aten, broadcast
from optimizer.derivative.bodies import computation, elements
from optimizer.derivative.table import total
from optimizer.expanders.parts import cut, joined, permuted, to_dims
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hlo.instruction import Instruction

    Values = list[Instruction]


@aten("mkldnn_rnn_layer.default")
def lstm_layer(
    _out: None, x: Instruction, w: Instruction, u: Instruction, b: Instruction, d: Instruction,
    h: Instruction, c: Instruction, backwards: bool, batch_sizes: Sequence[int], mode: int,
    _width: int, _layers: int, biased: bool, *_: Any,
) -> tuple[Instruction, ...]:  # fmt: skip
    """The outputs at all times, then the last output and the last cell.

    Parameters
    ----------
    x : of [time, batch, feature].
    w, u : for inputs and for outputs of the time before, the rows of all four gates.
    b, d : the same as biases; of any shape where there are none.
    h, c : the first output and cell, of [1, batch, width].
    """
    _refuse(batch_sizes, mode)
    u = permuted(u, (1, 0))

    def step(
        given: Instruction, h: Instruction, c: Instruction, u: Instruction
    ) -> tuple[Values, Values]:
        i, f, g, o = _gates(given + product(h, u))
        c = f * c + i * g
        h = o * make("tanh", c)
        return [h], [h, c, u]

    inputs = _inputs(x, w, [b, d] if biased else [])
    outputs, h, c, _u = _scan(step, [inputs], [_plain(h), _plain(c), u], backwards=backwards)
    return outputs, _first(h), _first(c), splat(0, array(U8, (0,)))


@aten("mkldnn_rnn_layer_backward.default")
def lstm_layer_backward(
    _out: None, x: Instruction, w: Instruction, u: Instruction, b: Instruction, d: Instruction,
    h: Instruction, c: Instruction, outputs: Instruction, _hy: Any, _cy: Any,
    to_outputs: Instruction | None, to_h: Instruction | None, to_c: Instruction | None,
    backwards: bool, mode: int, _width: int, _layers: int, biased: bool, _train: bool,
    _bidirectional: bool, batch_sizes: Sequence[int], *_: Any,
) -> tuple[Instruction, ...]:  # fmt: skip
    """The gradients of x, w, u, b, d, h and c."""
    _refuse(batch_sizes, mode)
    before = _before(outputs, h, backwards=backwards)
    i, f, g, o = _gates(
        _inputs(x, w, [b, d] if biased else []) + _rows(before, permuted(u, (1, 0)))
    )
    added = i * g

    def cell(f: Instruction, added: Instruction, c: Instruction) -> tuple[Values, Values]:
        c = f * c + added
        return [c], [c]

    cells, _c = _scan(cell, [f, added], [_plain(c)], backwards=backwards)
    cells_before, rising = _before(cells, c, backwards=backwards), make("tanh", cells)
    # What a gradient of an output, and of a cell, is multiplied with.
    by_output, by_cell = rising * _slope(o), o * (1 - rising * rising)
    slopes = [g * _slope(i), cells_before * _slope(f), i * (1 - g * g)]
    wanted = splat(0, outputs.shape) if to_outputs is None else to_outputs

    def back(*given: Instruction) -> tuple[Values, Values]:
        wanted, f, by_output, by_cell, di, df, dg, to_h, to_c, u = given
        to_h = to_h + wanted
        to_c = to_c + to_h * by_cell
        gates = joined([to_c * di, to_c * df, to_c * dg, to_h * by_output], 1)
        return [gates], [product(gates, u), to_c * f, u]

    last = [splat(0, _plain(h).shape) if t is None else _plain(t) for t in (to_h, to_c)]
    passed = [wanted, f, by_output, by_cell, *slopes]
    gates, to_h, to_c, _u = _scan(back, passed, [*last, u], backwards=not backwards)
    to_bias = total(gates, (0, 1))
    weights = [
        make("dot", gates, by, lhs_contracting_dims=(0, 1), rhs_contracting_dims=(0, 1))
        for by in (x, before)
    ]
    return _rows(gates, w), *weights, to_bias, to_bias, _first(to_h), _first(to_c)


def _refuse(batch_sizes: Sequence[int], mode: int) -> None:
    if batch_sizes or mode != _LSTM:
        raise Unsupported("only LSTMs of sequences of one length are compiled")


_LSTM = 2  # torch's number of this kind of layer


def _inputs(x: Instruction, w: Instruction, biases: Values) -> Instruction:
    """The inputs' part of all gates, at all times."""
    made = _rows(x, permuted(w, (1, 0)))
    return made + broadcast(biases[0] + biases[1], made.shape.dims) if biases else made


def _rows(x: Instruction, w: Instruction) -> Instruction:
    """Each row at each time, multiplied with a matrix."""
    time, batch, width = x.shape.dims
    made = product(to_dims(x, (time * batch, width)), w)
    return to_dims(made, (time, batch, w.shape.dims[1]))


def _gates(given: Instruction) -> list[Instruction]:
    """The gates i, f, g and o; their rows lie one after the other in the last dimension."""
    axis = given.shape.rank - 1
    width = given.shape.dims[axis] // 4
    parts = [cut(given, axis, k * width, (k + 1) * width) for k in range(4)]
    return [make("tanh" if k == 2 else "logistic", part) for k, part in enumerate(parts)]


def _slope(gate: Instruction) -> Instruction:
    """A gate's derivative, apart from that of its own that it is multiplied with."""
    return gate * (1 - gate)


def _before(values: Instruction, first: Instruction, *, backwards: bool) -> Instruction:
    """The value of the step before, for each time."""
    count = values.shape.dims[0]
    if backwards:
        return joined([cut(values, 0, 1, count), first], 0)
    return joined([first, cut(values, 0, 0, count - 1)], 0)


def _scan(
    step: Callable[..., tuple[Values, Values]],
    passed: Sequence[Instruction],
    state: Sequence[Instruction],
    *,
    backwards: bool,
) -> list[Instruction]:
    """The outputs of a step at all times, and the last state.

    Parameters
    ----------
    step : of each input at one time, and the state; gives outputs, and the next state.
    """
    shapes = [p.shape.with_dims(p.shape.dims[1:]) for p in passed] + [s.shape for s in state]
    parameters = [make("parameter", shape=s, number=k) for k, s in enumerate(shapes)]
    made, after = step(*parameters)
    body = computation("step", parameters, make("tuple", *made, *after))
    count = passed[0].shape.dims[0]
    outputs = [m.shape.with_dims((count, *m.shape.dims)) for m in made]
    return elements(
        make(
            *("scan", *passed, *state), shape=tuple_of(*outputs, *(s.shape for s in state)),
            called=(body,), dimensions=(0,), num_carries=len(state), is_reverse=backwards,
        )
    )  # fmt: skip


def _plain(state: Instruction) -> Instruction:
    return to_dims(state, state.shape.dims[-2:])


def _first(state: Instruction) -> Instruction:
    return to_dims(state, (1, *state.shape.dims))
