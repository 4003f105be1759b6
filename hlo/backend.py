"""A backend runs modules. It has the four parts that XLA asks of one, each with a default.

| part | question | default |
| --- | --- | --- |
| `ModuleCompiler` | what does a module become? | none: this one function is the smallest backend |
| `ModuleExecutable` | how is that called? | it is a function of the arguments |
| `TransferManager` | how do arrays get to a device, and back? | NumPy arrays, as they are |
| `StreamExecutor` | which devices are there, and when are they ready? | the host; always |

    def mine(module):                    # my_backend.py
        return lambda x, y: x + y        # the value of the module for these NumPy arrays

`hlo.backend_names.find` makes a `Backend` of such a function, or of an object with these methods.
`Backend.load` gives what runs a module on it, and checks what goes in and comes out.

Three things are asked of every backend. It keeps its arguments, but for those that the header of
the module donates. The results of a call stay as they are when it is called again. Several
threads may call it at once.

References
----------
XLA, *Developing a new backend for XLA*: `StreamExecutor`, `Compiler`, `Executable`,
`TransferManager`.
"""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from hlo.errors.error import HloError
from hlo.support.own_code import at_line, blamed, is_from
from hlo.verify import verify_once
from hlo.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from hlo.instruction import Instruction, Module
    from hlo.types.shape import Shape

Value = Any  # an array, None for a token, or a tuple of values

EXAMPLE: Final = "a backend is a function of a module that returns a function of its arguments"


class StreamExecutor:
    """The devices of a backend: how many there are, and when their calls have ended."""

    @property
    def devices(self) -> int | None:
        """The number of devices; None for as many as a module asks for."""
        return None

    def synchronize(self) -> None:
        """Wait until all calls have ended whose results were handed out before they were there."""


class TransferManager:
    """The way of arrays to devices and back."""

    def to_device(self, value: Any, shape: Shape, device: int) -> Any:  # noqa: ARG002
        """An argument for a device.

        Parameters
        ----------
        value : a NumPy array; None for a token.
        """
        return value

    def from_device(self, value: Any, shape: Shape, device: int) -> Any:  # noqa: ARG002
        """A result as a NumPy array, or in any form that `numpy.asarray` takes."""
        return value


class ModuleExecutable:
    """A compiled module: XLA's Executable.

    Parameters
    ----------
    call : takes the arguments of one device, and gives the value.

    Attributes
    ----------
    native : how C calls it without Python; None where it can't.
    code_bytes : of machine code.
    """

    native: Any = None
    code_bytes: int = 0

    def __init__(self, module: Module, call: Callable[..., Value]) -> None:
        self.module, self._call = module, call

    def __call__(self, *arguments: Any) -> Value:
        """The value of the module on one device: an array, a tuple of values, None for a token."""
        return self._call(*arguments)

    def run(self, per_device: Sequence[Sequence[Any]]) -> list[Value]:
        """The value on each device.

        By default devices run one after the other, so none may wait for another.

        Raises
        ------
        HloError
            HLO203 if one does.
        """
        refuse_communication(self.module, len(per_device))
        return [self(*arguments) for arguments in per_device]


class ModuleCompiler:
    """Turns modules into executables: XLA's Compiler."""

    def optimize(self, module: Module) -> Module:
        """The module after this backend's own passes: XLA's RunHloPasses.

        By default there are none: `compile` is given what the user wrote.
        """
        return module

    def compile(self, module: Module) -> ModuleExecutable | Callable[..., Value]:
        """An executable, or just a function of the arguments: XLA's RunBackend.

        Keyword parameters that it has beside the module are options of `hlo run`: `observe` is
        told every value, `max_iterations` and `ask` end loops, `checked` and `seed` watch the
        memory, `libraries` may forbid libraries, `remember` may forbid caches.

        Raises
        ------
        HloError
            HLO181 for what it cannot do; it may raise NotImplementedError, too.
        """
        raise NotImplementedError(f"there is no `compile`: {EXAMPLE}")


@dataclass(frozen=True)
class Backend:
    """A backend with its four parts; executables come from the compiler.

    Attributes
    ----------
    summary : one line.
    keeps_subnormals : floats that are too small for all their digits; else they become zeros.
    offers : what it does beside running modules, by the name of `hlo run`'s option.
    path : the user's own file, which is blamed for what is wrong.
    line : where the backend is in it.
    """

    name: str
    compiler: ModuleCompiler
    transfers: TransferManager = field(default_factory=TransferManager)
    executor: StreamExecutor = field(default_factory=StreamExecutor)
    summary: str = ""
    keeps_subnormals: bool = True
    offers: Mapping[str, Callable[..., Any]] = field(default_factory=dict[str, Any])
    path: str = ""
    line: int | None = None

    @cached_property
    def options(self) -> frozenset[str]:
        """The options that the compiler takes, and whatever else it offers."""
        taken = list(inspect.signature(self.compiler.compile).parameters)[1:]
        return frozenset({*taken, *self.offers})

    def load(self, module: Module, **options: Any) -> LoadedModule:
        """Compile a module.

        Parameters
        ----------
        options : those of `ModuleCompiler.compile` that this backend has.

        Raises
        ------
        HloError
            HLO020 to HLO099 if the module is not well-formed, HLO181 if the backend can't do it,
            HLO206 if the user's own code fails.
        """
        if self.path:
            verify_once(module)
        with self.blaming():
            run: Any = self.compiler.compile(self.compiler.optimize(module), **options)
        if not callable(run):
            raise self.wrong(f"`{self.name}` returns {_named(run)}, not a function", EXAMPLE)
        executable = run if isinstance(run, ModuleExecutable) else ModuleExecutable(module, run)
        return LoadedModule(self, module, executable)

    @contextmanager
    def blaming(self) -> Generator[None]:
        """Turn exceptions of the user's own code into errors at its lines."""
        try:
            yield
        except HloError:
            raise
        except (Exception, SystemExit) as error:
            if not self.path or not is_from(self.path, error):
                raise
            blamed_error = blamed(Path(self.path), error)
            if isinstance(error, NotImplementedError):
                message = str(error) or f"`{self.name}` cannot do this"
                raise HloError("HLO181", message, blamed_error.span) from error
            raise blamed_error from error

    def wrong(self, message: str, *notes: str) -> HloError:
        """An error at the line of the backend."""
        return at_line(Path(self.path), self.line, message, *notes)


@dataclass(frozen=True)
class LoadedModule:
    """A module on a backend, ready to be called again and again."""

    backend: Backend
    module: Module
    executable: ModuleExecutable

    def __call__(self, per_device: Sequence[Sequence[Any]]) -> list[Value]:
        """The value on each device, as NumPy arrays.

        Parameters
        ----------
        per_device : the arguments of each device. Those that the module donates may hold anything
            afterwards.

        Raises
        ------
        HloError
            HLO110 to HLO112 if the arguments do not fit, HLO206 if the user's own code fails, or
            gives what is no value of the module.
        """
        backend = self.backend
        if not backend.path:
            return self.executable.run(per_device)
        most = backend.executor.devices
        if most is not None and len(per_device) > most:
            message = f"`{backend.name}` has {counted(most, 'device')}, not {len(per_device)}"
            raise HloError("HLO116", message, self.module.span)
        shapes = [p.shape for p in self.module.entry.parameters]
        inputs = [_checked(self.module, shapes, own) for own in per_device]
        to_device, from_device = backend.transfers.to_device, backend.transfers.from_device
        with backend.blaming():
            moved = [
                [_moved(v, s, device, to_device) for v, s in zip(own, shapes, strict=True)]
                for device, own in enumerate(inputs)
            ]
            values: Any = self.executable.run(moved)
            backend.executor.synchronize()
            listed = cast("Sequence[Any]", values)
            if not isinstance(values, list | tuple) or len(listed) != len(moved):
                wanted = counted(len(moved), "value")
                raise self._no_value(f"`run` returns {_named(values)}, not a list of {wanted}")
            return [self._result(v, device, from_device) for device, v in enumerate(listed)]

    def _result(self, value: Any, device: int, from_device: Callable[..., Any]) -> Value:
        shape = self.module.entry.root.shape
        result = _moved(value, shape, device, from_device)
        result, problem = _fitted(result, shape)
        if problem:
            raise self._no_value(f"the result of {self.module.name} is {shape}: {problem}")
        return result

    def _no_value(self, problem: str) -> HloError:
        note = "a result is an array, a tuple of results, or None for a token"
        return self.backend.wrong(f"`{self.backend.name}`: {problem}", note)


def _named(value: Any) -> str:
    return "nothing" if value is None else f"an object of {type(value).__name__}"


def _moved(value: Any, shape: Shape, device: int, move: Callable[..., Any]) -> Value:
    """A value whose arrays went to a device, or came from one."""
    if not shape.is_tuple or not isinstance(value, tuple | list):
        return move(value, shape, device)
    parts = cast("Sequence[Any]", value)
    if len(parts) != len(shape.elements):
        return tuple(parts)
    return tuple(_moved(v, s, device, move) for v, s in zip(parts, shape.elements, strict=True))


def _fitted(value: Any, shape: Shape) -> tuple[Value, str]:
    """A value as NumPy arrays and tuples, and the reason why it is none of the shape."""
    if shape.is_tuple:
        if not isinstance(value, tuple | list):
            problem = f"there is {_named(value)} in the place of a tuple"
            return None, problem
        parts = cast("Sequence[Any]", value)
        if len(parts) != len(shape.elements):
            return None, f"there are {len(parts)} results, not {len(shape.elements)}"
        fitted = [_fitted(v, s) for v, s in zip(parts, shape.elements, strict=True)]
        problem = [f"number {k}: {problem}" for k, (_, problem) in enumerate(fitted) if problem]
        return tuple(v for v, _ in fitted), "".join(problem[:1])
    if not shape.is_array:
        return None, "" if value is None else f"there is {_named(value)} in the place of a token"
    if value is None:
        return value, "there is nothing in the place of an array"
    array: Any = np.asarray(value)
    return array, _misfit(array, shape)


def _misfit(array: Any, shape: Shape) -> str:
    """The reason why an array is none of a shape; empty if it is one."""
    if array.dtype != shape.element_type.dtype:
        return f"there are elements of {array.dtype}, not of {shape.element_type}"
    sizes, wanted = tuple(array.shape), shape.dims
    bounded = shape.dynamic or (False,) * shape.rank
    if len(sizes) == len(wanted) and all(
        n == most or (n < most and dynamic)
        for n, most, dynamic in zip(sizes, wanted, bounded, strict=True)
    ):
        return ""
    return f"there is an array of [{_listed(sizes)}], not of [{_listed(wanted)}]"


def _listed(sizes: Sequence[int]) -> str:
    return ",".join(map(str, sizes))


def _checked(module: Module, shapes: Sequence[Shape], arguments: Sequence[Any]) -> list[Value]:
    """The arguments of a device.

    Raises
    ------
    HloError
        HLO110 if there are too many or too few, HLO111 if one does not fit.
    """
    if len(arguments) != len(shapes):
        wanted = counted(len(shapes), "argument")
        raise HloError("HLO110", f"{module.name} takes {wanted}, not {len(arguments)}", module.span)
    fitted = [_fitted(v, s) for v, s in zip(arguments, shapes, strict=True)]
    for parameter, (_, problem) in zip(module.entry.parameters, fitted, strict=True):
        if problem:
            message = f"{parameter.name}: the argument of {parameter.shape} does not fit: {problem}"
            raise HloError("HLO111", message, parameter.span)
    return [value for value, _ in fitted]


def first_communicating(module: Module) -> Instruction | None:
    """The first instruction whose value depends on which devices there are; None for none."""
    return next((i for i in module.instructions() if i.row.traits & {"collective", "device"}), None)


def refuse_communication(module: Module, devices: int) -> None:
    """Refuse several devices where each is run by itself, and needs to know of the others.

    Raises
    ------
    HloError
        HLO203 at the first instruction that does.
    """
    instr = first_communicating(module) if devices > 1 else None
    if instr is not None:
        message = f"{instr.name}: {instr.opcode} needs the other devices, and each is run by itself"
        notes = ["the platforms interpreter, c, cuda and cuda-host run them together"]
        raise HloError("HLO203", message, instr.span, notes)


def without_donations(module: Module) -> Module:
    """The module, whose results take memory of their own: a call keeps all arguments."""
    header = replace(module.header, input_output_alias=(), buffer_donor=())
    return module if header == module.header else replace(module, header=header)
