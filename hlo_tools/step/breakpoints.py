"""Breakpoints: at a rule, an instruction, an opcode, or where values change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hlo.errors.error import HloError, did_you_mean
from hlo.instruction import Instruction
from hlo.opcode import OPCODES
from hlo_tools.trace.kernels import KernelStop
from hlo_tools.trace.values import has_nan
from interpreter.numbers.compare import BITS, compare
from optimizer.catalogue import all_rules

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from hlo.instruction import Module
    from hlo_tools.trace.stops import Stop, Stops
    from hlo_tools.trace.values import Values
    from optimizer.log import Event

# Words for conditions on values, with their meanings.
CONDITIONS: Final = {
    "nan": "an instruction has a NaN, and none had before",
    "divergence": "the module's result is not, to the bit, that of the module before all passes",
    "change": "an instruction has another value than before",
}


@dataclass(frozen=True)
class Here:
    """A change, by its number; modules are made and evaluated only for who asks for them."""

    stop: Stop | KernelStop
    number: int
    stops: Stops
    values: Values

    @property
    def first(self) -> Module:
        """The module before all changes."""
        return self.stops.module(0)

    @property
    def before(self) -> Module:
        """The module before the change."""
        return self.stops.module(self.number - 1)

    @property
    def after(self) -> Module:
        """The module after the change."""
        return self.stops.module(self.number)


@dataclass(frozen=True)
class Breakpoint:
    """A condition on changes.

    Attributes
    ----------
    kind : "nan", "divergence", "change", "instruction", "opcode", "rule" or "pass".
    word : the name, but for the first two.
    """

    kind: str
    word: str = ""

    def __str__(self) -> str:
        """The condition at which it stops."""
        if self.kind == "change" and self.word:
            return f"%{self.word} has another value than before"
        if self.kind in CONDITIONS:
            return CONDITIONS[self.kind]
        return f"{self.kind} {'%' if self.kind == 'instruction' else ''}{self.word}"

    def reason(self, here: Here) -> str:
        """The reason to stop at a change; "" if there is none."""
        if isinstance(here.stop, KernelStop):
            named = {"pass": here.stop.pass_, "instruction": here.stop.kernel}
            return str(self) if named.get(self.kind) == self.word else ""
        event = here.stop.event
        if self.kind in CONDITIONS:
            return getattr(self, f"_{self.kind}")(here)
        if self.kind == "pass":
            path = event.path if event is not None else here.stops.run(here.stop).path
            return str(self) if self.word in path else ""
        if event is None:
            return ""
        fits = {
            "rule": lambda: event.rule == self.word,
            "instruction": lambda: self.word in {i.name for i in touched(event)},
            "opcode": lambda: self.word in {i.opcode for i in (event.old, *event.new)},
        }
        return str(self) if fits[self.kind]() else ""

    def _nan(self, here: Here) -> str:
        if any(map(has_nan, here.values.of(here.before).values())):
            return ""
        bad = [name for name, v in here.values.of(here.after).items() if has_nan(v)]
        return f"NaN arises in %{bad[0]}" if bad else ""

    def _divergence(self, here: Here) -> str:
        result = here.values.result
        if compare(result(here.before), result(here.first), BITS) is not None:
            return ""
        difference = compare(result(here.after), result(here.first), BITS)
        return f"the result diverges: {difference}" if difference else ""

    def _change(self, here: Here) -> str:
        old, new = here.values.of(here.before), here.values.of(here.after)
        for name in [self.word] if self.word else new:
            if name in old and name in new and (difference := compare(new[name], old[name], BITS)):
                return f"%{name} changes: {difference}"
        return ""


def touched(event: Event) -> list[Instruction]:
    """The instructions that a rewrite replaces, makes, or looks at."""
    bound = [v for v in event.bindings.values() if isinstance(v, Instruction)]
    return [event.old, *event.new, *bound]


def breakpoint_at(
    words: str, stops: Stops, modules: Iterable[Module], kernel_passes: Iterable[str] = ()
) -> Breakpoint:
    """The condition that some words name.

    Parameters
    ----------
    modules : whose instructions have names.
    kernel_passes : names of passes over kernels, which may come after the rewrites.

    Raises
    ------
    HloError
        HLO204 if nothing has the name, or what has it changes nothing here.
    """
    events = [stop.event for stop in stops.stops if stop.event is not None]
    names = {i.name for module in modules for i in module.instructions()}
    names.update(i.name for event in events for i in touched(event))
    word, _, rest = words.partition(" ")
    if word in CONDITIONS:
        return _condition(word, rest.strip().removeprefix("%"), names)
    if words in OPCODES:
        return Breakpoint("opcode", words)
    passes = {name for event in events for name in event.path}
    passes.update(name for stop in stops.stops for name in stops.run(stop).path)
    passes.update(kernel_passes)
    if words in passes:
        return Breakpoint("pass", words)
    if (name := words.removeprefix("%")) in names:
        return Breakpoint("instruction", name)
    rules = list(dict.fromkeys(event.rule for event in events))
    matching = [r for r in rules if r == words] or [r for r in rules if words in r]
    if len(matching) == 1:
        return Breakpoint("rule", matching[0])
    if matching:
        message = f"{len(matching)} rules have `{words}` in their names"
        raise HloError("HLO204", message, notes=matching)
    idle = {name for run in stops.recording.passes for name in run.path}
    if words in idle or any(words == rule.name for rule in all_rules()):
        raise HloError("HLO204", f"`{words}` changes nothing in this module")
    known = [*CONDITIONS, *OPCODES, *passes, *idle, *names, *rules]
    message = f"nothing is called `{words}`"
    raise HloError("HLO204", message, notes=did_you_mean(words, known))


def _condition(word: str, name: str, names: Collection[str]) -> Breakpoint:
    """A condition on values; only a change may be that of one instruction."""
    if name and word != "change":
        raise HloError("HLO204", f"`{word}` takes no name, and got `{name}`")
    if name and name not in names:
        notes = did_you_mean(name, names)
        raise HloError("HLO204", f"there is no instruction `{name}`", notes=notes)
    return Breakpoint(word, name)
