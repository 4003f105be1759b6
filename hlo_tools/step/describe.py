"""The text that the stepper prints."""

from __future__ import annotations

from difflib import SequenceMatcher
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

from hlo.errors.error import HloError, did_you_mean
from hlo.instruction import Computation, Instruction
from hlo.read.stack_frames import source_location
from hlo.walk import users
from hlo.wording import counted
from hlo.write.print import print_instruction
from hlo_tools.step.shown import StyledLine
from hlo_tools.trace.changes import SHOWN
from hlo_tools.trace.kernels import KernelStop
from hlo_tools.trace.rules import test_status
from hlo_tools.trace.source import source_of
from hlo_tools.values.show import spell
from interpreter.numbers.compare import BITS, compare
from optimizer.catalogue import all_rules
from optimizer.rewriting.rule import Rule, why_not

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hlo.instruction import Module
    from hlo_tools.trace.changes import Marked
    from hlo_tools.trace.recording import PassRun
    from hlo_tools.trace.stops import Stop, Stops
    from optimizer.log import Event, SourceLine

_STYLE = {"-": "gone", "+": "came", " ": ""}
# Of so many lines in a row with one mark, those between the first and the last are only counted.
MOST_ALIKE = 16


def head(stop: Stop, run: PassRun, total: int) -> list[StyledLine]:
    """The lines above a change: its number, pass, rule and promise."""
    lines = [
        StyledLine(
            f"rewrite {stop.number} of {total}: {'.'.join(run.path[1:] or run.path)}", "head"
        )
    ]
    if stop.event is None:
        return [*lines, StyledLine("  the pass reports no single rewrites", "dim")]
    event = stop.event
    shown = f"  {'rule' if isinstance(event.by, Rule) else 'step'} {event.rule}"
    if isinstance(event.by, Rule) and event.by.where is not None:
        shown += f" where {event.by.where}"
    lines.append(StyledLine(shown))
    status = test_status(event)
    lines.append(
        StyledLine(f"  promise {run.promise(event)}{f' ({status})' if status else ''}", "dim")
    )
    return lines


def kernel_head(stop: KernelStop, number: int, total: int) -> list[StyledLine]:
    """The lines above a change of a kernel."""
    return [
        StyledLine(
            f"change {number} of {total}: kernel of %{stop.kernel}, pass {stop.pass_}", "head"
        ),
        StyledLine(f"  {stop.why}", "dim"),
    ]


def group(stop: Stop | KernelStop) -> tuple[object, ...]:
    """The common description of a pass's changes."""
    return ("kernel", stop.pass_) if isinstance(stop, KernelStop) else ("run", stop.run)


def marked(row: Marked) -> StyledLine:
    """A line of a comparison."""
    return StyledLine(f"{row.mark} {row.row.text}", _STYLE[row.mark])


def changed_lines(rows: Sequence[Marked]) -> list[StyledLine]:
    """The lines that went and came; where several computations change, under their names.

    Lines that only moved are counted, and of a long run of lines all but its ends; `ll` shows all.
    """
    changed = [row for row in rows if row.mark != " " and row.row.instr]
    gone, came = (
        {(row.row.computation, row.row.text) for row in changed if row.mark == mark}
        for mark in "-+"
    )
    moved = gone & came
    changed = [row for row in changed if (row.row.computation, row.row.text) not in moved]
    several = len({row.row.computation for row in changed}) > 1
    lines: list[StyledLine] = []
    last = ""
    for (computation, mark), run in groupby(changed, lambda m: (m.row.computation, m.mark)):
        if several and computation != last:
            last = computation
            lines.append(StyledLine(f"  in %{last}:", "dim"))
        alike = [marked(row) for row in run]
        if len(alike) > MOST_ALIKE:
            left_out = f"{mark}   ({counted(len(alike) - 2, 'line')} more)"
            alike[1:-1] = [StyledLine(left_out, _STYLE[mark])]
        lines += alike
    if moved:
        lines.append(StyledLine(f"  {counted(len(moved), 'line')} moved", "dim"))
    return lines


def besides(changed: Sequence[StyledLine], stop: Stop) -> list[StyledLine]:
    """The sentence where no line changes."""
    if changed:
        return []
    event = stop.event
    name = f" (%{event.old.name})" if event else ""
    return [StyledLine(f"  no line changes, only order, metadata or the header{name}", "dim")]


def text_difference(before: Sequence[str], after: Sequence[str]) -> list[StyledLine]:
    """Lines of C, with marks at those that went and came."""
    lines: list[StyledLine] = []
    for kind, i, k, j, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            lines += [StyledLine(f"  {text}") for text in before[i:k]]
        else:
            lines += [StyledLine(f"- {text}", "gone") for text in before[i:k]]
            lines += [StyledLine(f"+ {text}", "came") for text in after[j:m]]
    return lines


def where(
    stops: Stops, at: int, kernels: Sequence[KernelStop], *, to_come: bool = False
) -> list[StyledLine]:
    """A line a pass that changes something, with an arrow where the stepper is.

    Parameters
    ----------
    to_come : whether kernels are made when the rewrites are done, so that nobody knows them yet.
    """
    total = len(stops) + len(kernels)
    text = "rewrites done; passes over kernels follow" if to_come else "changes done"
    lines = [StyledLine(f"{at} of {total} {text}", "head")]
    first = 1
    idle = False
    for number, run in enumerate(stops.recording.passes):
        count = sum(1 for stop in stops.stops if stop.run == number) if run.changed else 0
        if not count:
            idle = True
            continue
        here = first <= at < first + count
        done = at - first + 1 if here else count
        text = counted(count, "change") if not here else f"{done} of {counted(count, 'change')}"
        lines.append(_pass_line(here, at >= first, ".".join(run.path[1:] or run.path), text))
        first += count
    for kernel in dict.fromkeys(stop.kernel for stop in kernels):
        names = [stop.pass_ for stop in kernels if stop.kernel == kernel]
        here = first <= at < first + len(names)
        lines.append(_pass_line(here, at >= first, f"kernel of %{kernel}", ", ".join(names)))
        first += len(names)
    return [*lines, StyledLine("   the other passes changed nothing", "dim")] if idle else lines


def _pass_line(here: bool, begun: bool, name: str, status: str) -> StyledLine:
    style = "mark" if here else "" if begun else "dim"
    return StyledLine(f"{'->' if here else '  '} {name}: {status}", style)


def source(location: SourceLine, *, whole: bool) -> list[StyledLine]:
    """The lines at a location; of a pass, the requested line is marked."""
    text = source_of(location, whole=whole)
    if text is None:
        return [StyledLine(f"{location.file}:{location.line} cannot be read", "dim")]
    name, *lines = str(text).splitlines()
    return [
        StyledLine(name, "head"),
        *(
            StyledLine(line, "mark" if line.startswith("->") and not whole else "")
            for line in lines
        ),
    ]


def variables(event: Event) -> list[StyledLine]:
    """A line a variable of a rule."""
    return [StyledLine(f"  {name} = {bound(value)}") for name, value in event.bindings.items()]


def bound(value: Any) -> str:
    """The value of a rule's variable, in words."""
    if isinstance(value, Instruction):
        return repr(value)
    if isinstance(value, Computation):
        return f"%{value.name}"
    if isinstance(value, tuple) and value:
        parts = cast("tuple[Any, ...]", value)
        if isinstance(parts[0], Instruction):
            return ", ".join(f"%{part.name}" for part in parts)
    return str(cast("object", value))


def values(name: str, old: tuple[Any, ...] | None, new: tuple[Any, ...] | None) -> list[StyledLine]:
    """An instruction's value before and after a change."""
    if old and new and compare(new[0], old[0], BITS) is None:
        return [
            StyledLine(f"%{name} = {text}" if not i else text)
            for i, text in enumerate(spell(new[0]))
        ]
    lines = [*_side("before", "gone", name, old), *_side("after", "came", name, new)]
    if old and new and (difference := compare(new[0], old[0], BITS)):
        lines.append(StyledLine(str(difference), "mark"))
    return lines


def _side(word: str, style: str, name: str, value: tuple[Any, ...] | None) -> list[StyledLine]:
    if value is None:
        return [StyledLine(f"{word}: there is no %{name}", "dim")]
    if not value:
        return [StyledLine(f"{word}: %{name} was not computed", "dim")]
    first, *others = spell(value[0])
    return [
        StyledLine(f"{word}: %{name} = {first}", style),
        *(StyledLine(text, style) for text in others),
    ]


def instruction(module: Module, instr: Instruction, computation: Computation) -> list[StyledLine]:
    """All that is known of an instruction."""
    using = ", ".join(f"%{user.name}" for user in users(computation).get(instr, []))
    root = " (root)" if instr is computation.root else ""
    location = source_location(module, instr)
    metadata = instr.annotations.metadata
    lines = [
        StyledLine(print_instruction(instr, SHOWN), "head"),
        StyledLine(f"  {instr.opcode}: {instr.row.summary}"),
        StyledLine(
            f"  {instr.shape}, {counted(instr.shape.bytes, 'byte')}, in %{computation.name}"
        ),
        StyledLine(f"  used by {using or 'nobody'}{root}"),
    ]
    if location or (metadata and metadata.op_name):
        named = f" {metadata.op_name}" if metadata and metadata.op_name else ""
        lines.append(StyledLine(f"  from{named}{f' at {location}' if location else ''}"))
    return lines


def rules_named(word: str, events: Iterable[Event | None]) -> list[Rule]:
    """The rules whose names have a word, or the one of just this name.

    Raises
    ------
    HloError
        HLO204 if there is none.
    """
    own = [event.by for event in events if event is not None and isinstance(event.by, Rule)]
    known = list(dict.fromkeys([*all_rules(), *own]))
    matching = [rule for rule in known if rule.name == word] or [r for r in known if word in str(r)]
    if not matching:
        notes = did_you_mean(word, [rule.name for rule in known])
        raise HloError("HLO204", f"no rule has `{word}` in its text", notes=notes)
    return matching


def reasons(
    rules: Sequence[Rule], instr: Instruction, computation: Computation
) -> list[StyledLine]:
    """The reasons why rules do not rewrite an instruction; of several, rules of its opcode."""
    fitting = [rule for rule in rules if instr.opcode in rule.left.opcodes]
    uses = {used: len(by) for used, by in users(computation).items()}
    lines: list[StyledLine] = []
    for rule in fitting or rules[:1]:
        lines += [StyledLine(str(rule)), StyledLine(f"    {why_not(rule, instr, uses)}", "mark")]
    return lines
