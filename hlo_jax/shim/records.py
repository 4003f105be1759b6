"""The structs behind the handles of PJRT, which Python and the shim share.

A `PJRT_Buffer*` is for JAX no more than a number. For PyHLO it is the address of a `BufferRecord`,
which lives in C's memory, because buffers are made, asked and freed at every call, on any thread,
and even when Python is already gone. Python reads one with `BufferRecord.from_address(handle)`; the
shim calls it a `Buffer`, and so with the others.
"""

from hlo_jax.abi.members import Address, Args, Bool, CStruct, Int, Int64, Size, struct

# fmt: off

@struct
class ErrorRecord(CStruct):
    """A PJRT_Error; its text comes after it."""

    code: Int
    length: Size


@struct
class EventRecord(CStruct):
    """A PJRT_Event: of a result that is being computed, or of memory of the host."""

    references: Int
    is_ready: Bool
    error: Address        # an Error, which it owns, or 0
    listeners: Address    # a list of functions to be called
    task: Address         # the call that it is of, until that is done


@struct
class DeviceRecord(CStruct):
    """A PJRT_Device, and its description too: how much memory its buffers take."""

    id: Int
    bytes: Int64          # in use
    peak: Int64           # the most that were in use at a time
    allocations: Int64
    largest: Int64        # bytes of the largest allocation
    memory: Address       # its default Memory


@struct
class MemoryRecord(CStruct):
    """A PJRT_Memory: one of the memories of a device."""

    id: Int
    kind: Address         # the name of its kind
    kind_length: Size
    device: Address       # the Device that has it


@struct
class BufferRecord(CStruct):
    """A PJRT_Buffer: an array, in memory of its own or in somebody else's."""

    data: Address
    bytes: Size
    type: Int             # PJRT_Buffer_Type
    rank: Size
    dims: Address         # int64[rank]
    minor_to_major: Address  # int64[rank]
    device: Address
    memory: Address
    references: Int       # PJRT_Buffer_Destroy and DecreaseExternalReferenceCount let go of one
    uses: Int             # by calls that read or write it
    deleted: Int          # its value is gone: deleted, or donated
    on_delete: Address    # the memory is somebody else's, who is told with this function
    on_delete_arg: Address
    event: Address        # of its value; 0 if that is there already
    pending: Int          # 1 while a call writes it: one of the uses


@struct
class LayoutRecord(CStruct):
    """A PJRT_Layouts_MemoryLayout; its text comes after it."""

    length: Size


@struct
class OutputRecord(CStruct):
    """A result of an executable, before there is one."""

    type: Int
    rank: Size
    dims: Address
    minor_to_major: Address
    bytes: Size
    donor: Int            # the argument whose memory it may take, or -1


@struct
class InputRecord(CStruct):
    """An argument of an executable."""

    bytes: Size
    donated: Int          # whether an output takes its memory


@struct
class ExecutableRecord(CStruct):
    """A PJRT_LoadedExecutable, and its PJRT_Executable too."""

    next: Address         # in the list of those that died
    references: Int       # of JAX: each of the two handles
    deleted: Int
    run: Address          # int(const void* const* in, void* const* out, void* arena); 0: ask Python
    together: Address     # hlo_run_devices, and the plan that it takes; 0: call `run` itself
    plan: Address
    wire: Address         # to other processes: `together` is hlo_run_process then; or 0
    program: Int64        # the number by which these know it
    here: Size            # devices of this process
    arena_bytes: Size
    arena: Address        # an arena that nobody uses now, with a call's lists after it, or 0
    input_count: Size
    inputs: Address       # Input[input_count]
    output_count: Size
    outputs: Address      # Output[output_count]
    memories: Address     # Memory*[devices][output_count]
    replicas: Size
    partitions: Size
    calls: Int64          # that C answered without Python
    nanoseconds: Int64    # of the last call
    is_python: Int        # Python makes calls that the queue may make, if there is no `run`
    is_short: Int         # calls are known to take little time
    is_large: Int         # the first call asks whether there is enough memory
    has_effects: Int      # calls do more than compute results


@struct
class PythonCallRecord(CStruct):
    """A call in the queue that Python makes, on one device."""

    executable: Address
    given: Address        # Buffer*[input_count]
    ins: Address          # void*[input_count]: their memory, which a buffer may have handed on
    outs: Address         # void*[output_count]: the results' memory
    cancelled: Address    # bool: nobody wants it any more


@struct
class RaisedRecord(Args):
    """A call of compiled code that failed: what Python is to raise for it."""

    executable: Address
    report: Address       # int64[], of several devices (see devices.h); 0: a callback's exception


@struct
class Hooks(CStruct):
    """The hooks that the shim needs of Python, beside the functions that Python answers."""

    item_bytes: Address   # uint8[types]: of an element, by PJRT_Buffer_Type; 0: ask Python
    types: Int
    ensure: Address       # PyGILState_Ensure
    release: Address      # PyGILState_Release
    check: Address        # PyErr_CheckSignals
    clear: Address        # PyErr_Clear
    interrupt: Address    # PyErr_SetInterrupt
    has_lock: Address     # PyGILState_Check
    unlock: Address       # PyEval_SaveThread
    relock: Address       # PyEval_RestoreThread
    question: Address     # int(void): what loops of compiled code asked before the shim


RECORDS = (
    ErrorRecord, EventRecord, DeviceRecord, MemoryRecord, BufferRecord, LayoutRecord, OutputRecord,
    InputRecord, ExecutableRecord, PythonCallRecord, RaisedRecord, Hooks,
)
