"""Executables: compiling, calling, and answers to JAX's questions about one."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from numpy.lib.array_utils import byte_bounds

from emit_c.code.foreign import failure
from emit_c.executable.devices import REPORT_HEAD
from hlo_jax.abi.numbers import ErrorCode
from hlo_jax.abi.structs import ExecuteOptions, PjrtProgram
from hlo_jax.engines.engine import CANCELLED
from hlo_jax.plugin.arrays import (
    array_at,
    array_of,
    buffer_with,
    held_value_of,
    new_buffer,
    value_in,
    value_of,
)
from hlo_jax.plugin.buffers import ready_event
from hlo_jax.plugin.errors import PjrtError
from hlo_jax.plugin.loaded import BY_HANDLE, Loaded, loaded, release_dead
from hlo_jax.plugin.memory import no_deleter, numbers_array, read_numbers, text
from hlo_jax.plugin.table import answers, asked
from hlo_jax.private.registration import trace_annotation
from hlo_jax.programs.lines import telling_line
from hlo_jax.programs.options import read_options
from hlo_jax.programs.program import SentProgram, read_program
from hlo_jax.programs.serialized import deserialized, serialized
from hlo_jax.shim import records, shim

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hlo_jax.abi import structs as s
    from hlo_jax.plugin.client import PjrtMemory
    from hlo_jax.programs.program import ProgramArray
    from hlo_jax.shim.records import RaisedRecord

    Array = NDArray[Any]

# ---------------------------------------------------------------------------------- compiling


@answers("PJRT_Client_Compile")
def compile_program(args: s.ClientCompile) -> None:
    """Read a program and make it ready."""
    release_dead()
    given = PjrtProgram.from_address(args.program)
    code = ctypes.string_at(given.code, given.code_size)
    program_format = ctypes.string_at(given.format, given.format_size).decode()
    options = read_options(ctypes.string_at(args.compile_options, args.compile_options_size))
    with trace_annotation("PyHLO compiles"):
        args.executable = Loaded(read_program(SentProgram(code, program_format), options)).handle


# ------------------------------------------------------------------------------------ calling


@answers("PJRT_LoadedExecutable_Execute")
def execute(args: s.LoadedExecutableExecute) -> None:
    """Call a program for all its devices.

    The shim comes here where it can't call the engine itself.
    """
    self = loaded(args.executable)
    given = _argument_handles(self, args)
    value = value_of if len(given) == 1 else held_value_of
    values = [[value(handle) for handle in own] for own in given]
    results = self.run(values)
    made: list[int] = []
    kept = _not_donated(args)
    donors = [_donors(self, own, kept) for own in given]
    results = [
        _apart(own, [(donor.data, donor.bytes) for donor in taken.values()])
        for own, taken in zip(results, donors, strict=True)
    ]
    try:
        for memories, taken, own in zip(self.memories, donors, results, strict=True):
            parts = zip(self.program.results, own, memories, strict=True)
            for k, (value, array, memory) in enumerate(parts):
                made.append(_result(value, array, memory, taken.get(k)))
    except BaseException:
        for handle in made:
            shim().delete_buffer(handle)
        raise
    for own in given:
        for k, (handle, value) in enumerate(zip(own, self.program.parameters, strict=True)):
            if value.donated and k not in kept:
                shim().delete_buffer(handle)
    _give(args, made, len(self.program.results))


@asked("run_in_python")
def run_in_python(address: int) -> None:
    """Make a call of the queue: the memory of its results is there, which may be an argument's."""
    call = records.PythonCallRecord.from_address(address)
    self = BY_HANDLE[call.executable]
    results = self.program.results
    handles = _addresses(call.given, len(self.program.parameters))
    given = zip(handles, _addresses(call.ins, len(handles)), strict=True)
    values = [value_in(handle, data) for handle, data in given]
    token = CANCELLED.set(ctypes.c_bool.from_address(call.cancelled))
    try:
        (made,) = self.run([values])
    finally:
        CANCELLED.reset(token)
    outs = _addresses(call.outs, len(results))
    made = _apart(made, [(out, value.bytes) for out, value in zip(outs, results, strict=True)])
    for value, array, out in zip(results, made, outs, strict=True):
        if array is not None:
            kind = value.shape.element_type
            array_at(out, value.dims, kind, value.minor_to_major)[...] = array


def _addresses(start: int, count: int) -> tuple[int, ...]:
    return read_numbers(start, count, ctypes.c_size_t)


@answers("raised")
def raised(args: RaisedRecord) -> None:
    """Raise the exception for a call of compiled code that failed."""
    if not args.report:
        raise failure()
    self = loaded(args.executable)
    count = REPORT_HEAD + 2 * len(self.devices)
    native = self.engine.native
    assert native is not None
    with telling_line(self.program.module):
        raise native.explain(read_numbers(args.report, count, ctypes.c_int64))


def _donors(
    self: Loaded, handles: Sequence[int], kept: Sequence[int]
) -> dict[int, records.BufferRecord]:
    """For numbers of results, the argument whose memory each takes: nobody else looks at it."""
    found: dict[int, records.BufferRecord] = {}
    for k, value in enumerate(self.program.results):
        if value.donor < 0 or value.donor in kept:
            continue
        donor = records.BufferRecord.from_address(handles[value.donor])
        alone = donor.references == 1 and not donor.uses and not donor.on_delete
        if alone and donor.bytes == value.bytes:
            found[k] = donor
    return found


def _apart(
    results: Sequence[Array | None], spans: Sequence[tuple[int, int]]
) -> Sequence[Array | None]:
    """The results, of which none lies in memory, from an address on, that another one takes."""

    def lies_there(array: Array) -> bool:
        low, high = byte_bounds(array)
        return any(low < begin + count and begin < high for begin, count in spans)

    return [a.copy() if a is not None and lies_there(a) else a for a in results]


def _result(
    value: ProgramArray, array: Array | None, memory: PjrtMemory, donor: records.BufferRecord | None
) -> int:
    """A buffer with a result, in the memory of a donor if there is one."""
    if donor is None or array is None:
        return buffer_with(array, value.type_number, memory, value.minor_to_major)
    order = value.minor_to_major
    made = new_buffer(value.type_number, array.shape, memory, order, donor.data)
    donor.data, donor.deleted = 0, 1
    array_of(made)[...] = array
    return made


def _argument_handles(self: Loaded, args: s.LoadedExecutableExecute) -> list[tuple[int, ...]]:
    """The buffers that are given, by device."""
    wanted = len(self.program.parameters)
    if args.num_devices == len(self.local) == 0:
        return []
    if args.num_devices != len(self.local) or args.num_args != wanted:
        given = f"{args.num_args} arguments for {args.num_devices} devices"
        message = f"{given}; the program has {wanted} parameters on {len(self.local)} devices"
        raise PjrtError(ErrorCode.INVALID_ARGUMENT, message)
    lists = read_numbers(args.argument_lists, args.num_devices, ctypes.c_size_t)
    found = [read_numbers(own, wanted, ctypes.c_size_t) for own in lists]
    kept = _not_donated(args)
    donated = [k for k, v in enumerate(self.program.parameters) if v.donated and k not in kept]
    for own in found:
        _refuse_donated_twice(own, donated)
    return found


def _refuse_donated_twice(own: Sequence[int], donated: Sequence[int]) -> None:
    for k in donated:
        if own.count(own[k]) > 1:
            other = next(j for j, handle in enumerate(own) if handle == own[k] and j != k)
            both = other in donated
            what = "donate the same buffer twice" if both else "use and donate the same buffer"
            message = f"Attempt to {what} in Execute() (arguments {other} and {k})"
            raise PjrtError(ErrorCode.INVALID_ARGUMENT, message)


def _not_donated(args: s.LoadedExecutableExecute) -> tuple[int, ...]:
    options = ExecuteOptions.from_address(args.options)
    numbers, count = options.non_donatable_input_indices, options.num_non_donatable_input_indices
    return read_numbers(numbers, count)


def _give(args: s.LoadedExecutableExecute, made: Sequence[int], outputs: int) -> None:
    """Write the handles of results where the caller wants them."""
    lists = read_numbers(args.output_lists, args.num_devices, ctypes.c_size_t)
    for device, address in enumerate(lists):
        own = made[device * outputs : (device + 1) * outputs]
        (ctypes.c_size_t * outputs).from_address(address)[:] = own
    if args.device_complete_events:
        events = (ctypes.c_size_t * args.num_devices).from_address(args.device_complete_events)
        events[:] = [ready_event()] * args.num_devices


# ---------------------------------------------------------------------------------- questions


@answers("PJRT_Executable_Name")
def name(args: s.Text) -> None:
    """The name of the module."""
    args.text, args.text_size = text(loaded(args.of).program.module.name)


@answers("PJRT_Executable_Fingerprint", "PJRT_LoadedExecutable_Fingerprint")
def fingerprint(args: s.Text) -> None:
    """A number that other programs do not have."""
    args.text, args.text_size = text(loaded(args.of).program.fingerprint)


@answers("PJRT_LoadedExecutable_AddressableDevices")
def addressable_devices(args: s.LoadedExecutableAddressableDevices) -> None:
    """The devices that run it."""
    self = loaded(args.executable)
    handles = numbers_array([device.handle for device in self.local])
    args.addressable_devices = self.keep(handles)
    args.num_addressable_devices = len(self.local)


@answers("PJRT_LoadedExecutable_AddressableDeviceLogicalIds")
def logical_ids(args: s.LoadedExecutableAddressableDeviceLogicalIds) -> None:
    """The replica and the partition of each device."""
    self = loaded(args.executable)
    partitions = self.program.options.num_partitions
    places = [k for k, device in enumerate(self.devices) if device in self.local]
    pairs = [n for k in places for n in divmod(k, partitions)]
    args.addressable_device_logical_ids = self.keep(numbers_array(pairs, ctypes.c_int))
    args.num_addressable_device_logical_ids = len(self.local)


@answers("PJRT_LoadedExecutable_GetDeviceAssignment")
def device_assignment(args: s.ExecutableBytes) -> None:
    """The devices by replica and partition, as a DeviceAssignmentProto."""
    self = loaded(args.executable)
    _give_bytes(args, self.program.options.assignment([d.number for d in self.devices]))


@answers("PJRT_Executable_GetCompileOptions")
def compile_options(args: s.ExecutableBytes) -> None:
    """The options with which it was compiled, as they came."""
    _give_bytes(args, loaded(args.executable).program.options.serialized)


@answers("PJRT_Executable_Serialize")
def serialize(args: s.ExecutableBytes) -> None:
    """The program and its options: whoever loads them compiles again, or finds the C compiled."""
    _give_bytes(args, serialized(loaded(args.executable).program))


@answers("PJRT_Executable_DeserializeAndLoad")
def deserialize(args: s.ExecutableDeserializeAndLoad) -> None:
    """Make an executable of the bytes that `serialize` gave."""
    content = ctypes.string_at(args.serialized_executable, args.serialized_executable_size)
    overridden: bytes | None = None
    if args.overridden_serialized_compile_options:
        size = args.overridden_serialized_compile_options_size
        overridden = ctypes.string_at(args.overridden_serialized_compile_options, size)
    args.loaded_executable = Loaded(deserialized(content, overridden)).handle


def _give_bytes(args: s.ExecutableBytes, content: bytes) -> None:
    """Give bytes that live as long as the executable."""
    kept = ctypes.create_string_buffer(content, max(len(content), 1))
    args.serialized_bytes = loaded(args.executable).keep(kept)
    args.serialized_bytes_size = len(content)
    args.owner, args.owner_deleter = 0, no_deleter()


@answers("PJRT_Executable_OutputElementTypes")
def output_element_types(args: s.ExecutableOutputElementTypes) -> None:
    """The element types of the results."""
    self = loaded(args.executable)
    results = self.program.results
    args.output_types = self.keep(numbers_array([r.type_number for r in results], ctypes.c_int))
    args.num_output_types = len(results)


@answers("PJRT_Executable_OutputDimensions")
def output_dimensions(args: s.ExecutableOutputDimensions) -> None:
    """The dimensions of the results, one after the other."""
    self = loaded(args.executable)
    results = self.program.results
    dims = [n for result in results for n in result.dims]
    args.num_outputs, args.dims = len(results), self.keep(numbers_array(dims, ctypes.c_int64))
    args.dim_sizes = self.keep(numbers_array([len(result.dims) for result in results]))


@answers("PJRT_Executable_OutputMemoryKinds")
def output_memory_kinds(args: s.ExecutableOutputMemoryKinds) -> None:
    """The kind of memory of each result."""
    self = loaded(args.executable)
    kinds = [text(kind) for kind in self.kinds]
    args.num_outputs = len(kinds)
    args.memory_kinds = self.keep(numbers_array([address for address, _ in kinds]))
    args.memory_kind_sizes = self.keep(numbers_array([length for _, length in kinds]))


@answers("PJRT_Executable_OptimizedProgram")
def optimized_program(args: s.ExecutableOptimizedProgram) -> None:
    """The program as HLO. Asked twice: without memory for the code, only for its size."""
    given = PjrtProgram.from_address(args.program)
    proto = loaded(args.executable).proto()
    given.format, given.format_size = text("hlo_with_config")
    if given.code:
        ctypes.memmove(given.code, proto, min(len(proto), given.code_size))
    given.code_size = len(proto)
