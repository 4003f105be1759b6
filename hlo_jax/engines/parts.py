"""C for programs for several devices: each device calls the same compiled program, in lockstep.

Compiled code knows one device. Where it needs the others, or its own number, it calls a function of
Python: the interpreter's for that instruction, on the thread of the device (see
`interpreter.engine.lockstep`). So collectives mean what they mean to the interpreter, down to the
errors of devices that never meet; what lies between them is C.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import emit_c
from hlo.attributes import CustomCall
from hlo.build import alone
from hlo.errors.error import HloError
from hlo.types.shape import row_major
from hlo.walk import rebuild, rebuild_module
from hlo_jax.engines.callbacks import WHOLE, Keeper, enter
from hlo_jax.engines.compiled import CompiledC
from hlo_jax.engines.engine import flat
from interpreter import Device, Frame
from interpreter.engine.frame import quiet
from interpreter.engine.lockstep import Lockstep

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hlo.instruction import Computation, Instruction, Module
    from hlo.types.shape import Shape
    from hlo_jax.engines.engine import Arrays, Engine
    from hlo_jax.programs.program import JaxProgram

_here = threading.local()  # `frame`: the interpreter's, of the device whose thread this is


def compiled_c(program: JaxProgram) -> Engine:
    """A program as C, for as many devices as it has.

    Raises
    ------
    HloError
        As `emit_c.compile`; HLO181 if an instruction can't be emitted.
    """
    return CompiledC(program) if program.num_devices == 1 else CompiledParts(program)


class CompiledParts:
    """A program for several devices as C.

    Raises
    ------
    HloError
        As `emit_c.compile`; HLO181 if an instruction can't be emitted.
    """

    name = "c"
    native = None
    note = "collectives are calls of Python"

    def __init__(self, program: JaxProgram) -> None:
        self._replicas = program.options.num_replicas
        self._devices = CInLockstep(program.module)
        self.code_bytes = self._devices.code_bytes

    def run(self, per_device: Sequence[Arrays]) -> Sequence[Arrays]:
        """Call the program for each device, on a thread of its own."""
        return [flat(value) for value in self._devices.run(per_device, self._replicas)]


class CInLockstep:
    """A module for several devices as C, which each calls on a thread of its own.

    Raises
    ------
    HloError
        As `emit_c.compile`; HLO181 if an instruction can't be emitted.
    """

    def __init__(self, module: Module) -> None:
        one, self._keepers = for_one_device(module)
        # The calls hold numbers that only this process knows.
        self._executable = emit_c.compile(one, remember=False)
        self.code_bytes = self._executable.library.stat().st_size

    def run(self, per_device: Sequence[Arrays], replicas: int) -> list[Any]:
        """The module's value on each device, for its arguments."""
        lockstep = Lockstep(replicas, len(per_device) // replicas)
        bodies: list[Callable[[], Any]] = []
        for number, own in enumerate(per_device):
            device = Device(*divmod(number, lockstep.partitions), lockstep=lockstep)
            bodies.append(partial(self._run_device, device, own))
        return lockstep.run(bodies)

    def _run_device(self, device: Device, arguments: Arrays) -> Any:
        _here.frame = Frame(device)
        return self._executable(*arguments)


def for_one_device(module: Module) -> tuple[Module, list[Keeper]]:
    """The module with a callback for each instruction that another device has a part in.

    Returns
    -------
    The module, and what keeps the callbacks.

    Raises
    ------
    HloError
        HLO181 if an instruction needs more of its device than a callback can give.
    """
    keepers: list[Keeper] = []

    def change(computation: Computation) -> Computation:
        found = [i for i in computation.instructions if _is_of_device(i)]
        return rebuild(computation, {i: _callback(i, keepers) for i in found})

    alone = {"replica_count": 1, "num_partitions": 1}
    module = replace(module, header=replace(module.header, **alone))
    return rebuild_module(module, change), keepers


def _is_of_device(instr: Instruction) -> bool:
    """Whether a callback is to take an instruction's place.

    Raises
    ------
    HloError
        HLO181 if it should, and can't.
    """
    traits = instr.row.traits
    if not traits & {"collective", "device"}:
        return False
    # A device's number is a leaf. All else of a device is a state, such as a random generator's.
    if traits & {"async", "effect"} or not traits & {"collective", "leaf"}:
        message = f"{instr.name}: on several devices, {instr.opcode} is not C's"
        raise HloError("HLO181", message, instr.span)
    return True


def _callback(instr: Instruction, keepers: list[Keeper]) -> Instruction:
    """A custom call whose function evaluates an instruction on its device."""
    computation = alone(instr)

    def evaluate(*operands: Any) -> list[Any]:
        with quiet():
            value = _here.frame.call(computation, *operands)
        return [np.asarray(array) for array in flat(value)]

    number, keeper = enter(evaluate)
    keepers.append(keeper)
    attrs = CustomCall(
        custom_call_target=WHOLE,
        custom_call_has_side_effect=True,
        operand_layout_constraints=tuple(_row_by_row(o.shape) for o in instr.operands),
        api_version="API_VERSION_TYPED_FFI",
    )
    annotations = replace(
        instr.annotations.inherited(), backend_config=f"{{index = {number} : ui64}}"
    )
    return instr.with_(
        opcode="custom-call",
        shape=_row_by_row(instr.shape),
        attrs=attrs,
        called=(),
        annotations=annotations,
    )


def _row_by_row(shape: Shape) -> Shape:
    if shape.is_tuple:
        return replace(shape, elements=tuple(map(_row_by_row, shape.elements)))
    return replace(shape, layout=row_major(shape.rank)) if shape.is_array else shape
