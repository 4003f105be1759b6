"""From a function of TensorFlow to a module, by TensorFlow's own bridge to XLA.

The bridge leaves out the arguments whose values must be constant, such as an axis, and says neither
which these are nor which variable an updated value belongs to but by the numbers of parameters. So
they are found here: parameters keep the order of the arguments that are left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.frontends.protobuf.reading import read_message
from hlo_tf import private
from hlo_tf.errors import invalid
from hlo_tf.names import module_name
from hlo_tf.tensorflow import tf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Module

# More choices of the arguments that were left out are not tried.
MOST_CHOICES = 1000


@dataclass(frozen=True)
class Lowered:
    """A function as a module.

    Attributes
    ----------
    taken : for each parameter of the module, the number of the function's flat argument.
    constants : the numbers of the arguments whose values are constants of the module.
    results : how many of the module's results are the function's; new values of variables follow.
    updates : for numbers of the module's results, the argument that is the variable.
    """

    module: Module
    taken: tuple[int, ...]
    constants: tuple[int, ...]
    results: int
    updates: dict[int, int]


def lower(function: Any, arguments: Sequence[Any]) -> Lowered:
    """The module of a function for the shapes of its arguments, and the values of some.

    Parameters
    ----------
    function : a function of TensorFlow, whose results are flat.
    arguments : flat tensors, variables as their resources, those that are captured last.

    Raises
    ------
    tf.errors.InvalidArgumentError
        if an operation has no HLO; it names the operation, and the user's line.
    """
    name = private.name_of(function)
    try:
        raw = private.hlo_message(name, arguments)
    except (ValueError, tf.errors.OpError) as error:
        raise invalid(name, str(error)) from None
    module = _module(raw, name)
    constants = _left_out(name, module, arguments)
    taken = tuple(k for k in range(len(arguments)) if k not in constants)
    shape = module.entry.root.shape
    count = len(shape.elements) if shape.is_tuple else 1
    results = len(private.flat_outputs(function))
    aliases = {sum(a.output_index): a.parameter for a in module.header.input_output_alias}
    updates = {k: taken[aliases[k]] for k in range(results, count) if k in aliases}
    if count != results + len(updates):
        text = f"{count} results of HLO are {results} of the function and {len(updates)} variables"
        raise invalid(name, text)
    return Lowered(module, taken, constants, results, updates)


def _module(raw: bytes, name: str) -> Module:
    """The module in a message, whose names say nothing of how many functions were traced before."""
    module = read_message(raw, f"{name}.pb")
    entry = replace(module.entry, name=module_name(name))
    others = (c if c is not module.entry else entry for c in module.computations)
    return replace(module, name=entry.name, computations=tuple(others), entry=entry)


def _left_out(name: str, module: Module, arguments: Sequence[Any]) -> tuple[int, ...]:
    """The numbers of the arguments that are constants of a module."""
    kinds = [(p.shape.element_type.dtype, p.shape.dims) for p in module.entry.parameters]
    missing = len(arguments) - len(kinds)
    if not missing:
        return ()
    values = [k for k, a in enumerate(arguments) if a.dtype != tf.resource]
    fitting: list[tuple[int, ...]] = []
    for chosen in combinations(values, missing):
        left = (a for k, a in enumerate(arguments) if k not in chosen)
        if all(map(_fits, left, kinds)):
            fitting.append(chosen)
        if len(fitting) > MOST_CHOICES:
            break
    if len(fitting) != 1:
        # Arguments of one type are side by side: another value changes the text if it is constant.
        candidates = sorted({k for choice in fitting for k in choice} or values)
        found = tuple(k for k in candidates if _is_constant(name, module, arguments, k))
        if found not in fitting:
            message = f"it is unknown which {missing} of its arguments must be constant"
            raise invalid(name, message)
        return found
    return fitting[0]


def _fits(argument: Any, kind: tuple[Any, tuple[int, ...]]) -> bool:
    """Whether an argument may be a parameter of a type; a variable has the type of its value."""
    if argument.dtype == tf.resource:
        return True
    return (argument.dtype.as_numpy_dtype, tuple(argument.shape)) == (kind[0].type, kind[1])


def _is_constant(name: str, module: Module, arguments: Sequence[Any], number: int) -> bool:
    """Whether the module of a function changes with the value of an argument."""
    value = private.array_of(arguments[number])
    for other in (value + np.ones((), value.dtype), np.zeros_like(value), np.ones_like(value)):
        if np.array_equal(other, value):
            continue
        changed = list(arguments)
        changed[number] = tf.constant(other, arguments[number].dtype)
        try:
            raw = private.hlo_message(name, changed)
        except (ValueError, tf.errors.OpError):
            return True
        if str(_module(raw, name)) != str(module):
            return True
    return False
