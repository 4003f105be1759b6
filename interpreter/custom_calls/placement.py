"""Custom calls that say where a value is to be, and how it is split; the value stays as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hlo.errors.error import HloError
from interpreter.custom_calls.registry import custom_call

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from interpreter.engine.frame import Frame
    from interpreter.table import Value

# What to do with a module that says how it is to be split, but is not.
PARTITION = "evaluate the module that XLA's SPMD partitioner makes of it, with per_device="


@custom_call(
    "Sharding",
    "ShardBarrierFrom",
    "ShardBarrierTo",
    "LayoutConstraint",
    "annotate_device_placement",
)
@custom_call("MoveToHost", "MoveToDevice", "PinToDevice", "PinToDeviceSram", "Pin", "Unpin")
@custom_call("SetBound", "xla.sdy.FuncResultSharding", "xla.sdy.PropagationBarrier")
@custom_call("mhlo.sharding", "xla.sdy.ShardingGroup", "InspectSharding", "xla.sdy.Sharding")
@custom_call("xla_mark_tensor")
def identity(_frame: Frame, instr: Instruction, *operands: Value) -> Value:
    """The operand, or the tuple of operands.

    References
    ----------
    `custom_call_target` in XLA's host offloader, sharding propagation and dynamic padder, and in
    `torch_xla.experimental.xla_marker`, which marks where composites begin and end.
    """
    return operands if instr.shape.is_tuple and len(operands) != 1 else operands[0]


@custom_call("SPMDFullToShardShape", "SPMDShardToFullShape")
@custom_call("xla.sdy.GlobalToLocalShape", "xla.sdy.LocalToGlobalShape")
def reshard(_frame: Frame, instr: Instruction, *operands: Value) -> Value:
    """The operands, where one device holds everything and so a shard is the whole.

    Raises
    ------
    HloError
        HLO122 if shard and whole differ: only a module that is partitioned can be evaluated.

    References
    ----------
    XLA's SPMD partitioner and Shardy's import.
    """
    wanted = instr.shape.elements if instr.shape.is_tuple else (instr.shape,)
    for operand, shape in zip(instr.operands, wanted, strict=True):
        if operand.shape.dims != shape.dims:
            message = (
                f"{instr.name}: {operand.shape.text_without_layout} is split into "
                f"{shape.text_without_layout}, and the module is not partitioned"
            )
            raise HloError("HLO122", message, instr.span, [PARTITION])
    return operands if instr.shape.is_tuple else operands[0]


@custom_call("AllocateBuffer", "CreateBuffer")
def allocate(_frame: Frame, instr: Instruction) -> Value:
    """Zeros in the place of memory that nobody has written yet.

    References
    ----------
    `AllocateBuffer` in XLA's host offloader.
    """
    return np.zeros(instr.shape.dims, instr.shape.element_type.dtype)


@custom_call("SliceToDynamic")
def slice_to_dynamic(
    _frame: Frame, instr: Instruction, operand: np.ndarray, *sizes: np.ndarray
) -> Value:
    """Cut a padded array to run-time sizes, one a dimension.

    References
    ----------
    XLA's dynamic padder.
    """
    del instr
    return operand[tuple(slice(int(size)) for size in sizes)]


@custom_call("PadToStatic")
def pad_to_static(_frame: Frame, instr: Instruction, operand: np.ndarray) -> Value:
    """Pad an array of run-time sizes to its bounds: the padded array, then each size.

    References
    ----------
    XLA's dynamic padder.
    """
    bounds = instr.shape.elements[0].dims
    padding = [(0, bound - size) for bound, size in zip(bounds, operand.shape, strict=True)]
    return np.pad(operand, padding), *(np.array(size, np.int32) for size in operand.shape)


@custom_call("GetRngSeed")
def random_seed(frame: Frame, _instr: Instruction) -> Value:
    """The seed of the module's random numbers, u64 of shape (): always that of a new device.

    References
    ----------
    XLA's GetRngSeed, which reads the seed of the execution.
    """
    return np.array(frame.device.state % 2**64, np.uint64)


@custom_call("dce_sink")
def sink(_frame: Frame, _instr: Instruction, *_operands: Value) -> Value:
    """An empty tuple: the call only keeps its operands from being removed.

    References
    ----------
    `jax.experimental.xla_metadata` and `dce_sink` in JAX.
    """
    return ()
