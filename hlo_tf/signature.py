"""The signature of a call: all of its arguments' properties that it is compiled for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hlo.frontends.calls import By, CallArgument
from hlo.types.element_type import element_type_of
from hlo_tf import private
from hlo_tf.tensorflow import tf

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

# Characters of a value that are told.
_LONGEST = 60


def signature(
    function: Any,
    arguments: Sequence[Any],
    constants: Collection[int],
    positional: Sequence[str],
) -> dict[str, CallArgument]:
    """The arguments of a call by their names; those of Python come first.

    Parameters
    ----------
    function : of TensorFlow.
    arguments : flat, captured ones last.
    constants : the numbers of those that must be constant.
    positional : the names of the positional parameters.
    """
    graph = private.graph_of(function)
    inputs = graph.inputs
    # The arguments of a gradient have no names that a user knows.
    is_gradient = bool(private.forward_name(function))
    given: Any = ((), {}) if is_gradient else graph.structured_input_signature
    named_args = {
        positional[k] if k < len(positional) else f"#{k}": v for k, v in enumerate(given[0])
    }
    leaves = [*_leaves(named_args, ""), *_leaves(given[1], "")]
    names = [name for name, leaf in leaves if _is_tensor(leaf)]
    named = not is_gradient and len(names) == len(inputs) - len(graph.captures)
    found = {n: CallArgument(By.PYTHON, _python(x)) for n, x in leaves if not _is_tensor(x)}
    for number, (tensor, argument) in enumerate(zip(inputs, arguments, strict=True)):
        is_named = named and number < len(names)
        if argument.dtype == tf.resource or not (is_named or number in constants):
            continue
        name = names[number] if is_named else tensor.op.name.rpartition("/")[2]
        found[name] = _argument(argument, is_constant=number in constants)
    return found


def _argument(tensor: Any, *, is_constant: bool) -> CallArgument:
    if is_constant:
        return CallArgument(By.VALUE, _short(str(private.array_of(tensor).tolist())))
    sizes = ",".join(map(str, tensor.shape))
    kind = element_type_of(np.dtype(tensor.dtype.as_numpy_dtype))
    return CallArgument(By.SHAPE, f"{kind}[{sizes}]")


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _is_tensor(leaf: Any) -> bool:
    return isinstance(leaf, tf.TypeSpec)


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The leaves of a structure with their names: `batch['image']`, `state.step`, `pair[0]`."""
    inner: list[tuple[str, Any]] = []
    if isinstance(value, Mapping):
        given = cast("Mapping[Any, Any]", value)
        inner = [(f"{path}[{key!r}]" if path else str(key), x) for key, x in given.items()]
    elif isinstance(value, (list, tuple)):
        items = cast("Sequence[Any]", value)
        names = getattr(items, "_fields", None)  # of a named tuple
        ends = [f".{name}" for name in names] if names else [f"[{k}]" for k in range(len(items))]
        inner = [(path + end, x) for end, x in zip(ends, items, strict=True)]
    else:
        yield path, value
    for name, each in inner:
        yield from _leaves(each, name)


def _python(value: object) -> str:
    """A value of Python in a word; an object without a short form by its type."""
    plain = isinstance(value, (bool, int, float, complex, str, bytes, type(None)))
    return _short(repr(value)) if plain else type(value).__name__
