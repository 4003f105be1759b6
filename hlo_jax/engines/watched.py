"""Engines that are watched: programs are written to files, and results compared or looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import optimizer
from emit_c.program.assigned import assigned
from hlo.backend_names import find
from hlo.stages import text_at
from hlo_jax.engines.compiled import OnBackend
from hlo_jax.engines.engine import flat
from hlo_jax.programs.lines import line_of
from interpreter import compare, evaluate
from optimizer.memory.report import report
from optimizer.observers import BUFFERS, Dump

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import Any

    from emit_c.executable.executable import Native
    from hlo.instruction import Module
    from hlo_jax.engines.engine import Arrays, Engine
    from hlo_jax.programs.program import JaxProgram
    from interpreter import Evaluation
    from interpreter.numbers.compare import Promise


@dataclass(eq=False)
class Watch:
    """The actions for every program.

    Attributes
    ----------
    dump_to : a folder in which each program is written, as it came and optimized, under the names
        that XLA gives such files.
    between : what is found in the names of passes around which programs are written, too.
    view : a file: the page of `hlo view`, of the largest program so far.
    tolerance : compare each call's results with the interpreter's; None for no comparison.
    observe : told every value of the interpreter; runs programs there.
    report : told of each difference, in a line.
    step_into : the number or the name of a program, which `step` is given with its arguments by
        device when it is called first.
    """

    dump_to: Path | None = None
    between: re.Pattern[str] | None = None
    view: Path | None = None
    tolerance: Promise | None = None
    observe: Callable[[Evaluation], None] | None = None
    report: Callable[[str], None] = print
    step_into: str = ""
    step: Callable[[Module, Sequence[Arrays]], None] | None = None
    differences: int = 0
    count: int = 0
    largest: int = 0

    def wrap(self, engine: Engine, program: JaxProgram) -> Engine:
        """The engine, watched."""
        number, self.count = self.count, self.count + 1
        if self.dump_to is not None:
            _dump(program.module, Dump(self.dump_to, "cpu", number, self.between))
        if self.view is not None:
            self._show(program.module, self.view)
        if self.step is not None and self.step_into in (str(number), program.module.name):
            self.step_into = ""
            return Stepped(engine, program, self.step)
        if self.observe is not None:
            return Observed(program, self.observe)
        if self.tolerance is not None and engine.name != "interpreter":
            return Compared(engine, program, number, self)
        return engine

    def _show(self, module: Module, path: Path) -> None:
        size = sum(1 for _ in module.instructions())
        if size > self.largest:
            self.largest = size
            path.write_text(text_at(module, "page"), "utf-8")


def _dump(module: Module, dump: Dump) -> None:
    """Write a program as it came and optimized, and where its arrays lie."""
    optimized = optimizer.optimize(module, target="cpu", observers=(dump,))
    dump.write(BUFFERS, report(assigned(optimized).assignment))


class Observed(OnBackend):
    """A program whose every value is told to an observer."""

    def __init__(self, program: JaxProgram, observe: Callable[[Evaluation], None]) -> None:
        super().__init__(program, find("interpreter"), "watched")
        self._program, self._observe = program, observe
        self.stops = False  # who observes is told before the call returns

    def run(self, per_device: Sequence[Arrays]) -> Sequence[Arrays]:
        """Call the program."""
        module, observe = self._program.module, self._observe
        return [flat(v) for v in evaluate(module, per_device=per_device, observe=observe)]


class Stepped:
    """A program that is stepped through once, before its first call."""

    note, stops = "stepped through", False

    def __init__(
        self, engine: Engine, program: JaxProgram, step: Callable[[Module, Sequence[Arrays]], None]
    ) -> None:
        self._engine, self._program, self._step = engine, program, step
        self._stepped = False

    @property
    def name(self) -> str:
        """The engine that runs it."""
        return self._engine.name

    @property
    def native(self) -> Native | None:
        """The address by which C calls it, once it was stepped through."""
        return self._engine.native if self._stepped else None

    @property
    def code_bytes(self) -> int:
        """Bytes of machine code."""
        return self._engine.code_bytes

    def run(self, per_device: Sequence[Arrays]) -> Sequence[Arrays]:
        """Call the program; the first time, step through it with copies of the arguments before."""
        if not self._stepped:
            self._stepped = True
            self._step(self._program.module, [[_copied(a) for a in own] for own in per_device])
        return self._engine.run(per_device)


class Compared:
    """A program that two engines run: the one that is used, and the interpreter."""

    native, stops = None, False  # every call goes through Python, and returns when it is compared

    def __init__(self, engine: Engine, program: JaxProgram, number: int, watch: Watch) -> None:
        self._engine, self._program, self._watch = engine, program, watch
        self._title = f"module {number}, {program.module.name}"
        self._reference = OnBackend(program, find("interpreter"))
        self._differs = False

    @property
    def name(self) -> str:
        """The engine whose results are used."""
        return self._engine.name

    @property
    def note(self) -> str:
        """Whether results differed."""
        return "differs from the interpreter" if self._differs else "equal to the interpreter"

    @property
    def code_bytes(self) -> int:
        """Bytes of machine code."""
        return self._engine.code_bytes

    def run(self, per_device: Sequence[Arrays]) -> Sequence[Arrays]:
        """Call the program twice, and tell where results differ first."""
        made = self._engine.run([[_copied(a) for a in own] for own in per_device])
        if self._differs:
            return made
        wanted = self._reference.run(per_device)
        tolerance = self._watch.tolerance
        assert tolerance is not None
        for k, (got, want) in enumerate(zip(made, wanted, strict=True)):
            difference = compare(tuple(got), tuple(want), tolerance)
            if difference is not None:
                self._differs = True
                self._watch.differences += 1
                where = f" on device {k}" if len(made) > 1 else ""
                line = self._line(difference.path)
                self._watch.report(f"{self._title}{where}: {difference}{line}")
                break
        return made

    def _line(self, path: tuple[int, ...]) -> str:
        """The line of the user's program that computes a result."""
        root = self._program.module.entry.root
        result = root.operands[path[0]] if root.opcode == "tuple" and path else root
        line = line_of(self._program.module, result)
        return f"\n  the result is computed at {line}" if line else ""


def _copied(array: Any) -> Any:
    return None if array is None else array.copy()
