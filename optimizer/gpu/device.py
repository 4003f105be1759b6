"""How long an instruction takes on a GPU, and which part of the GPU it keeps busy: a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from optimizer.analysis.cost import FREE, cost

if TYPE_CHECKING:
    from hlo.instruction import Instruction

# What waits for an instruction that was started takes no time itself.
DONE = frozenset(
    {
        *("all-gather-done", "all-reduce-done", "async-done", "async-update"),
        *("collective-permute-done", "copy-done", "recv-done", "send-done"),
    }
)
STARTS = frozenset(
    {
        *("all-gather-start", "all-reduce-start", "async-start", "collective-permute-start"),
        *("copy-start", "recv", "send"),
    }
)
COMPUTE, NETWORK, COPY = "compute", "network", "copy"


@dataclass(frozen=True, slots=True)
class Device:
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

    References
    ----------
    NVIDIA A100 80GB SXM data sheet; the times are XLA's, `kKernelLaunchOverhead` of
    `xla/service/gpu/model/gpu_performance_model_base.h`.
    """

    flops: float = 19.5e12
    transcendentals: float = 4.9e12
    memory: float = 2.0e12
    network: float = 300e9
    copies: float = 25e9
    launch: float = 1e-6
    message: float = 5e-6
    full: int = 1 << 20


A100 = Device()


def runs(instr: Instruction) -> bool:
    """Whether an instruction takes time of its own."""
    return instr.opcode not in FREE and instr.opcode not in DONE and instr.opcode != "reshape"


def lane(instr: Instruction) -> str:
    """The part of the device that an instruction keeps busy."""
    inner = _inner(instr)
    if "collective" in inner.row.traits:
        return NETWORK
    if inner.opcode in ("copy-start", "infeed", "outfeed", "recv", "send"):
        return COPY
    return COMPUTE


def seconds(instr: Instruction, device: Device) -> float:
    """About how long an instruction runs: the longest of what it computes and what it moves."""
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
    """What an async-start starts; the instruction itself for any other."""
    return instr.called[0].root if instr.opcode == "async-start" else instr
