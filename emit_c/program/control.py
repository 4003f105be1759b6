"""Control flow in C: calls, branches and loops over the functions of computations.

Nothing is handed over: who calls and who is called agree where everything lies. A loop's state is
where the iteration before has left it, and a branch leaves its result where the other one would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS
from codegen.elements.table import is_of_scalars
from codegen.expressions import Literal, Name, Op, Struct, binary, negated
from codegen.kinds import Record
from codegen.program.trees import leaves
from codegen.statements import Break, Forever, If, LocalVariable, Statement, Try
from emit_c.kernels.writing import write_loops
from emit_c.program.function import HANDED_ON_NAMES
from emit_c.program.second_iteration import iteration_on_swapped_buffers
from emit_c.table import emits_c
from hlo.effects import has_effect
from hlo.opcode import SEQUENTIAL
from optimizer.analysis.cost import computation_cost
from optimizer.loops.state import loop_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from emit_c.program.function import FunctionWriter
    from hlo.instruction import Computation, Instruction

UNASKED = 1 << 18
"""Chosen: operations, and bytes, of a loop before it first asks the clock; they take less than a
millisecond. Measured: a binary search of 11 steps, in each iteration of another loop, takes 32 ns,
and 95 if it asks from the first step on."""


def call(function: FunctionWriter, computation: Computation, role: str) -> Try:
    """The call of a computation's function."""
    return Try(Name(function.module.function(computation, role)), HANDED_ON_NAMES)


def write_call(function: FunctionWriter, instr: Instruction) -> None:
    """A call of the computation's function."""
    function.step(call(function, instr.called[0], f"called by %{instr.name}"))


def write_conditional(function: FunctionWriter, instr: Instruction) -> None:
    """A chain of ifs: a pred chooses the first branch where it holds; out of range is the last."""
    index = instr.operands[0]
    chosen = Op("*", (Name(str(function.scope.pointers_of(index))),))
    is_pred = index.shape.element_type.name == "pred"
    calls = [
        call(function, branch, f"branch {number} of %{instr.name}")
        for number, branch in enumerate(instr.called)
    ]
    chain: tuple[Statement, ...] = (calls[-1],)
    for number in reversed(range(len(calls) - 1)):
        holds = chosen if is_pred else binary("==", chosen, number)
        chain = (If(holds, (calls[number],), chain),)
    function.step(*chain)


def write_in_variables(function: FunctionWriter, loop: Instruction) -> None:
    """One kernel for a loop whose state consists of scalars, which it keeps in C variables."""
    kernel = function.new_kernel(function.scope)
    state, shapes = leaves(function.pointers_of(loop), loop.shape), loop.shape.leaves()
    stays = _stays(function, loop)
    outputs = [
        None if k in stays else kernel.output(s, pointer, loop.name)
        for k, (pointer, (_, s)) in enumerate(zip(state, shapes, strict=True))
        if pointer
    ]
    patience = kernel.body.variable(Record("hlo_patience"), "patience", _patience(loop))
    kernel.writer.poll = _poll(patience)
    function.call_kernel(kernel, loop, write_loops(kernel, [(loop, outputs)]))


def _poll(patience: Name) -> Try:
    """The statement with which a loop asks whether it has to stop."""
    return Try(FUNCTIONS["asked_to_stop"], (Op("&", (patience,)),))


def _patience(loop: Instruction) -> Struct:
    """A loop's patience at first: the iterations that take no time before it asks the clock.

    To ask takes longer than a few iterations of a search, in a loop that searches again and again.
    """
    inside = [i for c in loop.called for i in c.instructions]
    known = not any(has_effect(i) or i.opcode in SEQUENTIAL for i in inside)
    costs = [computation_cost(c) for c in loop.called]
    work = sum(c.flops + c.transcendentals + c.bytes_accessed for c in costs)
    turns = UNASKED // max(work, 1) if known else 0
    return Struct(None, (Literal(turns), Literal(turns), Literal(0)) if turns else (Literal(0),))


def _stays(function: FunctionWriter, loop: Instruction) -> set[int]:
    """The elements of the state that are where they were, and as they were.

    A loop may have a constant there, which can't be written.
    """
    elements = loop_of(loop)
    if elements is None or any(s.is_tuple for s in loop.shape.elements):
        return set()
    init = loop.operands[0]
    before, after = (leaves(function.pointers_of(i), i.shape) for i in (init, loop))
    pairs = enumerate(zip(before, after, strict=True))
    return {k for k, (a, b) in pairs if a == b and elements.is_invariant(k)}


def write_while(function: FunctionWriter, instr: Instruction) -> None:
    """A loop that runs the body as long as the condition holds."""
    if function.is_constant(instr):
        # It runs not at all or forever; as in C++ and XLA, loops are taken to end.
        return
    if is_of_scalars(emits_c, instr):
        write_in_variables(function, instr)
        return
    condition, body = instr.called
    ended = negated(Op("*", (Name(str(function.pointers_of(condition.root))),)))
    patience = function.names.unique("patience")
    loop = Forever(
        (
            _poll(Name(patience)),
            call(function, condition, f"the condition of %{instr.name}"),
            Break(ended),
            call(function, body, f"the body of %{instr.name}"),
            *iteration_on_swapped_buffers(function, instr, ended),
        )
    )
    function.step(LocalVariable(Record("hlo_patience"), patience, _patience(instr)), loop)


CONTROL: dict[str, Callable[[FunctionWriter, Instruction], None]] = {
    "call": write_call,
    "conditional": write_conditional,
    "while": write_while,
}
