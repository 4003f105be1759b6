"""Values of compiled modules: their leaves, arrays of other libraries, the bytes of a call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hlo.support.dlpack import from_dlpack

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from hlo.instruction import Computation

Value = Any  # an array, None for a token, or a tuple of values


@dataclass(frozen=True, slots=True)
class CallMemory:
    """Bytes that a call takes."""

    arguments: int
    results: int
    temporaries: int
    constants: int


def call_memory(
    entry: Computation, arena_bytes: int, constants: Iterable[NDArray[Any]]
) -> CallMemory:
    """The bytes that a call of a compiled entry takes."""
    return CallMemory(
        arguments=sum(p.shape.unpacked_bytes for p in entry.parameters),
        results=entry.root.shape.unpacked_bytes,
        temporaries=arena_bytes,
        constants=sum(c.nbytes for c in constants),
    )


def leaves(values: Value) -> Iterator[Any]:
    """The arrays and tokens of nested tuples or lists, in order."""
    if isinstance(values, tuple | list):
        for value in cast("Sequence[Value]", values):
            yield from leaves(value)
    else:
        yield values


def as_numpy(argument: Any) -> Any:
    """An argument with the arrays of other libraries as NumPy arrays."""
    if isinstance(argument, tuple | list):
        return type(cast("list[Any]", argument))(as_numpy(a) for a in cast("list[Any]", argument))
    if isinstance(argument, np.ndarray | np.generic) or not hasattr(argument, "__dlpack__"):
        return cast("Any", argument)
    return from_dlpack(argument)
