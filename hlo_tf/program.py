"""A compiled function of TensorFlow: tensors go in without copies, variables are assigned."""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING, Any

import emit_c
from hlo.errors.error import HloError
from hlo_tf import private
from hlo_tf.bridge import Lowered, lower
from hlo_tf.errors import invalid, stack_of
from hlo_tf.tensorflow import tf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Module

# Of programs with `tf.random.uniform` and its like, which draw other numbers each time.
_runs = count(1)
_OPERATION = re.compile(r'op_name="([^"]+)"')


class TensorProgram:
    """A function, compiled for the shapes of its arguments and the values of some.

    Parameters
    ----------
    function : a function of TensorFlow, whose results are flat.
    arguments : of the call that it is compiled for.

    Attributes
    ----------
    lowered : the module, as the bridge gave it.

    Raises
    ------
    tf.errors.InvalidArgumentError
        if the bridge or PyHLO can't compile it.
    """

    def __init__(self, function: Any, arguments: Sequence[Any]) -> None:
        self.lowered: Lowered = lower(function, arguments)
        self._name = private.name_of(function)
        self._function = function
        try:
            self._executable = emit_c.compile(self.module)
        except HloError as error:
            raise invalid(self._name, self._told(error)) from error
        parameters = self.module.entry.parameters
        self._taken = [
            (number, _type(arguments[number], parameter.shape.element_type.dtype))
            for number, parameter in zip(self.lowered.taken, parameters, strict=True)
        ]
        kinds = {number: kind for number, kind in self._taken if kind is not None}
        self._variables = list(kinds)
        self._read = private.reader_of_variables(list(kinds.values()))
        updated = [kinds[number] for number in self.lowered.updates.values()]
        self._write = private.writer_of_variables(updated)
        kinds_made = [*(spec.dtype for spec in private.flat_outputs(function)), *updated]
        self._types = [kind.as_datatype_enum for kind in kinds_made]
        self._draws = any(i.opcode == "rng" for i in self.module.instructions())
        self._single = not self.module.entry.root.shape.is_tuple

    @property
    def module(self) -> Module:
        """The module that is compiled."""
        return self.lowered.module

    @property
    def source(self) -> str:
        """The C that was compiled."""
        return self._executable.source

    def run(self, arguments: Sequence[Any]) -> list[Any]:
        """The flat results for flat arguments; variables are assigned last.

        Raises
        ------
        tf.errors.InvalidArgumentError
            if the run fails; no variable has changed then.
        """
        held = iter(self._read([arguments[k] for k in self._variables]))
        arrays = [
            private.array_of(arguments[k] if kind is None else next(held))
            for k, kind in self._taken
        ]
        if self._draws:
            self._executable.draw_from(next(_runs))
        try:
            values = self._executable(*arrays)
        except HloError as error:
            raise invalid(self._name, self._told(error)) from error
        found = [values] if self._single else values
        tensors = [
            private.tensor_of(value, kind) for value, kind in zip(found, self._types, strict=True)
        ]
        if updates := self.lowered.updates:
            resources = [arguments[argument] for argument in updates.values()]
            self._write(resources, [tensors[number] for number in updates])
        return tensors[: self.lowered.results]

    def _told(self, error: HloError) -> str:
        """PyHLO's error, with the user's line that its instruction comes from."""
        told = f"{error.message} [{error.code}]"
        if error.span is None:
            return told
        name = _OPERATION.search(error.span.source.line(error.span.start))
        return told + (stack_of(private.graph_of(self._function), name[1]) if name else "")


def _type(argument: Any, dtype: Any) -> Any:
    """The element type of a variable, or None for a tensor."""
    return tf.as_dtype(dtype) if argument.dtype == tf.resource else None
