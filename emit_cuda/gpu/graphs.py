"""Parts of the driver that PyCUDA leaves out, by ctypes: graphs, streams of other libraries.

A launch costs some microseconds of the processor; of a small kernel that is more than the GPU
takes. A graph costs them once for all of its launches.

References
----------
NVIDIA, *CUDA Driver API*, Graph Management and Stream Management.
"""

from __future__ import annotations

import ctypes
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from hlo.errors.error import HloError

if TYPE_CHECKING:
    from collections.abc import Generator

# Other threads may use the driver as they like while one records.
RELAXED = 2


@cache
def driver() -> ctypes.CDLL:
    """The driver that PyCUDA has loaded already."""
    return ctypes.CDLL("libcuda.so.1")


def call(function: str, *arguments: object) -> None:
    """Call a function of the driver.

    Raises
    ------
    HloError
        HLO192 if it gives a status.
    """
    check(function, getattr(driver(), function)(*arguments))


def check(function: str, status: int) -> None:
    """Raise an error if a function of the driver has given a status."""
    if status:
        raise HloError("HLO192", f"the driver's {function} gives status {status}")


class DriverGraph:
    """Launches and copies that were recorded; empty until the recording ends.

    Attributes
    ----------
    kernels : the names of those that it launches, for messages.
    graph : the driver's handle.
    """

    def __init__(self) -> None:
        self.kernels: list[str] = []
        self.graph = ctypes.c_void_p()
        self._executable = ctypes.c_void_p()

    def instantiate(self) -> None:
        """Make a recording ready to be launched."""
        executable = ctypes.byref(self._executable)
        call("cuGraphInstantiateWithFlags", executable, self.graph, ctypes.c_ulonglong(0))

    def launch(self, stream: int) -> None:
        """Let all of it run on a stream.

        Raises
        ------
        HloError
            HLO192 if nothing was recorded, or the driver reports an error.
        """
        if not self._executable:
            raise HloError("HLO192", "a graph is launched before its recording has ended")
        call("cuGraphLaunch", self._executable, ctypes.c_void_p(stream))

    def close(self) -> None:
        """Give the driver's objects back."""
        if self._executable:
            call("cuGraphExecDestroy", self._executable)
        if self.graph:
            call("cuGraphDestroy", self.graph)
        self._executable, self.graph = ctypes.c_void_p(), ctypes.c_void_p()


@contextmanager
def capturing(handle: int, graph: DriverGraph) -> Generator[None]:
    """Record the work of a stream inside of a `with`, and of streams that wait for it there.

    Raises
    ------
    HloError
        HLO192 if something inside can't be recorded.
    """
    stream = ctypes.c_void_p(handle)
    call("cuStreamBeginCapture_v2", stream, ctypes.c_int(RELAXED))
    try:
        try:
            yield
        finally:
            # Even if the recording is of no use, the stream must not go on with it.
            status = driver().cuStreamEndCapture(stream, ctypes.byref(graph.graph))
        check("cuStreamEndCapture", status)
        graph.instantiate()
    except BaseException:
        graph.close()
        raise


def let_wait(before: int, after: int) -> None:
    """Let later work of a stream wait for all earlier work of another.

    Parameters
    ----------
    before, after : handles of streams, of which other libraries may own one.

    Raises
    ------
    HloError
        HLO192 if the driver reports an error.
    """
    event = ctypes.c_void_p()
    without_times = 2
    call("cuEventCreate", ctypes.byref(event), ctypes.c_uint(without_times))
    try:
        call("cuEventRecord", event, ctypes.c_void_p(before))
        call("cuStreamWaitEvent", ctypes.c_void_p(after), event, ctypes.c_uint(0))
    finally:
        # The driver keeps the event until whoever waits for it went on.
        call("cuEventDestroy_v2", event)


def ordinal_of(address: int) -> int:
    """The number of the GPU in whose memory an address is; -1 for other memory."""
    ordinal, device_ordinal = ctypes.c_int(-1), 9
    query = ctypes.byref(ordinal), ctypes.c_int(device_ordinal), ctypes.c_ulonglong(address)
    status = driver().cuPointerGetAttribute(*query)
    return -1 if status else ordinal.value
