"""The tables of the ABI, against the header's sizes and against what jaxlib really sends."""

import ctypes
from typing import Any

import numpy as np
import pytest

from hlo_jax.abi import structs
from hlo_jax.abi.functions import FUNCTIONS, LAYOUT_FUNCTIONS
from hlo_jax.abi.members import Address, Args, Bool, Int, declaration, size, sizes, struct
from hlo_jax.plugin import table
from hlo_jax.shim import records

# PJRT_..._Args_STRUCT_SIZE in the header of version 0.114.
HEADER = {
    "PJRT_Error_Destroy": 24,
    "PJRT_Error_Message": 40,
    "PJRT_Error_GetCode": 28,
    "PJRT_Error_ForEachPayload": 40,
    "PJRT_Plugin_Initialize": 16,
    "PJRT_Plugin_Attributes": 32,
    "PJRT_Event_IsReady": 25,
    "PJRT_Event_OnReady": 40,
    "PJRT_Client_Create": 88,
    "PJRT_Client_PlatformName": 40,
    "PJRT_Client_ProcessIndex": 28,
    "PJRT_Client_Devices": 40,
    "PJRT_Client_LookupDevice": 40,
    "PJRT_Client_Compile": 56,
    "PJRT_Client_DefaultDeviceAssignment": 48,
    "PJRT_Client_BufferFromHostBuffer": 120,
    "PJRT_Client_CreateViewOfDeviceBuffer": 112,
    "PJRT_Client_CreateUninitializedBuffer": 80,
    "PJRT_Device_IsAddressable": 25,
    "PJRT_Device_MemoryStats": 201,
    "PJRT_Device_GetAttributes": 56,
    "PJRT_Memory_Kind_Id": 28,
    "PJRT_Executable_GetCostAnalysis": 40,
    "PJRT_Executable_GetCompiledMemoryStats": 144,
    "PJRT_Executable_OutputMemoryKinds": 48,
    "PJRT_Executable_OutputElementTypes": 40,
    "PJRT_Executable_OutputDimensions": 48,
    "PJRT_Executable_Serialize": 56,
    "PJRT_LoadedExecutable_Execute": 80,
    "PJRT_LoadedExecutable_GetDeviceAssignment": 56,
    "PJRT_Buffer_ElementType": 28,
    "PJRT_Buffer_Dimensions": 40,
    "PJRT_Buffer_GetMemoryLayout": 104,
    "PJRT_Buffer_ToHostBuffer": 56,
    "PJRT_Buffer_CopyRawToHost": 56,
    "PJRT_Buffer_UnsafePointer": 32,
    "PJRT_Client_CreateBuffersForAsyncHostToDevice": 72,
    "PJRT_AsyncHostToDeviceTransferManager_TransferData": 72,
    "PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer": 40,
    "PJRT_AsyncHostToDeviceTransferManager_SetBufferError": 48,
}


def test_there_are_all_functions_of_the_header() -> None:
    assert len(FUNCTIONS) == 138
    names = list(FUNCTIONS)
    assert names[0] == "PJRT_Error_Destroy"
    assert names[55] == "PJRT_LoadedExecutable_Execute"
    assert names[137] == "PJRT_TopologyDescription_GetMemorySpaceKindIds"


@pytest.mark.parametrize("name", HEADER)
def test_structs_have_the_sizes_of_the_header(name: str) -> None:
    found = FUNCTIONS[name]
    assert found is not None
    assert size(found) == HEADER[name]


def test_the_struct_of_a_layout_has_the_size_of_the_header() -> None:
    assert size(structs.MemoryLayout) == 76
    assert size(structs.NamedValue) == 56
    assert size(structs.PjrtProgram) == 48


def test_a_struct_is_both_python_and_c() -> None:
    @struct
    class Sample(Args):
        """Three members."""

        buffer: Address
        is_there: Bool
        count: Int

    assert sizes(Sample) == [8, 16, 24, 25, 32]
    assert declaration(Sample, "PJRT_Sample_Args") == (
        "typedef struct {\n"
        "  size_t struct_size;\n"
        "  void *extension_start;\n"
        "  void *buffer;\n"
        "  bool is_there;\n"
        "  int count;\n"
        "} PJRT_Sample_Args;\n"
    )
    with pytest.raises(AttributeError):
        Sample().bufer = 1  # type: ignore[attr-defined]


def test_an_older_caller_is_answered_within_its_struct() -> None:
    """Its struct ends where the newer members begin, so nothing is written there."""
    given = structs.BufferDimensions(struct_size=32, buffer=7, num_dims=99)

    def answer(args: structs.BufferDimensions) -> None:
        assert args.buffer == 7
        args.dims, args.num_dims = 5, 3

    assert table.call(structs.BufferDimensions, answer, ctypes.addressof(given)) == table.DONE
    assert (given.dims, given.num_dims) == (5, 99)


def test_a_caller_whose_struct_is_another_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "CALLERS", {})
    given = structs.BufferDimensions(struct_size=29)

    def answer(args: structs.BufferDimensions) -> None:
        raise AssertionError(args)

    error = records.ErrorRecord.from_address(
        table.call(structs.BufferDimensions, answer, ctypes.addressof(given))
    )
    text = ctypes.string_at(ctypes.addressof(error) + ctypes.sizeof(error), error.length).decode()
    assert text == (
        "PJRT is not as PyHLO knows it: its BufferDimensions ends after 29 bytes, inside a member"
    )


def test_every_function_that_is_answered_has_a_struct(jax: Any) -> None:
    jax.devices()
    known = FUNCTIONS | LAYOUT_FUNCTIONS
    # The shim asks for one more thing: the exception of a call of compiled code that failed.
    assert [name for name in table.ANSWERS if known.get(name) is None] == ["raised"]


def test_jaxlib_sends_structs_of_the_sizes_in_the_tables(jax: Any) -> None:
    """A member that is missing in the table, or one too many, shows as a size in between."""
    turned = np.arange(6, dtype=np.int32)[::-1]  # strides, so that Python is asked, and not C
    jax.jit(lambda x: x * 2)(jax.device_put(turned)).block_until_ready()
    seen = {made.__name__: (n, sizes(made)) for made, n in table.CALLERS.items()}
    assert {"ClientCompile", "ClientBufferFromHostBuffer"} <= seen.keys()
    wrong = {name: n for name, (n, known) in seen.items() if n < known[-1] and n not in known}
    assert wrong == {}
