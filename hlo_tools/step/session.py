"""The stepper in a notebook: the commands of `hlo step`, and the page of `hlo view`."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from hlo_tools.drawing.page.notebook import View
from hlo_tools.step.console import Console
from hlo_tools.step.shown import Shown
from hlo_tools.step.stepper import Stepper
from hlo_tools.trace.document import Document

if TYPE_CHECKING:
    from pathlib import Path

    from hlo.instruction import Module
    from optimizer.log import Pass


class _Collector(Console):
    """A console that collects its output."""

    said = Shown()

    def show(self, shown: Shown) -> None:
        """Keep some lines."""
        self.said += shown


class Session:
    """A stepper that takes commands as they are typed at the prompt: `step("b fusion; c; l")`.

    Parameters
    ----------
    stepper : what runs them; its methods do the same.
    """

    def __init__(self, stepper: Stepper) -> None:
        self.stepper = stepper
        self._console = _Collector(stepper, io.StringIO())

    def __call__(self, commands: str) -> Shown:
        """The output of some commands, which are on lines of their own or between semicolons."""
        self._console.said = Shown()
        self._console.run_script(commands.replace(";", "\n").splitlines())
        return self._console.said

    def view(self) -> View:
        """The page that shows every pass and every rewrite."""
        stepper = self.stepper
        document = Document(stepper.recording, stepper.values, target=stepper.target)
        return View(document.as_data())

    def __repr__(self) -> str:
        """The stepper's greeting."""
        return str(self.stepper.welcome())

    def _repr_html_(self) -> str:
        return self.stepper.welcome().html()


def step(module: Module | str | Path, passes: Pass | str | None = None, **options: Any) -> Session:
    """Step through a module's rewrites and kernel passes, in a notebook.

    Parameters
    ----------
    module, passes, options : as of `Stepper`.
    """
    return Session(Stepper(module, passes, **options))
