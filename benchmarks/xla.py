"""XLA itself, through jaxlib: an HLO text compiled for the CPU or a GPU, and run."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import jax
from jax._src.lib import _jax
from jaxlib import _hlo
from jaxlib.cpu import _lapack

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


# Without it, custom calls of LAPACK jump to address 0.
_lapack.initialize()


class Compiled:
    """A module that XLA has compiled.

    Parameters
    ----------
    platform : as JAX names it, "cpu" or "cuda".

    Attributes
    ----------
    seconds, cpu_seconds : that compiling took, from its own form of the module on.
    executable : jaxlib's, with its analyses.
    """

    def __init__(self, text: str, platform: str = "cpu") -> None:
        module = _hlo.hlo_module_from_text(text)
        computation = _hlo.XlaComputation(module.as_serialized_hlo_module_proto())
        program = _jax.mlir.xla_computation_to_mlir_module(computation)
        devices = jax.devices(platform)[:1]
        self._device = devices[0]
        listed = _jax.DeviceList(tuple(devices))
        wall, cpu = time.perf_counter(), time.process_time()
        self.executable: Any = devices[0].client.compile_and_load(program, listed)
        self.seconds, self.cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
        self._last: list[Any] = []

    def on(self, arguments: Sequence[Any]) -> Callable[[], list[Any]]:
        """A function without arguments that runs it, on arrays that XLA has already."""
        ask = self.asked(arguments)
        return lambda: jax.block_until_ready(ask())

    def asked(self, arguments: Sequence[Any]) -> Callable[[], list[Any]]:
        """The same, but nothing waits for the results, which may still be computed."""
        with jax.enable_x64(True):
            there = [jax.device_put(a, self._device) for a in jax.tree.leaves(list(arguments))]
        execute = self.executable.execute

        def ask() -> list[Any]:
            self._last = execute(there)
            return self._last

        return ask

    def wait(self) -> None:
        """Wait for the results of the latest call."""
        jax.block_until_ready(self._last)
