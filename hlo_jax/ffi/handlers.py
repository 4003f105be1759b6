"""The registered foreign functions: those that the user registered for PyHLO, or for XLA CPU."""

from __future__ import annotations

import ctypes
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from hlo.attributes import CustomCall
from hlo_jax.abi import ffi
from hlo_jax.abi.members import size
from hlo_jax.abi.numbers import ErrorCode
from hlo_jax.ffi.api import CONTEXTS, ERRORS, FUTURES, States, register_type, table
from hlo_jax.ffi.attributes import read_attributes
from hlo_jax.ffi.errors import HandlerError
from hlo_jax.private.callbacks import targets_of_cpu

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hlo.instruction import Instruction

_HANDLER: Final = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_size_t)
_FRAME_BYTES: Final = size(ffi.CallFrame, -1)  # without the future, as the header counts


@dataclass(frozen=True, slots=True)
class Target:
    """The handlers that are registered under a name.

    Attributes
    ----------
    handlers : by stage.
    api_version : 1 for FFI; 0 for a function of the interface before it.
    """

    name: str
    handlers: Mapping[ffi.ExecutionStage, Any]
    api_version: int = 1


_TARGETS: dict[str, Target] = {}


def register_target(
    name: str | bytes, functions: Any, _platform: str, api_version: int, _traits: Any
) -> None:
    """Register the handlers of `jax.ffi.register_ffi_target`: a capsule, or one a stage."""
    text = name.decode() if isinstance(name, bytes) else name
    by_stage: dict[str, Any] = {"execute": functions}
    if isinstance(functions, dict):
        by_stage = cast("dict[str, Any]", functions)
    handlers = {
        ffi.ExecutionStage[stage.upper()]: _HANDLER(pointer(capsule))
        for stage, capsule in by_stage.items()
        if capsule is not None
    }
    if ffi.ExecutionStage.EXECUTE not in handlers:
        raise ValueError(f"the foreign function {text!r} has no handler for the stage execute")
    _TARGETS[text] = Target(text, handlers, api_version)


def register_types(name: str | bytes, registration: Any) -> None:
    """Register a type of `jax.ffi.register_ffi_type`: capsules of its number and of more."""
    text = name.decode() if isinstance(name, bytes) else name
    info = registration.get("type_info")
    register_type(text, pointer(registration["type_id"]), 0 if info is None else pointer(info))


def pointer(capsule: Any) -> int:
    """The address in a capsule of any name."""
    name, get = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name.restype, name.argtypes = ctypes.c_void_p, [ctypes.py_object]
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_void_p]
    return get(capsule, name(capsule))


def find_target(name: str) -> Target | None:
    """The handlers that are registered under a name; None if there are none."""
    if name not in _TARGETS and (functions := targets_of_cpu().get(name)) is not None:
        # XLA takes no function of the older interface into this table.
        register_target(name, functions, "cpu", 1, None)
    return _TARGETS.get(name)


class HandlerInstance:
    """A target with attributes, shared by all calls of a program with the same ones.

    Its handler for the stage `instantiate` is called once. What state that leaves lives as long as
    a program has the instance.
    """

    def __init__(self, target: Target, options: str) -> None:
        self.target, self._attributes = target, read_attributes(options)
        _refuse_strangers(target)
        self.states = States()
        weakref.finalize(self, self.states.delete)
        self.run(ffi.ExecutionStage.INSTANTIATE, self.states)

    def run(self, stage: ffi.ExecutionStage, states: States, *arrays: ffi.Arguments) -> None:
        """Call the handler of a stage, if there is one.

        Parameters
        ----------
        arrays : arguments and results; none while the target is instantiated.

        Raises
        ------
        HandlerError
            That the handler returns.
        """
        handler = self.target.handlers.get(stage)
        if handler is None:
            return
        context = CONTEXTS.enter(states)
        try:
            frame = _frame(stage, context)
            frame.attrs = self._attributes.record
            if arrays:
                frame.args, frame.rets = arrays
            error = handler(ctypes.addressof(frame))
            found = ERRORS.take(error) if error else None
            if frame.future:
                found = FUTURES[frame.future].wait() or found
                FUTURES.take(frame.future)
        finally:
            CONTEXTS.take(context)
        if found is not None:
            raise found.exception


def _frame(stage: ffi.ExecutionStage, context: int) -> ffi.CallFrame:
    frame = ffi.CallFrame(struct_size=_FRAME_BYTES, stage=stage, ctx=context)
    frame.api = table().address
    none = ffi.Arguments(struct_size=ctypes.sizeof(ffi.Arguments))
    frame.args, frame.rets = none, none
    frame.attrs = ffi.NamedAttributes(struct_size=ctypes.sizeof(ffi.NamedAttributes))
    return frame


def _refuse_strangers(target: Target) -> None:
    """Refuse handlers of an interface that PyHLO does not know: each tells its version."""
    if target.api_version != 1:
        message = f"{target.name}: PyHLO calls functions of XLA's typed FFI (api_version=1) only"
        raise HandlerError(ErrorCode.UNIMPLEMENTED, message)
    for handler in target.handlers.values():
        told = ffi.HandlerMetadata(struct_size=ctypes.sizeof(ffi.HandlerMetadata))
        extension = ffi.MetadataExtension(type=ffi.METADATA, metadata=ctypes.addressof(told))
        extension.struct_size = ctypes.sizeof(extension)
        frame = _frame(ffi.ExecutionStage.EXECUTE, 0)
        frame.extension_start = ctypes.addressof(extension)
        if error := handler(ctypes.addressof(frame)):
            raise ERRORS.take(error).exception
        major = told.api_version.major_version
        if major != ffi.MAJOR:
            message = f"{target.name} is built for version {major} of FFI, not {ffi.MAJOR}"
            raise HandlerError(ErrorCode.FAILED_PRECONDITION, message)
        # Before 0.3, states and their types were other structs.
        if len(target.handlers) > 1 and told.api_version.minor_version < ffi.MINOR:
            message = f"{target.name} has a state, and is built with headers older than FFI 0.3"
            raise HandlerError(ErrorCode.UNIMPLEMENTED, message)


_INSTANCES: weakref.WeakValueDictionary[tuple[str, str], HandlerInstance] = (
    weakref.WeakValueDictionary()
)


def instance_of(instr: Instruction) -> HandlerInstance:
    """The instance that a custom call calls.

    Raises
    ------
    HandlerError
        As the handler for the stage `instantiate` returns, or if the call can't be made.
    """
    name, options = CustomCall.of(instr).custom_call_target, instr.annotations.backend_config
    found = _INSTANCES.get((name, options))
    if found is None:
        target = find_target(name)
        assert target is not None
        found = _INSTANCES.setdefault((name, options), HandlerInstance(target, options))
    return found


def foreign_calls(instructions: Iterable[Instruction]) -> list[Instruction]:
    """The custom calls that the user's handlers answer."""
    calls = [i for i in instructions if isinstance(i.attrs, CustomCall)]
    return [i for i in calls if find_target(CustomCall.of(i).custom_call_target)]
