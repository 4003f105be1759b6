"""Control flow in C: calls, branches and loops over the functions of computations.

Nothing is handed over: who calls and who is called agree where everything lies. A loop's state is
where the turn before has left it, and a branch leaves its result where the other one would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from emit_c.code.loops import Break, Forever, If, Statement, Try, Variable
from emit_c.table import Element, Scalar, Schedule, emits_c

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from emit_c.code.names import Names
    from emit_c.kernels.kernel import Scope
    from hlo.instruction import Computation, Instruction


# What all functions are given.
HANDED_ON = ("in", "out", "arena", "own")


class Function(Protocol):
    """What control flow asks of the C function in the making that it stands in.

    Attributes
    ----------
    names : of its variables.
    scope : what is in memory.
    """

    names: Names
    scope: Scope

    def step(self, *statements: Statement, uses: Iterable[str] = ()) -> None:
        """The next thing to do."""

    def tree(self, instr: Instruction) -> object:
        """Where an instruction's value lies."""

    def is_constant(self, loop: Instruction) -> bool:
        """Whether a loop changes nothing."""
        ...

    def write_in_variables(self, loop: Instruction) -> None:
        """Write a loop over scalars as one kernel."""

    def turn_in_swapped_places(self, loop: Instruction, ended: str) -> Sequence[Statement]:
        """Another turn of a loop, if each second one works on other buffers."""
        ...

    def callee(self, computation: Computation) -> str:
        """The name of a computation's C function."""
        ...


def call(function: Function, computation: Computation) -> Try:
    """The call of a computation's function."""
    return Try(function.callee(computation), HANDED_ON)


def write_call(function: Function, instr: Instruction) -> None:
    """A call of the computation's function."""
    function.step(call(function, instr.called[0]))


def write_conditional(function: Function, instr: Instruction) -> None:
    """A chain of ifs: a pred chooses the first branch where it holds; out of range is the last."""
    index = instr.operands[0]
    pointer = str(function.scope.tree(index))
    is_pred = index.shape.element_type.name == "pred"
    calls = [call(function, branch) for branch in instr.called]
    chain: tuple[Statement, ...] = (calls[-1],)
    for number in reversed(range(len(calls) - 1)):
        holds = f"*{pointer}" if is_pred else f"*{pointer} == {number}"
        chain = (If(holds, (calls[number],), chain),)
    function.step(*chain)


def is_of_scalars(instr: Instruction) -> bool:
    """Whether an instruction, and all that it runs, works on scalars that C variables can hold."""
    if not all(shape.is_array and shape.rank == 0 for _, shape in instr.shape.leaves()):
        return False
    entry = emits_c.get(instr.opcode)
    written = isinstance(entry, Scalar | Element)
    if isinstance(entry, Schedule):
        written = entry.write is not None or instr.opcode in ("parameter", "get-tuple-element")
    return written and all(is_of_scalars(i) for c in instr.called for i in c.instructions)


def write_while(function: Function, instr: Instruction) -> None:
    """A loop that runs the body as long as the condition holds."""
    if function.is_constant(instr):
        # It runs not at all or forever; as in C++ and XLA, loops are taken to end.
        return
    if is_of_scalars(instr):
        function.write_in_variables(instr)
        return
    condition, body = instr.called
    goes_on = function.tree(condition.root)
    patience = function.names.unique("patience")
    loop = Forever(
        (
            Try("asked_to_stop", (f"&{patience}",)),
            call(function, condition),
            Break(f"!*{goes_on}"),
            call(function, body),
            *function.turn_in_swapped_places(instr, f"!*{goes_on}"),
        )
    )
    function.step(Variable("struct hlo_patience", patience, "{0}"), loop)


CONTROL: dict[str, Callable[[Function, Instruction], None]] = {
    "call": write_call,
    "conditional": write_conditional,
    "while": write_while,
}
