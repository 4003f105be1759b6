"""CUDA as an engine: a program for one device as kernels, on a GPU or on the processor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from hlo.errors.error import HloError
from hlo_jax.engines.engine import flat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo_jax.engines.engine import Arrays
    from hlo_jax.programs.program import JaxProgram


class Cuda:
    """A program as kernels of CUDA.

    Arguments are copied to the device at each call, and results back: JAX's buffers lie in the
    host's memory.

    Raises
    ------
    HloError
        As `emit_cuda.compile`; HLO181 if an instruction can't be emitted, HLO194 if there is no
        GPU.
    """

    native = None
    note = ""

    def __init__(self, program: JaxProgram, device: Literal["gpu", "host"]) -> None:
        import emit_cuda  # noqa: PLC0415 - who asks for no CUDA need not wait for it

        if program.num_devices > 1:
            raise HloError("HLO181", "programs of CUDA are for one device")

        self.name = "cuda" if device == "gpu" else "cuda-host"
        self._executable = emit_cuda.compile(program.module, device)
        self.code_bytes = len(self._executable.source)

    def run(self, per_device: Sequence[Arrays]) -> Sequence[Arrays]:
        """Call the program."""
        (arguments,) = per_device
        return [flat(self._executable(*arguments))]
