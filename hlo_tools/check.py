"""Holds a pass against the interpreter, and shrinks what breaks it to something that can be read.

A pass is wrong if it raises, makes a module that the verifier refuses, changes a value, finds
something to do in what it made itself, or rewrites although there is no fuel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from hlo.attributes import Parameter
from hlo.build import module as module_of
from hlo.verify import verify
from hlo.walk import names_of, rebuild
from interpreter.engine.evaluate import evaluate
from interpreter.numbers.compare import compare
from optimizer.calls.call_inliner import CallInliner
from optimizer.effects import without_dead
from optimizer.log import Log
from optimizer.observers import promise_of
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hlo.instruction import Computation, Instruction, Module
    from optimizer.log import Pass

Arguments = list[Any]


@dataclass(frozen=True)
class Failure:
    """A module on which a pass is wrong.

    Attributes
    ----------
    kind : "error", "invalid", "value", "unstable" or "fuel".
    message : what is wrong, in a line.
    before, after : the module and what the pass made of it; None where it raised.
    """

    kind: str
    message: str
    before: Module
    arguments: Arguments
    after: Module | None = None

    def __str__(self) -> str:
        """All that there is to see."""
        parts = [self.message, f"// before\n{self.before}".rstrip()]
        parts += [f"// after\n{self.after}".rstrip()] if self.after else []
        parts += [
            f"// %{p.name} = {value}"
            for p, value in zip(self.before.entry.parameters, self.arguments, strict=True)
        ]
        return "\n\n".join(parts)


def find_failure(pass_: Pass, module: Module, arguments: Arguments) -> Failure | None:
    """What is wrong with a pass on one module; None if nothing is."""
    try:
        after = pass_.run(module, Log())
    except Exception as error:
        return Failure("error", f"it raises {type(error).__name__}: {error}", module, arguments)
    found = wrong_result(pass_, module, after, arguments) or disobedience(pass_, module, after)
    if found is None:
        return None
    kind, message = found
    return Failure(kind, message, module, arguments, after)


def wrong_result(
    pass_: Pass, module: Module, after: Module, arguments: Arguments
) -> tuple[str, str] | None:
    """Kind and message if a result is not well formed, or gives another value."""
    if after is module:
        return None
    try:
        verify(after)
    except Exception as error:
        return "invalid", f"its result is wrong: {error}"
    want = evaluate(module, *arguments)
    try:
        got = evaluate(after, *arguments)
    except Exception as error:
        return "value", f"its result fails: {error}"
    difference = compare(got, want, promise_of(pass_))
    return ("value", f"the value changes: {difference}") if difference else None


def disobedience(pass_: Pass, module: Module, after: Module) -> tuple[str, str] | None:
    """Kind and message if a pass has work left in its own result, or works without fuel."""
    if pass_.run(after, Log()) is not after:
        return "unstable", "a second run changes the module again"
    if pass_.run(module, Log(fuel=0)) is not module:
        return "fuel", "it rewrites without fuel"
    return None


def shrink(pass_: Pass, failure: Failure, limit: int = 500) -> Failure:
    """A smaller module on which the pass is wrong in the same way.

    Parameters
    ----------
    limit : how many smaller modules to try.
    """
    tried = 0
    while True:
        for smaller, arguments in simpler(failure.before, failure.arguments):
            tried += 1
            found = find_failure(pass_, smaller, arguments)
            if found is not None and found.kind == failure.kind:
                failure = found
                break
            if tried >= limit:
                return failure
        else:
            return failure


def simpler(module: Module, arguments: Arguments) -> Iterator[tuple[Module, Arguments]]:
    """Modules that do less: an earlier instruction as result, or a parameter for an instruction.

    Before that, what the entry calls becomes part of it, so that it can be simplified too.
    """
    inlined = CallInliner().run(opened(module), Log())
    if inlined is not module:
        yield inlined, arguments
    entry = module.entry
    for instr in entry.instructions:
        if instr is not entry.root and instr.opcode != "parameter":
            yield trimmed(module, replace(entry, root=instr), arguments)
    for instr in entry.instructions:
        if instr.operands and instr is not entry.root:
            yield cut(module, instr, arguments)


def opened(module: Module) -> Module:
    """The module with calls in its entry for branches and loops: the last branch, or one turn."""
    plan: dict[Instruction, Instruction] = {}
    names = names_of(module)
    for instr in module.entry.instructions:
        if instr.opcode in ("conditional", "while"):
            # Of a loop the last computation is the body, and the only operand its state.
            call = make("call", instr.operands[-1], called=instr.called[-1:])
            plan[instr] = call.with_(name=names.unique("call"))
    return module_of(rebuild(module.entry, plan), module.name) if plan else module


def cut(module: Module, instr: Instruction, arguments: Arguments) -> tuple[Module, Arguments]:
    """The module with an instruction turned into a parameter, and its value into an argument."""
    until, _ = trimmed(module, replace(module.entry, root=instr), arguments, all_parameters=True)
    value = evaluate(until, *arguments)
    name = names_of(module).unique("cut")
    number = len(module.entry.parameters)
    parameter = make("parameter", shape=instr.shape, number=number).with_(name=name)
    return trimmed(module, rebuild(module.entry, {instr: parameter}), [*arguments, value])


def trimmed(
    module: Module, entry: Computation, arguments: Sequence[Any], *, all_parameters: bool = False
) -> tuple[Module, Arguments]:
    """The module with another entry, without what that does not need."""
    entry = without_dead(entry)
    used = {o for i in entry.instructions for o in i.operands} | {entry.root}
    kept = [p for p in entry.parameters if all_parameters or p in used]
    plan = {p: p.with_(attrs=Parameter(number=i)) for i, p in enumerate(kept) if _number(p) != i}
    given = [arguments[_number(p)] for p in kept]
    alive = tuple(i for i in entry.instructions if i.opcode != "parameter" or i in kept)
    return module_of(rebuild(replace(entry, instructions=alive), plan), module.name), given


def _number(parameter: Instruction) -> int:
    return cast("Parameter", parameter.attrs).number
