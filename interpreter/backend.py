"""The interpreter as a backend: it compiles nothing, and knows the value of every instruction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hlo.backend import Backend, ModuleCompiler, ModuleExecutable
from interpreter.engine.evaluate import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hlo.instruction import Module
    from interpreter.engine.frame import Evaluation


class Interpreted(ModuleExecutable):
    """A module that is interpreted whenever it is called.

    Parameters
    ----------
    observe : told the value of every instruction.
    max_iterations : how often a loop may run its body.
    ask : called before every iteration of a loop; what it raises ends the call.
    """

    def __init__(
        self,
        module: Module,
        observe: Callable[[Evaluation], None] | None,
        max_iterations: int | None,
        ask: Callable[[], None],
    ) -> None:
        self.module = module
        self._options: dict[str, Any] = {
            "observe": observe,
            "max_iterations": max_iterations,
            "ask": ask,
        }

    def __call__(self, *arguments: Any) -> Any:
        """The value on one device."""
        return self.run([arguments])[0]

    def run(self, per_device: Sequence[Sequence[Any]]) -> list[Any]:
        """The value on each device; all of them run together."""
        return evaluate(self.module, per_device=per_device, **self._options)


class InterpreterCompiler(ModuleCompiler):
    """Compiles nothing."""

    def compile(
        self,
        module: Module,
        *,
        observe: Callable[[Evaluation], None] | None = None,
        max_iterations: int | None = None,
        ask: Callable[[], None] = lambda: None,
    ) -> Interpreted:
        """The module, to be interpreted."""
        return Interpreted(module, observe, max_iterations, ask)


BACKENDS: Final = {
    "interpreter": Backend(
        "interpreter", InterpreterCompiler(), summary="the reference interpreter, in NumPy"
    )
}
