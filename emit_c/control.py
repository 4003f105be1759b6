"""Control flow in C: calls, branches and loops over the functions of computations.

The state of a loop lies in two sets of buffers: a turn reads one set and writes the other, and then
they change places, so nothing is copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from emit_c.indexing import linear, unknown
from emit_c.kernels import Argument, Kernel, Scope
from emit_c.loops import (
    Assign,
    Break,
    Call,
    For,
    Forever,
    If,
    Let,
    Statement,
    Try,
    Variable,
    vectorized,
)
from emit_c.steady import NOTHING, Steady, steady
from emit_c.trees import leaves, nested
from hlo.shape import array

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from emit_c.schedule import Function
    from hlo import attributes as a
    from hlo.instruction import Instruction
    from hlo.shape import Shape

Pointers = list[str | None]


def given(pointers: Sequence[str | None]) -> str:
    """A C array of pointers to what is read."""
    listed = ", ".join(p or "0" for p in pointers)
    return f"(const void *const[]){{{listed}}}" if listed else "0"


def taken(pointers: Sequence[str | None]) -> str:
    """A C array of pointers to what is written."""
    listed = ", ".join(p or "0" for p in pointers)
    return f"(void *const[]){{{listed}}}" if listed else "0"


def write_call(function: Function, scope: Scope, instr: Instruction) -> None:
    """A call of the computation's function."""
    callee = function.module.function(instr.called[0])
    scope.values[instr] = tree = function.allocate(scope, instr)
    operands = [p for o in instr.operands for p in leaves(scope.tree(o), o.shape)]
    results = leaves(tree, instr.shape)
    arena = function.arena_for(callee)
    call = Try(callee.name, (given(operands), taken(results), arena, "own"))
    function.step(call, uses=[p for p in (*operands, *results, arena) if p])


def write_conditional(function: Function, scope: Scope, instr: Instruction) -> None:
    """A chain of ifs: a pred chooses the first branch where it holds; out of range is the last."""
    index, *operands = instr.operands
    callees = [function.module.function(c) for c in instr.called]
    scope.values[instr] = tree = function.allocate(scope, instr)
    results = leaves(tree, instr.shape)
    arena = function.arena_for(*callees)
    pointer = str(scope.tree(index))
    is_pred = index.shape.element_type.name == "pred"
    uses = [pointer, arena, *(p for p in results if p)]
    chain: tuple[Statement, ...] = ()
    for number in reversed(range(len(callees))):
        own = leaves(scope.tree(operands[number]), operands[number].shape)
        uses += [p for p in own if p]
        call = Try(callees[number].name, (given(own), taken(results), arena, "own"))
        holds = f"*{pointer}" if is_pred else f"*{pointer} == {number}"
        chain = (If(holds, (call,), chain),) if chain else (call,)
    function.step(*chain, uses=uses)


class State:
    """The state of a loop: what it is now, and where the next turn writes.

    The initial state is only read, so the first two turns write into two sets of buffers, `next`
    and `spare`, which from then on change places. What the body hands on stays where it is, and
    what it updates in place is copied once and has one buffer.
    """

    def __init__(
        self,
        function: Function,
        shapes: Sequence[Shape],
        initial: Pointers,
        name: str,
        kept: Steady = NOTHING,
    ) -> None:
        self.shapes, self.function, self.name = shapes, function, name
        self.sets: list[tuple[str | None, str | None, str | None]] = []
        copies: list[Statement] = []
        for k, (shape, start) in enumerate(zip(shapes, initial, strict=True)):
            if k in kept.through or not shape.is_array:
                self.sets.append((start, start, start))
                continue
            first = function.buffer(shape, f"{name}_next")
            if k in kept.in_place:
                size = str(shape.size * shape.element_type.bytes)
                copies.append(Call("__builtin_memcpy", (first, str(start), size)))
                self.sets.append((first, first, first))
            else:
                self.sets.append((start, first, function.buffer(shape, f"{name}_spare")))
        self.initial = initial
        self.now, self.next, self.spare = (
            function.names.unique(f"{name}_{kind}") for kind in ("now", "next", "spare")
        )
        size = max(len(shapes), 1)
        columns = list(zip(*self.sets, strict=True)) or [(), (), ()]
        self.declarations = (
            *copies,
            Variable("const void *", self.now, _braces(columns[0]), size),
            Variable("void *", self.next, _braces(columns[1]), size),
            Variable("void *", self.spare, _braces(columns[2]), size),
        )
        self.turn = For(
            "k",
            len(shapes),
            (
                Let("void *const", "done", f"{self.next}[k]"),
                Assign(f"{self.next}[k]", f"{self.spare}[k]"),
                Assign(f"{self.spare}[k]", "done"),
                Assign(f"{self.now}[k]", "done"),
            ),
        )

    @property
    def pointers(self) -> list[str]:
        """All buffers, the initial state's among them."""
        return [p for group in (self.initial, *self.sets) for p in group if p]

    def results(self) -> Pointers:
        """Pointers to the final state."""
        found: Pointers = []
        for k, (shape, group) in enumerate(zip(self.shapes, self.sets, strict=True)):
            if not shape.is_array:
                found.append(None)
                continue
            result = self.function.names.unique(f"{self.name}_{k}")
            self.function.backing[result] = {p for p in group if p}
            self.function.step(Let(f"{shape.element_type} *", result, f"(void *){self.now}[{k}]"))
            found.append(result)
        return found


def _braces(pointers: Sequence[str | None]) -> str:
    return "{" + (", ".join(f"(void *){p}" if p else "0" for p in pointers) or "0") + "}"


def write_while(function: Function, scope: Scope, instr: Instruction) -> None:
    """A loop that runs the body as long as the condition holds."""
    kept = steady(instr.called[1])
    operand = instr.operands[0]
    if len(kept.through) == len(operand.shape.elements) > 0:
        # It runs not at all or forever; as in C++ and XLA, loops are taken to end.
        scope.values[instr] = scope.tree(operand)
        return
    condition = function.module.function(instr.called[0])
    body = function.module.function(instr.called[1], kept=kept)
    shapes = [s for _, s in instr.shape.leaves()]
    initial = leaves(scope.tree(operand), operand.shape)
    state = State(function, shapes, initial, instr.name, kept)
    arena = function.arena_for(condition, body)
    goes_on = function.scratch(1, f"{instr.name}_goes_on")
    patience = function.names.unique("patience")
    loop = Forever(
        (
            Try("asked_to_stop", (f"&{patience}",)),
            Try(condition.name, (state.now, taken([goes_on]), arena, "own")),
            Break(f"!*{goes_on}"),
            Try(body.name, (state.now, state.next, arena, "own")),
            state.turn,
        )
    )
    begin = Variable("struct hlo_patience", patience, "{0}")
    function.step(*state.declarations, begin, loop, uses=[*state.pointers, arena, goes_on])
    scope.values[instr] = nested(instr.shape, iter(state.results()))


def write_scan(function: Function, scope: Scope, instr: Instruction) -> None:
    """A loop over the slices of a dimension; slices are copied in, and the results' out."""
    attrs: a.Scan = instr.attrs  # type: ignore[assignment]
    callee = function.module.function(instr.called[0])
    axis, split = attrs.dimensions[0], len(instr.operands) - attrs.num_carries
    n = instr.operands[0].shape.dims[axis]
    result_shapes = [s for _, s in instr.shape.leaves()]
    kept = len(result_shapes) - attrs.num_carries
    outputs = leaves(function.allocate(scope, instr), instr.shape)
    carried = [p for o in instr.operands[split:] for p in leaves(scope.tree(o), o.shape)]
    state = State(function, result_shapes[kept:], carried, f"{instr.name}_carry")
    reads, read = _slices(
        function, instr, axis, [o.shape for o in instr.operands[:split]],
        [str(scope.tree(o)) for o in instr.operands[:split]], write=False,
    )  # fmt: skip
    writes, written = _slices(
        function, instr, axis, result_shapes[:kept], [str(p) for p in outputs[:kept]], write=True
    )
    arena = function.arena_for(callee)
    now = [f"{state.now}[{k}]" for k in range(attrs.num_carries)]
    following = [f"{state.next}[{k}]" for k in range(attrs.num_carries)]
    call = Try(callee.name, (given([*read, *now]), taken([*written, *following]), arena, "own"))
    place = f"{n - 1} - turn" if attrs.is_reverse else "turn"
    loop = For("turn", n, (Let("s64", "step", place), *reads, call, *writes, state.turn))
    arrays = [str(scope.tree(o)) for o in instr.operands[:split]]
    uses = [*state.pointers, *arrays, *read, *written, *(p for p in outputs[:kept] if p), arena]
    function.step(*state.declarations, loop, uses=uses)
    scope.values[instr] = nested(instr.shape, iter([*outputs[:kept], *state.results()]))


def _slices(
    function: Function, instr: Instruction, axis: int, shapes: Sequence[Shape],
    arrays: Sequence[str], *, write: bool,
) -> tuple[list[Call], list[str]]:  # fmt: skip
    """Calls that copy slice `step` of arrays out of them or into them, and where slices lie."""
    calls: list[Call] = []
    places: list[str] = []
    for shape, pointer in zip(shapes, arrays, strict=True):
        dims = (*shape.dims[:axis], *shape.dims[axis + 1 :])
        part = function.buffer(array(shape.element_type, dims), f"{instr.name}_slice")
        places.append(part)
        kernel = Kernel(function.module.constants, Scope())
        kernel.arguments["step"] = Argument("s64 ", "step", "step")
        kind = shape.element_type.name
        whole_kind, part_kind = (f"{kind} *restrict ", f"const {kind} *restrict ")
        if not write:
            whole_kind, part_kind = part_kind, whole_kind
        whole_name = kernel.argument(whole_kind, pointer, "whole")
        part_name = kernel.argument(part_kind, part, "slice")
        body = kernel.body
        with body.loops([f"i{d}" for d in range(len(dims))], dims) as index:
            at = (*index[:axis], unknown("step", 0, shape.dims[axis] - 1), *index[axis:])
            ends = (
                f"{whole_name}[{linear(at, shape.dims).text}]",
                f"{part_name}[{linear(index, dims).text}]",
            )
            body.assign(*(ends if write else ends[::-1]))
        about = f"slice of {instr.name}"
        statements = vectorized(kernel.writer.blocks[0])
        name = function.module.kernels.add(kernel, f"{instr.name}_slice", about, statements)
        calls.append(Call(name, tuple(kernel.arguments)))
    return calls, places


CONTROL: dict[str, Callable[[Function, Scope, Instruction], None]] = {
    "call": write_call,
    "conditional": write_conditional,
    "scan": write_scan,
    "while": write_while,
}
