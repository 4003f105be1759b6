"""The time of an instruction on a GPU, and the part of the GPU that it keeps busy: a model."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.opcode import DONE, HOST
from optimizer.analysis.cost import FREE, Cost, cost, operations

if TYPE_CHECKING:
    from hlo.instruction import Instruction

NOTHING = Cost()
COMPUTE, NETWORK, COPY = "compute", "network", "copy"


@dataclass(frozen=True, slots=True)
class DeviceRates:
    """Rates of a device.

    Attributes
    ----------
    flops : floating-point operations a second.
    transcendentals : of those, a second.
    memory : bytes a second between memory and processors.
    network : bytes a second between devices.
    copies : bytes a second between device and host.
    launch : seconds until a kernel runs.
    message : seconds until the first byte of a transfer arrives.
    full : bytes of a kernel that fills the device, so that no other runs beside it.

    name : as people say it.
    architecture : as NVIDIA's compilers name it.
    multiprocessors : how many there are.
    matrix : operations a second on matrices of bf16.

    References
    ----------
    NVIDIA's data sheets, without sparsity: A100 80GB SXM, H100 SXM, H200 SXM, HGX B200 (an eighth
    of its eight GPUs); *CUDA C++ Programming Guide*, Throughput of Native Arithmetic Instructions,
    for transcendental operations, of H100 and later 16 a clock and multiprocessor. The times are
    XLA's, `kKernelLaunchOverhead` of `xla/service/gpu/model/gpu_performance_model_base.h`.
    """

    flops: float = 19.5e12
    transcendentals: float = 4.9e12
    memory: float = 2.0e12
    network: float = 300e9
    copies: float = 25e9
    launch: float = 1e-6
    message: float = 5e-6
    full: int = 1 << 20
    name: str = "A100"
    architecture: str = "sm_80"
    multiprocessors: int = 108
    matrix: float = 312e12

    def roofline(
        self, moved: int, spent: Cost = NOTHING, rate: float = math.inf
    ) -> tuple[Cost, float, str]:
        """The least time of some bytes and operations.

        Parameters
        ----------
        moved : bytes from and to memory.
        rate : operations a second.

        Returns
        -------
        tuple
            the operations, the seconds, and the resource that these are spent on: "memory",
            "arithmetic" or "launch".
        """
        work = max(spent.flops / rate, spent.transcendentals / self.transcendentals)
        memory = moved / self.memory
        bound = "memory" if memory >= work else "arithmetic"
        if max(work, memory) < self.launch:
            bound = "launch"
        return spent, self.launch + max(work, memory), bound


A100 = DeviceRates()
H100 = DeviceRates(67e12, 4.2e12, 3.35e12, 450e9, 64e9, name="H100", architecture="sm_90",
              multiprocessors=132, matrix=989e12)  # fmt: skip
H200 = replace(H100, memory=4.8e12, name="H200")
B200 = DeviceRates(75e12, 4.7e12, 8.0e12, 900e9, 64e9, name="B200", architecture="sm_100",
              multiprocessors=148, matrix=2250e12)  # fmt: skip
DEVICES = {device.name: device for device in (A100, H100, H200, B200)}


def rates_of(name: str) -> DeviceRates:
    """A device of the table, by its name or its architecture.

    Raises
    ------
    HloError
        HLO204 if there is none.
    """
    for device in DEVICES.values():
        if name.lower() in (device.name.lower(), device.architecture):
            return device
    names = ", ".join(f"{d.name} ({d.architecture})" for d in DEVICES.values())
    raise HloError(
        "HLO204", f"there is no GPU {name!r} in the table", notes=[f"there are: {names}"]
    )


# What waits for a copy takes no time of its own.
_COPIES = HOST - DONE | {"copy-start"}


# Instructions that kernels of ours take for a transcendental function of f32, about; those of f64
# among them count twice. None is the hardware's own, which is less precise than XLA's.
_INSTRUCTIONS = {
    "atan2": 80,
    "cosine": 100,
    "logistic": 40,
    "power": 200,
    "sine": 100,
    "tan": 200,
    "tanh": 50,
}
_USUAL = 30


def arithmetic_seconds(instr: Instruction, device: DeviceRates) -> float:
    """About how long a device computes an instruction in a kernel, without a look at memory.

    An elementwise operation is half as fast as the products and sums that data sheets count.
    """
    flops, hard = operations(instr)
    slow = hard * _INSTRUCTIONS.get(instr.opcode, _USUAL)
    return flops / device.flops + slow * 2 / device.flops


def runs(instr: Instruction) -> bool:
    """Whether an instruction takes time of its own."""
    return instr.opcode not in FREE and instr.opcode not in DONE and instr.opcode != "reshape"


def lane(instr: Instruction) -> str:
    """The part of the device that an instruction keeps busy."""
    inner = _inner(instr)
    if "collective" in inner.row.traits:
        return NETWORK
    if inner.opcode in _COPIES:
        return COPY
    return COMPUTE


def seconds(instr: Instruction, device: DeviceRates) -> float:
    """An estimate of an instruction's time: the longer of its arithmetic and its memory traffic."""
    if not runs(instr):
        return 0.0
    inner = _inner(instr)
    moved = sum(leaf.bytes for _, leaf in inner.shape.leaves())
    where = lane(instr)
    if where == NETWORK:
        return device.message + moved / device.network
    if where == COPY:
        return device.message + moved / device.copies
    spent = cost(inner)
    work = max(
        spent.flops / device.flops,
        spent.transcendentals / device.transcendentals,
        spent.bytes_accessed / device.memory,
    )
    return device.launch + work


def _inner(instr: Instruction) -> Instruction:
    """The instruction that an async-start starts; any other instruction itself."""
    return instr.called[0].root if instr.opcode == "async-start" else instr
