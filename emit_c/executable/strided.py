"""A compiled module whose results are seen in the order that its layouts say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from emit_c.executable.executable import Executable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from emit_c.executable.built import Built
    from hlo.instruction import Computation

Value = Any  # an array, None for a token, or a tuple of values


def loaded(entry: Computation, built: Built, source: Callable[[], str]) -> Executable:
    """A built module as a function, whose results lie as the layouts of its entry say."""
    return (StridedExecutable if built.views else Executable)(entry, built, source)


class StridedExecutable(Executable):
    """A module whose results are seen in the order that its layouts say."""

    def __call__(
        self,
        *arguments: Any,
        per_device: Sequence[Sequence[Any]] | None = None,
        communicator: Any = None,
    ) -> Value:
        """The value of the module for some arguments, as `Executable` gives it."""
        values = super().__call__(*arguments, per_device=per_device, communicator=communicator)
        return self._seen(values) if per_device is None else [self._seen(value) for value in values]

    def _seen(self, value: Value) -> Value:
        """A value in the order that its layouts say."""
        if not isinstance(value, tuple):
            return self._views[0].of(value)
        values = enumerate(cast("tuple[Value, ...]", value))
        return tuple(self._views[k].of(v) if k in self._views else v for k, v in values)
