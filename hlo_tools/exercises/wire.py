"""Messages between a referee and the process of an answer, over two pipes.

The referee is trusted, and sends pickles. The answer's process is not: what it sends is JSON of a
few kinds of data, each made anew here, and bounded. Nothing in it names a class or a function.
"""

from __future__ import annotations

import base64
import io
import json
import os
import pickle
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import hlo
from hlo.instruction import Module
from hlo.read.value_text import read
from hlo.types.element_type import ARRAY_TYPES
from hlo.types.shape import Shape
from hlo.walk import rebuild_module

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hlo.instruction import Computation

# Bytes of a message, and items of what is no list but gives items.
MOST, ITEMS = 1 << 26, 1 << 20
# Letters of the text of an object that is no data.
SHOWN = 400


class WireError(BaseException):
    """The other end is gone, or sends no message; no `except Exception` of a check hides that."""


class Unknown:
    """An object of a student's that is no data; it equals nothing."""

    def __init__(self, kind: str, shown: str) -> None:
        self.kind, self.shown = kind, shown

    def __repr__(self) -> str:
        """As the student's process shows it."""
        return self.shown


class Wire:
    """One end of two pipes."""

    def __init__(self, incoming: int, outgoing: int) -> None:
        self.incoming, self.outgoing = incoming, outgoing

    def send(self, message: bytes) -> None:
        """Send a message, and its length before it.

        Raises
        ------
        WireError
            if the other end is gone.
        """
        left = memoryview(len(message).to_bytes(8, "big") + message)
        try:
            while left:
                left = left[os.write(self.outgoing, left) :]
        except OSError as error:
            raise WireError("the other end is gone") from error

    def receive(self) -> bytes:
        """The next message.

        Raises
        ------
        WireError
            if the other end is gone, or sends too much.
        """
        size = int.from_bytes(self._bytes(8), "big")
        if size > MOST:
            raise WireError("a message is too long")
        return self._bytes(size)

    def _bytes(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size:
            try:
                part = os.read(self.incoming, min(size, 1 << 20))
            except OSError as error:
                raise WireError("the other end is gone") from error
            if not part:
                raise WireError("the other end is gone")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


class _Pickler(pickle.Pickler):
    """Pickles a referee's message; functions stay here, and have a number there."""

    def __init__(self, file: io.BytesIO, functions: list[Callable[..., Any]]) -> None:
        super().__init__(file)
        self.functions = functions

    def persistent_id(self, obj: Any) -> int | None:
        """The number of a function that has no name in a module."""
        named = isinstance(obj, FunctionType) and "<" not in obj.__qualname__
        if named or not isinstance(obj, FunctionType | MethodType):
            return None
        self.functions.append(obj)
        return len(self.functions) - 1


class _Unpickler(pickle.Unpickler):
    """Reads a referee's message, in the answer's process."""

    def __init__(self, message: bytes, call_back: Callable[..., Any]) -> None:
        super().__init__(io.BytesIO(message))
        self.call_back = call_back

    def persistent_load(self, pid: int) -> Callable[..., Any]:
        """A function that calls the referee's."""
        return lambda *arguments: self.call_back(pid, arguments)


def trusted(message: Any, functions: list[Callable[..., Any]]) -> bytes:
    """A message of the referee's; the functions in it are appended to a list."""
    file = io.BytesIO()
    _Pickler(file, functions).dump(message)
    return file.getvalue()


def of_trusted(message: bytes, call_back: Callable[[int, tuple[Any, ...]], Any]) -> Any:
    """The objects of a referee's message.

    Parameters
    ----------
    call_back : is called with the number of a function, and its arguments.
    """
    return _Unpickler(message, call_back).load()


def told(value: Any, modules: Sequence[Module] = ()) -> Any:
    """A value as JSON has it.

    Parameters
    ----------
    modules : modules that the referee has sent; one of them is named by its place.
    """
    if isinstance(value, None | bool | int | float | str) and not isinstance(value, np.generic):
        return value
    for kind in KINDS:
        if isinstance(value, kind.types):
            return {kind.name: kind.tell(value, modules)}
    if isinstance(value, Iterable):
        return _tell_items(cast("Iterable[Any]", value), modules)
    return {"other": _tell_other(value, modules)}


def heard(message: bytes, modules: Sequence[Module] = ()) -> Any:
    """The value of a message of an answer's process.

    Raises
    ------
    WireError
        if it is no message.
    HloError
        if a module in it is malformed.
    """
    try:
        return _heard(json.loads(message), modules)
    except (ValueError, TypeError, KeyError, IndexError, RecursionError, MemoryError) as error:
        raise WireError("it sends no message") from error


def _heard(value: Any, modules: Sequence[Module]) -> Any:
    if isinstance(value, list):
        return _hear_items(value, modules)
    if not isinstance(value, dict):
        return value
    ((name, inner),) = cast("dict[str, Any]", value).items()
    return HEARS[name](inner, modules)


def _tell_array(value: Any, modules: Sequence[Module]) -> Any:
    array = np.asarray(value)
    if array.dtype.name not in _types():
        return [None, None, _tell_other(value, modules)]
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return [array.dtype.name, list(array.shape) if isinstance(value, np.ndarray) else None, data]


def _hear_array(inner: Any, modules: Sequence[Module]) -> Any:
    name, dims, data = inner
    if name is None:
        return _hear_other(data, modules)
    flat = np.frombuffer(base64.b64decode(data, validate=True), _types()[name])
    return flat[0] if dims is None else flat.reshape(dims).copy()


@cache
def _types() -> dict[str, np.dtype[Any]]:
    """The types of arrays, by name."""
    plain = [np.dtype(c) for c in "?bhilqBHILQefdFD"]
    return {dtype.name: dtype for dtype in (*plain, *(t.dtype for t in ARRAY_TYPES))}


def _tell_module(value: Module, modules: Sequence[Module]) -> Any:
    """Its place among the modules given; or its text, and the orders that a text does not show."""
    place = next((n for n, module in enumerate(modules) if module is value), None)
    orders = {c.name: [i.name for i in c.instructions] for c in value.computations}
    return [str(value), orders] if place is None else place


def _hear_module(inner: Any, modules: Sequence[Module]) -> Module:
    if isinstance(inner, int):
        return modules[inner]
    text, orders = inner
    return rebuild_module(hlo.parse(text), lambda c: _in_order(c, orders[c.name]))


def _in_order(computation: Computation, names: list[str]) -> Computation:
    """A computation with its instructions in the order of some names."""
    place = {name: n for n, name in enumerate(names)}
    instructions = sorted(computation.instructions, key=lambda i: place[i.name])
    return replace(computation, instructions=tuple(instructions))


def _tell_dict(value: Mapping[Any, Any], modules: Sequence[Module]) -> Any:
    return [[told(k, modules), told(v, modules)] for k, v in value.items()]


def _hear_dict(inner: Any, modules: Sequence[Module]) -> dict[Any, Any]:
    return {_heard(k, modules): _heard(v, modules) for k, v in inner}


def _tell_items(value: Iterable[Any], modules: Sequence[Module]) -> Any:
    return [told(item, modules) for item in islice(value, ITEMS)]


def _hear_items(inner: Any, modules: Sequence[Module]) -> list[Any]:
    return [_heard(item, modules) for item in inner]


def _tell_other(value: Any, _: Sequence[Module]) -> Any:
    return [type(value).__name__, repr(value)[:SHOWN]]


def _hear_other(inner: Any, _: Sequence[Module]) -> Unknown:
    kind, shown = inner
    return Unknown(str(kind)[:SHOWN], str(shown)[:SHOWN])


@dataclass(frozen=True)
class DataKind:
    """A kind of objects that JSON has no words for: how they are written, and read."""

    name: str
    types: type[Any] | tuple[type[Any], ...]
    tell: Callable[[Any, Sequence[Module]], Any]
    hear: Callable[[Any, Sequence[Module]], Any]


KINDS = (
    DataKind("array", (np.ndarray, np.generic), _tell_array, _hear_array),
    DataKind("module", Module, _tell_module, _hear_module),
    DataKind("shape", Shape, lambda v, _: v.text, lambda i, _: read("shape", i, None)),
    DataKind(
        "bytes", bytes,
        lambda v, _: base64.b64encode(v).decode(), lambda i, _: base64.b64decode(i, validate=True),
    ),
    DataKind(
        "complex", complex,
        lambda v, _: [v.real, v.imag], lambda i, _: complex(*map(float, i)),
    ),
    DataKind("dict", Mapping, _tell_dict, _hear_dict),
    DataKind("tuple", tuple, _tell_items, lambda i, g: tuple(_hear_items(i, g))),
    DataKind("set", set, _tell_items, lambda i, g: set(_hear_items(i, g))),
    DataKind("frozenset", frozenset, _tell_items, lambda i, g: frozenset(_hear_items(i, g))),
)  # fmt: skip
HEARS = {"other": _hear_other, **{kind.name: kind.hear for kind in KINDS}}
