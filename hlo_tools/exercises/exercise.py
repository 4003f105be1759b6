"""Exercises, and answers to them."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hlo.errors.error import HloError, did_you_mean
from hlo.support.own_code import load
from hlo_tools.exercises.finding import FunctionLocation, Mistake, raised

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# In a clone, and in an installed package.
HERE = Path(__file__).parent
FOLDERS = (HERE.parents[1] / "tutorials", HERE.parent / "tutorials")


def course_folder() -> Path:
    """The folder of chapters, models and stubs.

    Raises
    ------
    HloError
        HLO200 if the course is not there.
    """
    for folder in FOLDERS:
        if (folder / "exercises").is_dir():
            return folder
    raise HloError("HLO200", "the course is not installed: take a clone of the project")


@dataclass(frozen=True)
class SearchEffort:
    """The effort of a search for mistakes.

    Attributes
    ----------
    examples : how many cases to try.
    seconds : how long to look for a smaller counterexample.
    """

    examples: int = 100
    seconds: float = 8


@dataclass(frozen=True, eq=False)
class Submission:
    """The file of a student, or the project itself.

    Attributes
    ----------
    path : None for the project's own.
    text : of the file.
    """

    values: Mapping[str, Any]
    path: Path | None = None
    text: str = ""

    def __getitem__(self, name: str) -> Any:
        """The value of a name."""
        return self.values[name]

    @property
    def is_apart(self) -> bool:
        """Whether it is in another process."""
        return False

    def run(self, function: Callable[..., Any], name: str, *arguments: Any) -> Any:
        """The result of a function of this answer and a name in it, run where the answer is."""
        return function(self, name, *arguments)

    def location(self, name: str) -> FunctionLocation | None:
        """The location of a function, or of a method of a class: the line after its docstring."""
        value = self.values.get(name)
        function: Any = getattr(value, "run", value)
        function = getattr(function, "right", function)
        try:
            code = inspect.unwrap(function).__code__
        except AttributeError:
            return None
        if self.path is None or Path(code.co_filename) != self.path:
            return None
        lines = sorted({line for _, _, line in code.co_lines() if line})
        rest = [line for line in lines if line > code.co_firstlineno]
        return FunctionLocation(self.path.name, (rest or lines)[0], function.__qualname__)


Check = "Callable[[Submission, SearchEffort], Mistake | None]"


@dataclass(frozen=True)
class Exercise:
    """Something to write.

    Attributes
    ----------
    level : "easy", "medium" or "hard".
    wants : the names that an answer defines, with the project's own.
    replaces : where the project's own is, as `file:name`.
    check : what is wrong with an answer; None if nothing is.
    suffix : of an answer's file: ".py"; ".hlo" where it is a module, ".cu" where it is a kernel.
    """

    number: int
    title: str
    chapter: int
    level: str
    wants: Mapping[str, Callable[[], Any]]
    replaces: str
    check: Callable[[Submission, SearchEffort], Mistake | None] = field(repr=False)
    suffix: str = ".py"

    @property
    def folder(self) -> Path:
        """The folder of its stub and typical wrong answers."""
        return course_folder() / "exercises" / f"{self.number:02}"

    @property
    def stub(self) -> str:
        """The stub with which a student begins."""
        return (self.folder / f"stub{self.suffix}").read_text()

    @property
    def harder(self) -> str:
        """A harder variant, for who has answered rightly."""
        return (self.folder / "harder.txt").read_text().strip()

    def own(self) -> Submission:
        """The project's own solution."""
        return Submission({name: make() for name, make in self.wants.items()})

    def read(self, path: Path) -> Submission:
        """A student's answer.

        Raises
        ------
        HloError
            HLO200 if the file can't be read, HLO204 if a name is missing, HLO206 if it fails.
        """
        if not path.is_file():
            raise HloError("HLO200", f"cannot read {path}: there is no such file")
        path = path.resolve()
        if self.suffix != ".py":
            (name,) = self.wants
            return Submission({name: path.read_text()}, path, path.read_text())
        values = cast("dict[str, Any]", vars(load(path)))
        for name in self.wants:
            if name not in values:
                own = [n for n in values if not n.startswith("_")]
                note = f"exercise {self.number} wants: {', '.join(self.wants)}"
                notes = (*did_you_mean(name, own), note)
                raise HloError("HLO204", f"{path.name} has no `{name}`", notes=notes)
        return Submission(values, path, path.read_text())

    def find(self, answer: Submission, effort: SearchEffort) -> Mistake | None:
        """The mistake of an answer; None if it has none."""
        first = next(iter(self.wants))
        try:
            mistake = self.check(answer, effort)
        except Exception as error:
            if answer.path is None:
                raise
            return raised(first, error, answer.path).at(answer.location(first))
        return mistake.at(answer.location(first)) if mistake else None
