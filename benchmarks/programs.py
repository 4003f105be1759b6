"""A table of programs to measure, which their files fill when they are imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.kernels import Kernel

if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAMS: dict[str, Kernel] = {}


def entering(table: dict[str, Kernel]) -> Callable[..., Callable[..., Any]]:
    """A maker of decorators that enter functions into a table."""

    def program(
        *shapes: str, high: int = 100
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """A decorator that enters a function into the table, under its name.

        Parameters
        ----------
        shapes : of its arguments, as HLO writes them.
        high : integers are drawn below it.
        """

        def enter(function: Callable[..., Any]) -> Callable[..., Any]:
            table[function.__name__.replace("_", " ")] = Kernel(function, shapes, high=high)
            return function

        return enter

    return program


program = entering(PROGRAMS)
