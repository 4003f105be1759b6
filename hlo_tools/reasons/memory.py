"""Reasons why a value is copied, or computed again, or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.instruction import Computation
from hlo.walk import rebuild, rebuild_module
from optimizer.analysis.dataflow import Several, Value
from optimizer.calls.flatten_call_graph import FlattenCallGraph
from optimizer.instruction_lookup import instruction_named
from optimizer.log import Log
from optimizer.memory.buffers import Buffers, Update
from optimizer.memory.copy_insertion import CopyInsertion, rule
from optimizer.memory.rematerialization import Peak, RematDecision

if TYPE_CHECKING:
    from hlo.instruction import Instruction, Module
    from optimizer.analysis.dataflow import Dataflow, Join
    from optimizer.memory.buffers import Clash, Refusal

_TARGETS = {
    "loop-state": "the state of the loop %{0}",
    "branch-result": "the result of the conditional %{0}",
    "live-out": "output %{0} of the module",
    "update-in-place": "%{0}, which updates it in place",
}


@dataclass(frozen=True, slots=True)
class CopyDecision:
    """The decision to copy a value.

    Attributes
    ----------
    copied : what was decided.
    rule : which rule decided, a word.
    text : the reasons with their numbers, a sentence each.
    """

    copied: bool
    rule: str
    text: tuple[str, ...]

    def __str__(self) -> str:
        """A line a reason."""
        head = f"{'copied' if self.copied else 'not copied'} ({self.rule}): "
        return "\n".join(head + reason for reason in self.text)


def why_copied(module: Module, name: str, target: str = "cpu") -> CopyDecision:  # noqa: ARG001
    """The reason why a value and its copy are apart.

    Parameters
    ----------
    name : of a copy, with or without "%": why it can't go; or of another instruction: why its value
        is copied, or what it reads.
    target : rules are the same for all.

    Raises
    ------
    HloError
        HLO158 if no sequential computation has such an instruction.
    """
    module = FlattenCallGraph().run(module, Log())
    buffers = Buffers(module)
    instr = _find(buffers.flow, name)
    if instr.opcode == "copy":
        known = {_key(refusal) for refusal in buffers.refused}
        buffers = Buffers(_without(module, instr))
        refusals = [r for r in buffers.refused if _key(r) not in known]
    else:
        refusals = [r for r in buffers.refused if instr in _concerned(r)]
    if not refusals:
        message = f"nothing is written where %{instr.name} lies while that is needed"
        return CopyDecision(False, "no-clash", (message,))
    reasons = tuple(_reason(refusal, buffers.flow) for refusal in refusals)
    return CopyDecision(True, rule(refusals[0].wish), reasons)


def why_recomputed(module: Module, name: str, target: str = "cpu") -> RematDecision:  # noqa: ARG001
    """Whether a value could be computed again instead of being kept through the peak.

    Parameters
    ----------
    name : of an instruction, with or without "%".
    target : rules are the same for all.

    Raises
    ------
    HloError
        HLO158 if no sequential computation has such an instruction.
    """
    peak = Peak(CopyInsertion().run(FlattenCallGraph().run(module, Log()), Log()))
    return peak.judge(_find(peak.flow, name))


def _find(flow: Dataflow, name: str) -> Instruction:
    message = "no computation that is run in sequence has an instruction {}"
    return instruction_named(name, flow.at, flow.module, message)


def _without(module: Module, copy: Instruction) -> Module:
    """A module in which a copy's users use its operand."""

    def change(computation: Computation) -> Computation:
        if copy not in computation.instructions:
            return computation
        return rebuild(computation, {copy: copy.operands[0]})

    return rebuild_module(module, change)


def _key(refusal: Refusal) -> tuple[str, int, str]:
    wish = refusal.wish
    user = wish.instruction.name if isinstance(wish, Update) else wish.at.name
    leaf = wish.pair.operand_leaf if isinstance(wish, Update) else wish.leaf
    return user, leaf, wish.target.name


def _concerned(refusal: Refusal) -> list[Instruction]:
    """The instructions that a copy concerns: those that make the value, and its overwriter."""
    wish = refusal.wish
    source = wish.source
    values = source if isinstance(source, Several) else (source,)
    instrs = [v.instruction for v in values if isinstance(v, Value)]
    return [*instrs, wish.target.instruction]


def _reason(refusal: Refusal, flow: Dataflow) -> str:
    wish, clash = refusal
    target = _TARGETS[rule(wish)].format(wish.target.name)
    size = f"{wish.target.shape.bytes} bytes"
    if not isinstance(wish.source, Value):
        return f"{target} wants an array of {size}, and what it is given is never stored"
    head = f"%{wish.source.name}{_line(wish.source.instruction)} and {target} want the same {size}"
    return f"{head}, but {_clash(clash, wish, flow)}{_iterations(wish, flow)}"


def _clash(clash: Clash, wish: Update | Join, flow: Dataflow) -> str:
    one, other, moment = clash
    if one.kind == "constant":
        return f"%{one.name} is a constant"
    if one.kind == "parameter":
        return f"%{one.name} is the caller's, who has not donated it"
    if one.kind == other.kind == "output":
        return f"%{wish.source.name} is another output already"  # type: ignore[union-attr]
    old, new = (one, other) if one.time < moment else (other, one)
    reader = next((i for i, t in flow.timeline.time.items() if t == old.live[-1][1]), None)
    until = f"%{reader.name}{_line(reader)}" if reader else "the end of its computation"
    newer = f"%{new.name}{_line(new.instruction)}"
    return f"%{old.name} is needed until {until} while {newer} is there"


def _iterations(wish: Update | Join, flow: Dataflow) -> str:
    """In how many loops it is done."""
    at = wish.instruction if isinstance(wish, Update) else wish.at
    timeline = flow.timeline
    home = at if isinstance(at, Computation) else timeline.home[at]
    return " (in every iteration of a loop)" if timeline.loop[home] else ""


def _line(instr: Instruction) -> str:
    """The line of an instruction in the file, or in the user's program."""
    metadata = instr.annotations.metadata
    if metadata and metadata.source_line:
        return f" ({metadata.source_file}:{metadata.source_line})"
    return f" (line {instr.span.line})" if instr.span else ""
