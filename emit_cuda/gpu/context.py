"""A GPU's context, with all in it that has to be given back before the process ends."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from threading import local
from typing import Any

from emit_cuda.gpu.staging import Staging

# A flag of a stream.
_NON_BLOCKING = 1


class _Entered(local):
    """The contexts that a thread has entered by `with`, the current one last."""

    def __init__(self) -> None:
        self.contexts: list[Any] = []


_entered = _Entered()


class Current:
    """Enters a context inside of a `with`; a thread that is in the context already pays nothing.

    Parameters
    ----------
    context : PyCUDA's.
    """

    __slots__ = ("_context",)

    def __init__(self, context: Any) -> None:
        self._context = context

    def __enter__(self) -> None:
        contexts = _entered.contexts
        if not contexts or contexts[-1] is not self._context:
            self._context.push()
        contexts.append(self._context)

    def __exit__(self, *_: object) -> None:
        contexts = _entered.contexts
        contexts.pop()
        if not contexts or contexts[-1] is not self._context:
            self._context.pop()


class Context:
    """The primary context of a GPU, which cuBLAS, JAX and CuPy use too.

    Parameters
    ----------
    driver : PyCUDA's.
    gpu : PyCUDA's device.

    Attributes
    ----------
    current : for a `with`, in which the context is this thread's; several threads and several GPUs
        may do so.
    streams : PyCUDA's, by number.
    pool : of the GPU's memory.
    allocated : memory taken out of the pool, by address.
    """

    def __init__(self, driver: Any, gpu: Any) -> None:
        self._driver, self._context = driver, gpu.retain_primary_context()
        self.current = Current(self._context)
        tools = import_module("pycuda.tools")
        with self.current:
            self.streams = [self.new_stream()]
            self.pool = tools.DeviceMemoryPool()
            self._page_locked = tools.PageLockedMemoryPool()
            self.staging = Staging(driver, self._page_locked)
        self.allocated: dict[int, Any] = {}

    def new_stream(self) -> Any:
        """A stream that does not wait for the one that all libraries share."""
        return self._driver.Stream(_NON_BLOCKING)

    def synchronize(self) -> None:
        """Wait for all work that the GPU was given; the context is this thread's."""
        self._context.synchronize()
        self.staging.forget()

    def close(self) -> None:
        """Give memory and the context back; PyCUDA wants that before the process ends."""
        with self.current:
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
