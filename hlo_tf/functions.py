"""`hlo_tf.function`: functions that TensorFlow traces and PyHLO compiles, in place of XLA."""

from __future__ import annotations

import inspect
from functools import partial, update_wrapper
from threading import local
from types import MethodType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

from hlo.frontends.calls import Calls
from hlo_tf import private
from hlo_tf.inside_graphs import called_in_graph
from hlo_tf.names import plain_name, role_of
from hlo_tf.program import TensorProgram
from hlo_tf.signature import signature
from hlo_tf.tensorflow import tf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hlo.frontends.calls import Variant


class Traced:
    """The programs of one function of TensorFlow: a user's, its forward function or its gradient.

    Parameters
    ----------
    function : of TensorFlow; its results are flat.
    calls : where its programs and calls are entered.
    """

    def __init__(self, function: Any, calls: Calls) -> None:
        self._function, self.calls = function, calls
        inputs = private.graph_of(function).inputs
        fixed = [t.dtype == tf.resource or t.shape.is_fully_defined() for t in inputs]
        self._shaped = [k for k, known in enumerate(fixed) if not known]
        self._constants: tuple[int, ...] = ()
        self._programs: dict[Any, tuple[TensorProgram, Variant]] = {}

    def run(self, arguments: Sequence[Any]) -> list[Any]:
        """The flat results, by a program for such arguments."""
        program, compiled = self.program(arguments)
        results = program.run(arguments)
        compiled.calls.append(self.calls.number)
        return results

    def program(self, arguments: Sequence[Any]) -> tuple[TensorProgram, Variant]:
        """The program for arguments, compiled if there is none."""
        found = self._programs.get(self._key(arguments))
        if found is None:
            found = self._compiled(arguments)
        return found

    def _key(self, arguments: Sequence[Any]) -> Any:
        return (
            *(tuple(arguments[k].shape) for k in self._shaped),
            *(private.array_of(arguments[k]).tobytes() for k in self._constants),
        )

    def _compiled(self, arguments: Sequence[Any]) -> tuple[TensorProgram, Variant]:
        program = TensorProgram(self._function, arguments)
        # Which arguments must be constant may depend on shapes.
        if new := set(program.lowered.constants) - set(self._constants):
            self._constants = tuple(sorted({*self._constants, *new}))
            self._programs.clear()
        names = self.calls.parameters
        told = signature(self._function, arguments, program.lowered.constants, names)
        role = role_of(private.name_of(self._function))
        found = program, self.calls.compiled(told, role)
        self._programs[self._key(arguments)] = found
        return found


class _Now(local):
    """The calls of functions that this thread is in, the innermost last."""

    def __init__(self) -> None:
        self.calls: list[Calls] = []


_now = _Now()
_traced: WeakKeyDictionary[Any, Traced] = WeakKeyDictionary()
# The calls that a function of TensorFlow belongs to; a gradient knows its forward function's name.
_owners: WeakValueDictionary[str, Calls] = WeakValueDictionary()
_functions: WeakSet[TensorFunction] = WeakSet()


def traced(function: Any) -> Traced:
    """The programs of a marked function of TensorFlow."""
    found = _traced.get(function)
    if found is None:
        name = private.name_of(function)
        owner = _owners.get(private.forward_name(function))
        if owner is None:
            owner = _now.calls[-1] if _now.calls else Calls(plain_name(name))
        _owners[name] = owner
        found = _traced.setdefault(function, Traced(function, owner))
    return found


def _run(function: Any, arguments: Sequence[Any]) -> Sequence[Any]:
    return traced(function).run(arguments)


def start() -> None:
    """Let marked functions of TensorFlow run here from now on."""
    private.run_marked_functions(_run)


def run_marked(function: Any, arguments: Sequence[Any], calls: Calls) -> Sequence[Any]:
    """Run a marked function of TensorFlow as one call of a function whose calls are counted."""
    calls.begin()
    _now.calls.append(calls)
    try:
        return _run(function, arguments)
    finally:
        _now.calls.pop()


class TensorFunction:
    """A function of tensors that TensorFlow traces, and PyHLO compiles.

    It takes and returns what the `tf.function` of it does, with `jit_compile=True`: nested
    structures, variables, Python's objects; each new shape is compiled, and so is each new value of
    an argument that must be constant. A `tf.GradientTape` outside differentiates it.

    Parameters
    ----------
    function : of Python.
    options : of `tf.function`, such as `input_signature` and `reduce_retracing`.
    """

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        start()
        attributes = {**private.MARK, **options.pop("experimental_attributes", {})}
        self._function = tf.function(
            function, jit_compile=True, experimental_attributes=attributes, **options
        )
        name = getattr(function, "__name__", type(function).__name__)
        self.calls = Calls(name, tuple(inspect.signature(function).parameters))
        update_wrapper(self, function)
        _functions.add(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's result, by a program that is compiled at the first call for such types.

        Raises
        ------
        tf.errors.InvalidArgumentError
            if an operation can't be compiled, with its name and its line; nothing has run then.
        """
        if not tf.executing_eagerly() and not private.is_inside_xla():
            return self._inside_graph(args, kwargs)
        self.calls.begin()
        _now.calls.append(self.calls)
        try:
            return self._function(*args, **kwargs)
        finally:
            _now.calls.pop()

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """The method of an instance, for a function in a class."""
        return self if instance is None else MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        """All that `tf.function` has besides."""
        if name == "_function":
            raise AttributeError(name)
        return getattr(self._function, name)

    def explain(self) -> str:
        """The programs of the function: the calls that ran each, and why each was compiled.

        It tells also which arguments' shapes and values decide about compilation.
        """
        return self.calls.explain()

    def get_compiler_ir(self, *args: Any, **kwargs: Any) -> Callable[[str], str]:
        """The program for some arguments as a function of a stage, which gives its text.

        Stages are those of `hlo opt --stage`, TensorFlow's `hlo`, which is the module before
        optimizations, and its `optimized_hlo`.
        """
        from hlo_tf.stages import text  # noqa: PLC0415 - it needs the tools

        program = self._program(args, kwargs)
        return lambda stage="hlo": text(program.module, stage)

    def _program(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TensorProgram:
        concrete = self._function.get_concrete_function(*args, **kwargs)
        flat = [*private.flat_arguments(concrete, args, kwargs), *concrete.captured_inputs]
        _now.calls.append(self.calls)
        try:
            return traced(concrete.inference_fn).program(flat)[0]
        finally:
            _now.calls.pop()

    def _inside_graph(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Nodes of another function's graph, which call this one and its gradient."""
        concrete = self._function.get_concrete_function(*args, **kwargs)
        given = [*private.flat_arguments(concrete, args, kwargs), *concrete.captured_inputs]
        return private.packed(concrete, called_in_graph(concrete, given, self._run_in_graph))

    def _run_in_graph(self, function: Any, arguments: Sequence[Any]) -> Sequence[Any]:
        return run_marked(function, arguments, self.calls)


def function(python: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function of tensors with PyHLO: a decorator, with options or without.

    Parameters
    ----------
    python : the function. Without it, this is a decorator that takes the function.
    options : of `tf.function`, such as `input_signature` and `reduce_retracing`.
    """
    if python is None:
        return partial(TensorFunction, **options)
    return TensorFunction(python, **options)


def functions() -> Iterator[TensorFunction]:
    """All functions that are compiled here and still in use."""
    return iter(sorted(_functions, key=lambda f: f.__name__))


def explain() -> str:
    """The programs of all functions, and why each was compiled."""
    return "\n\n".join(found.explain() for found in functions())
