"""Buffers that are filled piece by piece, as those that come from another process."""

import ctypes
from typing import Any

import numpy as np
import pytest

from hlo_jax.abi import structs
from hlo_jax.abi.numbers import ErrorCode
from hlo_jax.plugin.arrays import array_of
from hlo_jax.plugin.buffers import to_be_filled
from hlo_jax.plugin.client import client
from hlo_jax.plugin.errors import PassedOnError
from hlo_jax.shim import records, shim

pytestmark = pytest.mark.usefixtures("jax")
S32, PREFIX = 4, "PJRT_AsyncHostToDeviceTransferManager"


class Transfers:
    """Vectors of s32 that are to be filled."""

    def __init__(self, *sizes: int) -> None:
        dims = [ctypes.c_int64(size) for size in sizes]
        specs = (structs.ShapeSpec * len(sizes))()
        for spec, size in zip(specs, dims, strict=True):
            spec.dims, spec.num_dims, spec.element_type = ctypes.addressof(size), 1, S32
        args = structs.ClientCreateBuffersForAsyncHostToDevice()
        args.shape_specs, args.num_shape_specs = ctypes.addressof(specs), len(sizes)
        args.memory = next(iter(client().memories))
        to_be_filled(args)
        self.handle = args.transfer_manager

    def call(self, name: str, args: Any, **given: int) -> Any:
        """Call a function of the shim; gives its arguments, or raises its error."""
        args.transfer_manager = self.handle
        for key, value in given.items():
            setattr(args, key, value)
        function = getattr(shim(), f"{PREFIX}_{name}")
        function.restype = ctypes.c_size_t
        if error := function(ctypes.byref(args)):
            raise PassedOnError(error)
        return args

    def retrieve(self, index: int) -> int:
        args = structs.TransfersRetrieveBuffer()
        return self.call("RetrieveBuffer", args, buffer_index=index).buffer_out

    def send(self, index: int, at: int, numbers: list[int], *, last: bool) -> None:
        data = np.array(numbers, np.int32)
        self.call(
            "TransferData", structs.TransfersTransferData(), buffer_index=index,
            data=data.ctypes.data, offset=4 * at, transfer_size=data.nbytes, is_last_transfer=last,
        )  # fmt: skip

    def give_up(self, index: int, message: bytes) -> None:
        text = ctypes.create_string_buffer(message)
        self.call(
            "SetBufferError", structs.TransfersSetBufferError(), buffer_index=index,
            error_code=ErrorCode.ABORTED, error_message=ctypes.addressof(text),
            error_message_size=len(message),
        )  # fmt: skip

    def destroy(self) -> None:
        self.call("Destroy", structs.TransfersDestroy())


def is_there(buffer: int) -> bool:
    event = records.BufferRecord.from_address(buffer).event
    return records.EventRecord.from_address(event).is_ready


def test_a_buffer_is_there_with_its_last_piece() -> None:
    transfers = Transfers(4, 3)
    count = transfers.call("BufferCount", structs.TransfersBufferCount()).buffer_count
    size = transfers.call("BufferSize", structs.TransfersBufferSize(), buffer_index=1).buffer_size
    assert (count, size) == (2, 12)
    first = transfers.retrieve(0)
    transfers.send(0, 2, [7, 8], last=False)
    assert not is_there(first)
    transfers.send(0, 0, [5, 6], last=True)
    assert array_of(first).tolist() == [5, 6, 7, 8]
    transfers.send(1, 0, [1, 2, 3], last=True)
    second = transfers.retrieve(1)
    transfers.destroy()
    assert array_of(second).tolist() == [1, 2, 3]
    for buffer in (first, second):
        shim().let_go(buffer)


def test_a_buffer_that_is_never_filled_has_an_error() -> None:
    """What the sender says, or that it is gone; who waits for the buffer is told."""
    transfers = Transfers(2, 2, 2)
    told, gone = transfers.retrieve(0), transfers.retrieve(1)
    transfers.give_up(0, b"the wire is cut")
    transfers.destroy()
    for buffer, words in ((told, "the wire is cut"), (gone, "nobody fills the buffer")):
        with pytest.raises(PassedOnError) as caught:
            array_of(buffer)
        error = records.ErrorRecord.from_address(caught.value.handle)
        said = ctypes.string_at(caught.value.handle + ctypes.sizeof(error), error.length)
        assert said.decode() == words
        shim().let_go(buffer)


def test_pieces_that_do_not_fit_are_refused() -> None:
    transfers = Transfers(2)
    for index, at in ((0, 1), (0, -1), (1, 0), (-1, 0)):
        with pytest.raises(PassedOnError):
            transfers.send(index, at, [1, 2], last=True)
    transfers.send(0, 0, [1, 2], last=True)
    with pytest.raises(PassedOnError):
        transfers.send(0, 0, [1, 2], last=True)
    transfers.retrieve(0)
    with pytest.raises(PassedOnError):
        transfers.retrieve(0)
    transfers.destroy()
