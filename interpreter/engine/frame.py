"""The engine: evaluates computations, instruction by instruction.

A computation is first planned: each instruction becomes a step that knows its function, the slots
of its operands and the slots that nobody needs after it. Evaluating is then one short loop, which
matters, because the body of a `while` may run a hundred thousand times.

Nothing here recurses over operands. Computations that call computations do nest, a few Python
frames each.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hlo.attributes import ParameterNumber
from hlo.effects import without_dead
from hlo.errors.error import HloError, did_you_mean
from hlo.opcode import GIVEN, OPCODES
from interpreter.dynamic.run_time_sizes import for_run_time_sizes
from interpreter.in_place import in_place_functions
from interpreter.table import evaluates, needs_frame, prepared

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo.attributes import Attrs
    from hlo.instruction import Computation, Instruction
    from interpreter.engine.device import Device
    from interpreter.table import Value


class Step(NamedTuple):
    """One instruction, ready to run.

    Attributes
    ----------
    function : takes `(instr, attrs, *operands)`; the frame, where one is wanted, is bound.
    sources : slots of the operands.
    target : slot of the value.
    dead : slots that are not needed any more afterwards.
    """

    instr: Instruction
    attrs: Attrs
    function: Callable[..., Value]
    sources: tuple[int, ...]
    target: int
    dead: tuple[int, ...]


class Plan(NamedTuple):
    """A computation as steps over numbered slots.

    Attributes
    ----------
    initial : what the slots after those of the arguments hold at first: constants, and None.
    root : slot of the computation's value.
    """

    steps: tuple[Step, ...]
    initial: tuple[Value, ...]
    root: int


@dataclass(frozen=True, slots=True)
class Evaluation:
    """An event for observers: an instruction has its value.

    Attributes
    ----------
    path : the computations that are running, outermost first, each with the loop iteration that it
        runs for; -1 where it is no loop's.
    device : where it happens.
    """

    instr: Instruction
    value: Value
    path: tuple[tuple[Computation, int], ...]
    device: Device


class Frame:
    """Evaluates computations on one device.

    Attributes
    ----------
    device : the device, with the state that it keeps: random numbers, queues, channels.
    observe : called with an `Evaluation` after every instruction; None for silence.
    max_iterations : how often a loop may run its body; None for any number of times.
    ask : called before every iteration of a loop; what it raises ends the evaluation.
    """

    def __init__(
        self,
        device: Device,
        observe: Callable[[Evaluation], None] | None = None,
        max_iterations: int | None = None,
        ask: Callable[[], None] = lambda: None,
    ) -> None:
        self.device = device
        self.observe = observe
        self.max_iterations = max_iterations
        self.ask = ask
        self._path: list[tuple[Computation, int]] = []
        self._plans: dict[Computation, Plan] = {}
        self._plans_in_place: dict[Computation, Plan] = {}

    def call(
        self,
        computation: Computation,
        *arguments: Value,
        iteration: int = -1,
        in_place: bool = False,
    ) -> Value:
        """The value of a computation for some arguments.

        Parameters
        ----------
        computation : one of the module's.
        arguments : one a parameter.
        iteration : for observers: which iteration of a loop this is.
        in_place : whether arrays that a loop carries may be written to: see
            `interpreter.in_place`. Observers, who may keep what they see, prevent it.
        """
        in_place = in_place and self.observe is None
        plans = self._plans_in_place if in_place else self._plans
        plan = plans.get(computation)
        if plan is None:
            changed = in_place_functions(computation) if in_place else {}
            plan = plans[computation] = self._planned(computation, changed)
        values: list[Value] = [*arguments, *plan.initial]
        slot = values.__getitem__
        observe = self.observe
        self._path.append((computation, iteration))
        for instr, attrs, function, sources, target, dead in plan.steps:
            try:
                value = function(instr, attrs, *map(slot, sources))
            except Exception as error:
                raise _placed(error, instr) from None
            values[target] = value
            if observe is not None:
                observe(Evaluation(instr, value, tuple(self._path), self.device))
            for i in dead:
                values[i] = None
        self._path.pop()
        return values[plan.root]

    def _planned(
        self, computation: Computation, changed: dict[Instruction, Callable[..., Value]]
    ) -> Plan:
        """Number the slots, and find out after which step each is dead.

        A parameter's slot is its argument's, and a constant is put into its slot here, so neither
        costs a step; unless somebody observes, who is to see them too.

        Parameters
        ----------
        changed : functions that some instructions have instead of those of the table.
        """
        # XLA removes all others before it compiles, so they may be what no platform could run.
        instrs = without_dead(computation).instructions
        count = len(computation.parameters)
        initial: list[Value] = [None] * len(instrs)
        slot = {instr: count + i for i, instr in enumerate(instrs)}
        running: list[Instruction] = []
        for instr in instrs:
            if self.observe is not None or instr.opcode not in GIVEN:
                running.append(instr)
            elif instr.opcode == "parameter":
                slot[instr] = _number(instr)
            else:
                initial[slot[instr] - count] = self._function(instr)(instr, instr.attrs)
        last_use = {s: instr for instr in running for s in (slot[instr], *_sources(instr, slot))}
        dead: dict[Instruction, list[int]] = {}
        for instr in running:
            if instr is not computation.root:
                dead.setdefault(last_use[slot[instr]], []).append(slot[instr])
        steps = tuple(
            Step(
                *(instr, instr.attrs, changed.get(instr) or self._function(instr)),
                *(_sources(instr, slot), slot[instr]),
                tuple(dead.get(instr, ())),
            )
            for instr in running
        )
        return Plan(steps, tuple(initial), slot[computation.root])

    def _function(self, instr: Instruction) -> Callable[..., Value]:
        function = evaluates.get(instr.opcode)
        if function is None:
            reason = evaluates.not_supported.get(instr.opcode, "it has no function")
            notes = () if instr.opcode in OPCODES else did_you_mean(instr.opcode, OPCODES)
            message = f"{instr.name}: cannot evaluate {instr.opcode}: {reason}"
            raise HloError("HLO100", message, instr.span, notes)
        bound = partial(function, self) if needs_frame(instr.row) else prepared(function, instr)
        return for_run_time_sizes(bound, instr)


def _number(parameter: Instruction) -> int:
    return ParameterNumber.of(parameter).number


def _sources(instr: Instruction, slot: dict[Instruction, int]) -> tuple[int, ...]:
    """The slots that an instruction reads; a parameter reads the argument of its number."""
    if instr.opcode == "parameter":
        return (_number(instr),)
    return tuple(slot[operand] for operand in instr.operands)


def _placed(error: Exception, instr: Instruction) -> Exception:
    """The error, with the span of the text where it arose."""
    if isinstance(error, HloError):
        return error.at(instr.span).with_traceback(error.__traceback__)
    if isinstance(error, MemoryError):
        message = f"{instr.name}: no memory for {instr.shape.bytes:,} bytes of {instr.shape}"
        return HloError("HLO114", message, instr.span)
    if isinstance(error, RecursionError):
        return HloError("HLO115", f"{instr.name}: computations call each other too deeply")
    # Anything else is a mistake in this package, or a module that was never verified: it keeps its
    # type and traceback, and says which instruction it was.
    if not hasattr(error, "__notes__"):
        error.add_note(f"while evaluating {instr!r}")
    return error


def quiet() -> Any:
    """A context in which NumPy computes infinities and NaN without a warning, as XLA does."""
    return np.errstate(all="ignore")
