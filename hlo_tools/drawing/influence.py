"""Finds which elements of the arguments each element of a result depends on, by changing them.

One element of one argument is changed at a time, and the module runs again: whatever changes in the
result depends on it. That needs no table of opcodes, and says what the interpreter does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from hlo.errors.error import HloError
from interpreter.engine.evaluate import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from hlo.instruction import Module

    Array = NDArray[Any]

# Small steps keep the order of numbers and stay inside of arrays that they index; large ones show
# in a maximum, and in a number that is rounded.
STEPS = (1, -1, 1000, -1000)
# More elements are not looked at.
MOST_ELEMENTS = 64
# Elements of a result that come from different ones, at least, for a picture to tell something.
LEAST_DIFFERENT = 2


class ArgumentElement(NamedTuple):
    """An element of an argument."""

    argument: int
    element: int


@dataclass(frozen=True)
class Influence:
    """The sources of each element of a result.

    Attributes
    ----------
    sources : for each element of the result, in row-major order, what it depends on.
    moved : for each element of the result, the one whose value it has; None if it was computed.
    """

    sources: tuple[frozenset[ArgumentElement], ...]
    moved: tuple[ArgumentElement | None, ...]

    @property
    def only_moves(self) -> bool:
        """Whether whatever depends on something is an element of an argument, unchanged."""
        pairs = zip(self.sources, self.moved, strict=True)
        return any(self.moved) and all(source or not is_moved for is_moved, source in pairs)


def influence(
    run: Callable[[Sequence[Array]], Array | None], arguments: Sequence[Array]
) -> Influence:
    """Change each element of each argument, and find the elements that change in a result.

    Parameters
    ----------
    run : gives the result for some arguments.
    """
    before = flat(run(arguments))
    sources: list[set[ArgumentElement]] = [set() for _ in before]
    follows: list[dict[ArgumentElement, bool]] = [{} for _ in before]
    for n, argument in enumerate(arguments):
        for element, value in enumerate(argument.ravel()):
            source = ArgumentElement(n, element)
            for changed in changes(argument.dtype, value):
                other = argument.copy()
                other.reshape(-1)[element] = changed
                after = flat(run([*arguments[:n], other, *arguments[n + 1 :]]))
                if len(after) != len(before):
                    continue
                small = abs(complex(changed) - complex(value)) <= 1
                for i in np.flatnonzero(differs(before, after)).tolist():
                    sources[i].add(source)
                    if small:
                        same = before[i] == value and after[i] == changed
                        follows[i][source] = follows[i].get(source, True) and bool(same)
    moved = tuple(next((s for s, same in follow.items() if same), None) for follow in follows)
    return Influence(tuple(map(frozenset, sources)), moved)


def influence_of(example: Module, arguments: Sequence[Any]) -> Influence | None:
    """Operand elements that each element of a result depends on, where all are few."""
    sizes = [p.shape.size if p.shape.is_array else 0 for p in example.entry.parameters]
    if not arguments or not all(sizes) or sum(sizes) > MOST_ELEMENTS:
        return None

    def run(arguments: Sequence[Any]) -> Array | None:
        return first_array(evaluate(example, *arguments))

    try:
        result = run(arguments)
        if result is None or not 1 <= result.size <= MOST_ELEMENTS:
            return None
        return influence(run, list(map(np.asarray, arguments)))
    except (HloError, TypeError, ValueError):
        return None


def is_telling(example: Module, arguments: Sequence[Any]) -> bool:
    """Whether a picture of an example shows all that its opcode does.

    Each argument is used, and there are elements of the result that come from different ones.
    """
    moved = influence_of(example, arguments)
    result = None if moved is None else first_array(evaluate(example, *arguments))
    if moved is None or result is None or not mixes_elements(moved, arguments, result):
        return False
    used = {source.argument for some in moved.sources for source in some}
    return len(set(moved.sources)) >= LEAST_DIFFERENT and len(used) == len(arguments)


def mixes_elements(influences: Influence, arguments: Sequence[Any], result: Array) -> bool:
    """Whether some element comes from another index, or from an array of another shape."""
    return any(
        source.element != i or np.shape(arguments[source.argument]) != result.shape
        for i, sources_of in enumerate(influences.sources)
        for source in sources_of
    )


def first_array(value: Any) -> Array | None:
    """The first array of a value; None if there is none."""
    while isinstance(value, tuple):
        parts = cast("tuple[Any, ...]", value)
        value = parts[0] if parts else None
    return None if value is None else np.asarray(value)


def flat(array: Array | None) -> Array:
    """The elements of an array; none if there is no array."""
    return np.zeros(0) if array is None else array.ravel()


def changes(dtype: np.dtype[Any], value: Any) -> Iterator[Any]:
    """Other values of an element."""
    if dtype == np.bool_:
        yield not value
        return
    wanted = int if dtype.kind in "iu" else float
    if dtype.kind not in "iu" and dtype.kind != "c":
        # Less than the distance of two numbers that are shown.
        yield from (value + dtype.type(0.0625), value - dtype.type(0.0625))
    for step in STEPS:
        with np.errstate(over="ignore"):
            yield np.asarray(wanted(complex(value).real) + step).astype(dtype)[()]


def differs(before: Array, after: Array) -> Array:
    """A mask of the elements that differ; NaN is NaN."""
    with np.errstate(invalid="ignore"):
        return (before != after) & ~((before != before) & (after != after))
