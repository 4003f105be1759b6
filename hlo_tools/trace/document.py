"""A trace as one JSON document: what `hlo opt --trace FILE` writes and `hlo view` shows.

Everything that is said often is in a table once, and elsewhere by its index in the table,
counted from 0. `docs/trace.md` tells what each key means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from codegen.printer import text as printed
from hlo.errors.error import HloError
from hlo.instruction import Computation, Instruction
from hlo.opcode import OPCODES
from hlo_tools.trace.code import LANGUAGES, MACHINE_CODE
from hlo_tools.trace.kernels import kernel_states
from hlo_tools.trace.memory import memory
from hlo_tools.trace.replay import is_exact, steps
from hlo_tools.trace.rows import RowTable, Strings
from hlo_tools.trace.rules import described
from hlo_tools.trace.source import shown_path
from hlo_tools.trace.stops import Stops
from hlo_tools.values.show import spell_in_a_line
from optimizer.gpu.device import A100
from optimizer.gpu.timeline import simulate
from optimizer.pipeline_text import pipeline_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codegen.schedule.trace import AppliedPrimitive
    from hlo.instruction import Module
    from hlo_tools.trace.linked import CodeLine
    from hlo_tools.trace.recording import PassRun, Recording
    from hlo_tools.trace.values import Values
    from optimizer.log import Event

FORMAT: Final = "pyhlo-trace"
VERSION: Final = 2
# Characters of a value that are kept.
LONGEST_VALUE = 240
# Elements up to which an array's are all shown, as far as the line goes.
WHOLE = 24


class Document:
    """A recording on its way to JSON.

    Parameters
    ----------
    values : what instructions compute on an input; None where that is not wanted.
    target : for which the passes are: "cpu" adds loops and C, "gpu" CUDA and the time there.
    assembly : whether with the assembly of the C, or the PTX of the CUDA C.
    """

    def __init__(
        self,
        recording: Recording,
        values: Values | None = None,
        *,
        target: str = "cpu",
        assembly: bool = False,
    ) -> None:
        self.recording, self.values, self.target = recording, values, target
        self.assembly = assembly
        self.stops = Stops(recording)
        self.rows = RowTable(recording.module)
        self.rules: dict[tuple[object, ...], int] = {}
        self.rule_data: list[dict[str, Any]] = []
        self.texts = Strings()
        self.notes: list[str] = []
        self._spellings: dict[tuple[Any, ...], str] = {}

    def as_data(self) -> dict[str, Any]:
        """The whole document."""
        recording = self.recording
        start = self.rows.of(recording.module)
        passes = [self._pass(number) for number in range(len(recording.passes))]
        values = self._values()
        last = self._last()
        return {
            "format": FORMAT,
            "version": VERSION,
            "module": recording.module.name,
            "pipeline": recording.pipeline.name,
            "passes_text": pipeline_text_of(recording),
            "fault": str(recording.fault) if recording.fault else "",
            "start": start,
            "passes": passes,
            "rules": self.rule_data,
            "values": values,
            **last,
            "notes": self.notes,
            "rows": self.rows.as_data(),
            "shards": [[row, *grid] for row, grid in self.rows.shards.items()],
            "names": self.rows.names.as_data(),
            "shapes": [[shape, self.rows.bytes[shape]] for shape in self.rows.shapes.as_data()],
            "opcodes": [[name, OPCODES[name].summary] for name in self.rows.opcodes.as_data()],
            "rests": self.rows.rests.as_data(),
            "sources": [source.split("\n") for source in self.rows.sources.as_data()],
            "texts": self.texts.as_data(),
        }

    # ---------------------------------------------------------------------------------- rewrites

    def _pass(self, number: int) -> dict[str, Any]:
        run = self.recording.passes[number]
        location = run.location
        data: dict[str, Any] = {
            "path": list(run.path),
            "summary": run.summary,
            "place": [shown_path(location.file), location.line],
            "milliseconds": round(run.seconds * 1000, 3),
            "verified": run.verified,
            "promise": str(run.promise(run.rewrites[0])) if run.rewrites else "",
        }
        if run.changed:
            events = run.rewrites or (None,)
            pairs = zip(events, steps(self.stops, number, self.rows), strict=True)
            data["exact"] = is_exact(run)
            data["steps"] = [self._step(run, event, splices) for event, splices in pairs]
        return data

    def _step(self, run: PassRun, event: Event | None, splices: Any) -> dict[str, Any]:
        data: dict[str, Any] = {"edits": splices}
        if event is not None:
            number = self.rows.names.number
            data |= {
                "rule": self._rule(event),
                "old": number(event.old.name),
                "new": [number(instr.name) for instr in event.new],
                "promise": str(run.promise(event)),
            }
            if event.bindings:
                data["bindings"] = {k: self._bound(v) for k, v in event.bindings.items()}
        return data

    def _rule(self, event: Event) -> int:
        key = (event.rule, event.location) if event.by is None else (event.rule, event.by)
        if key not in self.rules:
            self.rules[key] = len(self.rule_data)
            self.rule_data.append(described(event))
        return self.rules[key]

    def _bound(self, value: Any) -> Any:
        """An instruction or a computation by the number of its name, several as a list; or text."""
        if isinstance(value, Instruction | Computation):
            return self.rows.names.number(value.name)
        parts = cast("tuple[Any, ...]", value) if isinstance(value, tuple) else ()
        if parts and isinstance(parts[0], Instruction):
            return [self.rows.names.number(part.name) for part in parts]
        return str(cast("object", value))

    # ------------------------------------------------------------------------------------ values

    def _values(self) -> list[list[int]]:
        """The rows and texts of values, before all passes and after each that changes the module.

        Only what is not as it was before is listed.
        """
        if self.values is None:
            return []
        changed = [run.after for run in self.recording.passes if run.changed]
        last: dict[int, int] = {}
        columns: list[list[int]] = []
        try:
            columns += [
                self._values_in(module, self.values, last)
                for module in (self.recording.module, *changed)
            ]
        except (HloError, MemoryError) as error:
            self.notes.append(f"no values: {error}")
        return columns

    def _values_in(self, module: Module, values: Values, last: dict[int, int]) -> list[int]:
        computed = values.of(module)
        fresh: list[int] = []
        for computation in module.computations:
            for instr in computation.instructions:
                if instr.name not in computed:
                    continue
                row = self.rows.instruction(instr, is_root=instr is computation.root)
                text = self.texts.number(self._spelled(computed[instr.name]))
                if last.get(row) != text:
                    last[row] = text
                    fresh += [row, text]
        return fresh

    def _spelled(self, value: Any) -> str:
        """A value in a short line; most values occur in the module after each pass."""
        if not isinstance(value, np.ndarray):
            return shortened(spell_in_a_line(value, WHOLE))
        array = cast("np.ndarray[Any, Any]", value)
        key = array.dtype, array.shape, array.tobytes()
        if key not in self._spellings:
            self._spellings[key] = shortened(spell_in_a_line(array, WHOLE))
        return self._spellings[key]

    # -------------------------------------------------------------------------- the last module

    def _last(self) -> dict[str, Any]:
        """Kernels, code, memory and time of the last pass's module; empty where there are none."""
        data: dict[str, Any] = {"kernels": [], "code": [], "memory": None, "timeline": []}
        if self.recording.fault is not None:
            return data
        makers: dict[str, Callable[[Module], Any]] = {
            "memory": memory,
            "code": self._code,
            "kernels": self._kernels,
        }
        if self.target == "gpu":
            makers["timeline"] = self._timeline
        for key, make in makers.items():
            try:
                data[key] = make(self.recording.last)
            except HloError as error:
                self.notes.append(f"no {key}: {error}")
        return data

    def _timeline(self, module: Module) -> list[list[Any]]:
        """The GPU timeline of the entry's instructions: lane, name, start, end in seconds."""
        number = self.rows.names.number
        return [
            [span.lane, number(span.instr.name), span.start, span.end]
            for span in simulate(module.entry.instructions, A100)
            if span.end > span.start
        ]

    def _kernels(self, module: Module) -> list[dict[str, Any]]:
        """Each kernel's loops as they are written, and after each pass that changes them."""
        states_by_kernel: dict[str, list[dict[str, Any]]] = {}
        for state in kernel_states(module, self.target):
            data = {"pass": state.pass_, "why": state.why, **self._linked(state.code)}
            if state.steps:
                data["steps"] = [self._applied(step) for step in state.steps]
            states_by_kernel.setdefault(state.kernel, []).append(data)
        return [{"name": name, "states": states} for name, states in states_by_kernel.items()]

    def _applied(self, step: AppliedPrimitive) -> dict[str, Any]:
        """A step of a schedule: the loop before and after it."""
        sides = {"before": (step.before,), "after": step.after}
        lines = {
            side: [self.texts.number(line) for line in printed(text_of).splitlines()]
            for side, text_of in sides.items()
        }
        return {"primitive": step.primitive, "reason": step.reason, **lines}

    def _linked(self, lines: Sequence[CodeLine]) -> dict[str, Any]:
        """Lines, and the instructions that each is about."""
        name, text = self.rows.names.number, self.texts.number
        return {
            "lines": [text(line.text) for line in lines],
            "names": [[name(each) for each in line.names] for line in lines],
        }

    def _code(self, module: Module) -> list[dict[str, Any]]:
        """The files that are emitted, by language."""
        texts: list[dict[str, Any]] = []
        writers = dict(LANGUAGES[self.target])
        if self.assembly:
            writers |= MACHINE_CODE[self.target]
        for language, sections_of in writers.items():
            try:
                parts = sections_of(module)
            except HloError as error:
                if language in LANGUAGES[self.target]:
                    raise
                self.notes.append(f"no {language}: {error.message}")
                continue
            sections = [{"title": part.title, **self._linked(part.lines)} for part in parts]
            texts.append({"language": language, "sections": sections})
        return texts


def shortened(text: str) -> str:
    """A text that is not too long."""
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 4] + " ..."


def pipeline_text_of(recording: Recording) -> str:
    """The pipeline as `--passes` takes it; its name where it has passes that have no such text."""
    try:
        return pipeline_text(recording.pipeline)
    except AttributeError:
        return recording.pipeline.name
