"""A GPU's context, with all in it that has to be given back before the process ends."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from emit_cuda.gpu.staging import Staging

if TYPE_CHECKING:
    from collections.abc import Generator

# A flag of a stream.
_NON_BLOCKING = 1


class Context:
    """The primary context of a GPU, which cuBLAS, JAX and CuPy use too.

    Parameters
    ----------
    driver : PyCUDA's.
    gpu : PyCUDA's device.

    Attributes
    ----------
    streams : PyCUDA's, by number.
    pool : of the GPU's memory.
    allocated : memory taken out of the pool, by address.
    """

    def __init__(self, driver: Any, gpu: Any) -> None:
        self._driver, self._context = driver, gpu.retain_primary_context()
        tools = import_module("pycuda.tools")
        with self.current():
            self.streams = [self.new_stream()]
            self.pool = tools.DeviceMemoryPool()
            self._page_locked = tools.PageLockedMemoryPool()
            self.staging = Staging(driver, self._page_locked)
        self.allocated: dict[int, Any] = {}

    @contextmanager
    def current(self) -> Generator[None]:
        """Make the context this thread's; several threads and several GPUs may do so."""
        self._context.push()
        try:
            yield
        finally:
            self._context.pop()

    def new_stream(self) -> Any:
        """A stream that does not wait for the one that all libraries share."""
        return self._driver.Stream(_NON_BLOCKING)

    def synchronize(self) -> None:
        """Wait for all that was asked for; the context is this thread's."""
        self._context.synchronize()
        self.staging.forget()

    def close(self) -> None:
        """Give memory and the context back; PyCUDA wants that before the process ends."""
        with self.current():
            with suppress(self._driver.Error):  # of a kernel that failed, and was told before
                self._context.synchronize()
            self.staging.forget()
            for memory in self.allocated.values():
                memory.free()
            self.allocated.clear()
            self.pool.stop_holding()
            self._page_locked.stop_holding()
            self.streams.clear()
            del self.pool, self._page_locked, self.staging
        self._context.detach()
