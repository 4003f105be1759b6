"""An executable: a program with its engine, and the struct by which C knows it."""

from __future__ import annotations

import ctypes
import time
from functools import cached_property
from typing import TYPE_CHECKING, Any

from emit_c.executable.devices import run_devices_address
from emit_c.executable.processes import run_process_address
from hlo_jax.abi.numbers import ErrorCode
from hlo_jax.abi.proto import hlo_with_config
from hlo_jax.engines.choice import engine_for
from hlo_jax.engines.length import has_effects, is_short
from hlo_jax.engines.processes import AcrossProcesses, Elsewhere
from hlo_jax.ffi.calls import prepare_calls
from hlo_jax.plugin.client import MEMORY_KINDS, client
from hlo_jax.plugin.errors import PjrtError
from hlo_jax.plugin.memory import numbers_array
from hlo_jax.private.registration import trace_annotation
from hlo_jax.programs.lines import telling_line
from hlo_jax.programs.optimized import optimized
from hlo_jax.shim import records, shim
from interpreter.engine.memory import ALWAYS_THERE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo_jax.engines.engine import Arrays, Engine
    from hlo_jax.plugin.client import PjrtDevice, PjrtMemory
    from hlo_jax.programs.program import JaxProgram, ProgramArray

BY_HANDLE: dict[int, Loaded] = {}


class Loaded:
    """A program that can be called: PJRT_LoadedExecutable, and PJRT_Executable too.

    It lives until JAX has let go of all its handles, which C counts, and Python has heard of it.

    Attributes
    ----------
    devices : that run it, by replica and then by partition.
    kinds : of memory, of each result.
    calls : that Python made; those that C made are in the record.
    """

    def __init__(self, program: JaxProgram) -> None:
        numbers = program.options.devices or range(program.num_devices)
        self.program, self.devices = program, client().numbered(numbers)
        self.local = [d for d in self.devices if d.process == client().process]
        with telling_line(program.module):
            self._instances = prepare_calls(program.module.instructions())
            self.engine = self._engine(program)
        self.memories = [self._memories(program, device) for device in self.local]
        self.kinds = [memory.kind for memory in self._memories(program, self.devices[0])]
        self.record = records.ExecutableRecord()
        self._kept: list[Any] = []
        self._queries = self.calls = 0
        self._describe()
        BY_HANDLE[self.handle] = self

    @property
    def handle(self) -> int:
        """Its PJRT_LoadedExecutable."""
        return ctypes.addressof(self.record)

    def _engine(self, program: JaxProgram) -> Engine:
        others = client().others
        if others is None or len(self.local) == len(self.devices):
            return engine_for(program)
        if not self.local:
            return Elsewhere()
        places = [(device.number, device.process) for device in self.devices]
        return others.engine(program, *zip(*places, strict=True))

    def _memories(self, program: JaxProgram, device: PjrtDevice) -> list[PjrtMemory]:
        found = {memory.kind: memory for memory in device.memories}
        default = found[MEMORY_KINDS[0]]
        return [found.get(result.memory_kind, default) for result in program.results]

    def _describe(self) -> None:
        """Describe inputs and outputs to C."""
        program, record = self.program, self.record
        inputs = (records.InputRecord * max(len(program.parameters), 1))()
        for one, value in zip(inputs, program.parameters, strict=False):
            one.bytes, one.donated = value.bytes, value.donated
        outputs = (records.OutputRecord * max(len(program.results), 1))()
        for one, value in zip(outputs, program.results, strict=False):
            self._describe_output(one, value)
        memories = numbers_array([memory.handle for own in self.memories for memory in own])
        record.references, record.here = 1, len(self.local)
        record.input_count, record.inputs = len(program.parameters), self.keep(inputs)
        record.output_count, record.outputs = len(program.results), self.keep(outputs)
        options = program.options
        record.replicas, record.partitions = options.num_replicas, options.num_partitions
        record.memories = self.keep(memories)
        record.has_effects, record.is_short = has_effects(program.module), is_short(program.module)
        static = not any(any(result.shape.dynamic) for result in program.results)
        record.is_python = self.engine.stops and len(self.devices) == 1 and static
        self.use_native()

    def _describe_output(self, one: records.OutputRecord, value: ProgramArray) -> None:
        one.type, one.rank, one.bytes = value.type_number, len(value.dims), value.bytes
        one.dims = self.keep(numbers_array(value.dims, ctypes.c_int64))
        one.minor_to_major = self.keep(numbers_array(value.minor_to_major, ctypes.c_int64))
        donor = value.donor
        fits = donor >= 0 and self.program.parameters[donor].bytes == value.bytes
        one.donor = donor if fits else -1

    def use_native(self) -> None:
        """Let C call the engine without Python, if the engine can be called so."""
        native = self.engine.native
        if native is None or self.record.run == native.run:
            return
        outputs = (records.OutputRecord * max(len(self.program.results), 1)).from_address(
            self.record.outputs
        )
        for k, output in enumerate(outputs):
            output.donor = native.donated.get(k, -1)
        self.record.arena_bytes = native.arena_bytes
        self.record.plan, self.record.together = native.plan, run_devices_address()
        if isinstance(self.engine, AcrossProcesses):
            self.record.together = run_process_address()
            self.record.wire, self.record.program = self.engine.wire, self.engine.number
        self.record.is_large = self.bytes_of_a_call > ALWAYS_THERE
        self.record.run = native.run  # last: from now on C may call it

    @property
    def bytes_of_a_call(self) -> int:
        """Bytes of results and arenas, of all devices; donated memory is there already."""
        made = sum(result.bytes for result in self.program.results if result.donor < 0)
        return (made + self.record.arena_bytes) * len(self.local)

    def run(self, per_device: Sequence[Arrays]) -> Sequence[Arrays]:
        """Call the engine, and note how long that took; C may have taken over."""
        module = self.program.module
        begun = time.monotonic_ns()
        with telling_line(module), trace_annotation(f"{module.name} by {self.engine.name}"):
            results = self.engine.run(per_device)
        self.record.nanoseconds = time.monotonic_ns() - begun
        self.calls += 1
        self.use_native()
        return results

    def proto(self) -> bytes:
        """The program as a HloModuleProtoWithConfig.

        jaxlib asks for it when it loads a program, only for what goes in and out, and asks twice:
        for the size, and for the bytes. Later queries come from a person who wants to see it.
        """
        self._queries += 1
        content = self.program.proto if self._queries <= 2 else self._optimized
        options = self.program.options
        return hlo_with_config(content, options.num_replicas, options.num_partitions)

    @cached_property
    def _optimized(self) -> bytes:
        return optimized(self.program)

    def keep(self, array: Any) -> int:
        """The address of something that lives as long as the executable."""
        self._kept.append(array)
        return ctypes.addressof(array)


def loaded(handle: int) -> Loaded:
    """The executable with a handle.

    Raises
    ------
    PjrtError
        INVALID_ARGUMENT if it was deleted.
    """
    found = BY_HANDLE[handle]
    if found.record.deleted:
        raise PjrtError(ErrorCode.INVALID_ARGUMENT, "the executable was deleted")
    return found


def release_dead() -> None:
    """Release the executables that no client holds any more."""
    handle: int = shim().take_dead()
    while handle:
        dead = BY_HANDLE.pop(handle)
        handle = dead.record.next
        free = ctypes.CDLL(None).free
        free.argtypes = [ctypes.c_size_t]
        free(dead.record.arena)
