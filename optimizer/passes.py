"""Passes, and their compositions: pipelines, fixpoints, and the table of all passes.

A pass is a frozen dataclass with XLA's name for it and a `run`; its fields are its options:

    @register
    @dataclass(frozen=True)
    class Dce:
        name = "dce"

        def run(self, module: Module, log: Log) -> Module:
            ...

How to add one:

1. Write it in a file of its own, in the folder of its kind: `optimizer/cleanup/dce.py`. Its
   docstring says what it does, the algebra or an example; XLA's file is in `xla`.
2. Decide, then rebuild once: collect a plan (old instruction to new one), ask `log.rewrite(...)`
   for each entry, and carry it out with `hlo.walk.rebuild`. Return the same module where nothing
   changes; the helpers do.
   New instructions come from `optimizer.rewriting.make`: `make("add", x, y)`, `constant(array)`,
   `splat(2, shape)`. In a plan they need names of their own, `names_of(module).unique("add")`.
   A pass that replaces instructions of some opcodes, each by itself, is one function, which
   `optimizer.expanders.op_expander.expander` decorates; with a pattern, it is a rule as well.
3. Put it into the pipelines of `optimizer/pipelines.py` where XLA has it. `PASSES` finds it by
   itself, in any file of `optimizer`.
   A pass that makes the module compute something else, such as its derivative, says
   `transforms = True`; its values are not compared.
4. Add golden cases, `tests/cases/<pass>/<case>.hlo`. The general tests find it by themselves: the
   interpreter must say the same before and after, the result must verify, print and parse again,
   and a second run must change nothing.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from hlo.errors.error import HloError, did_you_mean
from hlo.notebook import shown_in_notebooks
from hlo.support.lazily import import_files
from optimizer.log import Log

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hlo.instruction import Module
    from optimizer.log import Pass


@shown_in_notebooks
@dataclass(frozen=True)
class Pipeline:
    """Passes, one after the other."""

    name: str
    passes: tuple[Pass, ...]

    def __hash__(self) -> int:
        """Of its name: logs look passes up, and that of all its passes takes as long as they."""
        return hash(self.name)

    def run(self, module: Module, log: Log | None = None) -> Module:
        """Run all passes; without a log, nobody watches."""
        log = log or Log()
        for pass_ in self.passes:
            module = log.run(pass_, module)
        return module


@shown_in_notebooks
@dataclass(frozen=True)
class Fixpoint:
    """A pipeline, again and again until it changes nothing any more.

    Attributes
    ----------
    limit : how often at most; XLA too gives up after 25 rounds.
    """

    name: str
    passes: tuple[Pass, ...]
    limit: int = 25

    def __hash__(self) -> int:
        """Of its name: logs look passes up, and that of all its passes takes as long as they."""
        return hash(self.name)

    def run(self, module: Module, log: Log | None = None) -> Module:
        """Run all passes until none changes anything."""
        log = log or Log()
        for _ in range(self.limit):
            before = module
            for pass_ in self.passes:
                module = log.run(pass_, module)
            if module is before:
                break
        return module


class PassTable(MutableMapping[str, type[Any]]):
    """Passes by name; a name that no imported file has makes it import all of the optimizer.

    Attributes
    ----------
    entered : the passes of the files that are imported.
    """

    def __init__(self) -> None:
        self.entered: dict[str, type[Any]] = {}
        self._is_whole = False

    def _whole(self) -> dict[str, type[Any]]:
        """The passes of all files."""
        if not self._is_whole:
            import_files("optimizer")
            self._is_whole = True
        return self.entered

    def __getitem__(self, name: str) -> type[Any]:
        """The class of a pass."""
        return self.entered[name] if name in self.entered else self._whole()[name]

    def __setitem__(self, name: str, pass_class: type[Any]) -> None:
        """Enter a pass."""
        self.entered[name] = pass_class

    def __delitem__(self, name: str) -> None:
        """Take a pass out."""
        del self._whole()[name]

    def __iter__(self) -> Iterator[str]:
        """All names, sorted."""
        return iter(sorted(self._whole()))

    def __len__(self) -> int:
        """The number of passes."""
        return len(self._whole())


PASSES = PassTable()
# The names in XLA's own tools of passes that have longer ones here.
ALIASES = {"algsimp": "algebraic-simplifier"}
Registered = TypeVar("Registered", bound=type[Any])


def register(pass_class: Registered) -> Registered:
    """Enter a pass into the table, so that its name finds it."""
    if pass_class.name in PASSES.entered:
        raise ValueError(f"two passes are called {pass_class.name}")
    PASSES[pass_class.name] = pass_class
    return shown_in_notebooks(pass_class)


def find(name: str) -> type[Any]:
    """The class of a pass.

    Raises
    ------
    HloError
        HLO151 if no pass has the name.
    """
    maker = PASSES.get(ALIASES.get(name, name))
    if maker is None:
        notes = did_you_mean(name, PASSES) or ("`hlo passes` lists them",)
        raise HloError("HLO151", f"there is no pass `{name}`", notes=notes)
    return maker
