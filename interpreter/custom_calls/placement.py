"""Custom calls that say where a value is to be; the value stays as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hlo.infer.checks import compatible, show
from hlo.types.element_type import BUFFER, S32
from interpreter.custom_calls.registry import custom_call
from interpreter.custom_calls.signatures import checked

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape
    from interpreter.custom_calls.signatures import Options
    from interpreter.engine.frame import Frame
    from interpreter.table import Value

# fmt: off
_IDENTITIES = (
    "Sharding", "ShardBarrierFrom", "ShardBarrierTo", "LayoutConstraint",
    "annotate_device_placement", "MoveToHost", "MoveToDevice", "PinToDevice", "PinToDeviceSram",
    "Pin", "Unpin", "SetBound", "xla.sdy.FuncResultSharding", "xla.sdy.PropagationBarrier",
    "mhlo.sharding", "xla.sdy.ShardingGroup", "InspectSharding", "xla.sdy.Sharding",
    "xla_mark_tensor", "AssumeGatherIndicesInBound", "AssumeScatterIndicesInBound",
    "GatherScatterIndicesBitpacked", "AwsNeuronTransferWithStaticRing",
    "AwsNeuronLNCShardingConstraint",
)
# fmt: on


@custom_call(*_IDENTITIES)
def identity(_frame: Frame, instr: Instruction, *operands: Value) -> Value:
    """The operand, or the tuple of operands; or nothing, where the call only tells of them.

    References
    ----------
    `custom_call_target` in XLA's host offloader, sharding propagation and dynamic padder, and in
    `torch_xla.experimental.xla_marker`, which marks where composites begin and end. AWS Neuron's
    `torch_neuronx.xla_impl.custom_call_targets`.
    """
    if instr.shape.is_tuple and not instr.shape.elements:
        return ()
    return operands if instr.shape.is_tuple and len(operands) != 1 else operands[0]


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


# ------------------------------------------------------------------ operands and results


def _handed_on(instr: Instruction) -> list[tuple[Shape, Shape]] | None:
    """Each operand that is handed on with the result that it becomes; None if they do not pair."""
    shapes = [o.shape for o in instr.operands]
    if instr.shape.is_tuple and not instr.shape.elements:
        return []
    if instr.shape.is_tuple and len(shapes) != 1:
        results = instr.shape.elements
        return list(zip(shapes, results, strict=True)) if len(shapes) == len(results) else None
    return [(shapes[0], instr.shape)] if shapes else None


@checked(*_IDENTITIES, note="any operands -> the same, or only the first, or ()")
def check_identity(instr: Instruction, _options: Options | None) -> str:
    """The fault in the shapes of `identity`."""
    pairs = _handed_on(instr)
    if pairs is None:
        return f"gives its operands, not {show(instr.shape)}"
    for operand, result in pairs:
        # A buffer is another name for an array.
        plain = [s.elements[0] if s.element_type is BUFFER else s for s in (operand, result)]
        if not compatible(*plain):
            return f"gives its operand {show(operand)}, not {show(result)}"
    return ""


@checked("AllocateBuffer", "CreateBuffer", note="() -> any array")
def check_allocate(instr: Instruction, _options: Options | None) -> str:
    """The fault in the shapes of `allocate`."""
    right = not instr.operands and not instr.shape.is_tuple
    return "" if right else f"makes no {show(instr.shape)} of {len(instr.operands)} operands"


@checked("SliceToDynamic", note="an array of its bounds, then s32[] for each dimension")
def check_slice_to_dynamic(instr: Instruction, _options: Options | None) -> str:
    """The fault in the shapes of `slice_to_dynamic`."""
    shapes = [o.shape for o in instr.operands]
    if not shapes or not shapes[0].is_array or len(shapes) != 1 + shapes[0].rank:
        return "takes an array and the size of each of its dimensions"
    if any(not s.is_array or s.rank or not s.element_type.is_integer for s in shapes[1:]):
        return "takes sizes that are integers"
    right = instr.shape.dims == shapes[0].dims
    right = right and instr.shape.element_type is shapes[0].element_type
    return "" if right else f"makes no {show(instr.shape)} of {show(shapes[0])}"


@checked("PadToStatic", note="an array -> an array of its bounds, then s32[] for each dimension")
def check_pad_to_static(instr: Instruction, _options: Options | None) -> str:
    """The fault in the shapes of `pad_to_static`."""
    match [o.shape for o in instr.operands], instr.shape.elements:
        case [shape], (padded, *sizes) if (
            shape.is_array
            and compatible(shape, padded)
            and len(sizes) == shape.rank
            and all(s.element_type is S32 and not s.rank for s in sizes)
        ):
            return ""
        case _:
            return f"does not give {show(instr.shape)}"


@checked("dce_sink", note="any operands -> ()")
def check_sink(instr: Instruction, _options: Options | None) -> str:
    """The fault in the result of `sink`."""
    empty = instr.shape.is_tuple and not instr.shape.elements
    return "" if empty else f"gives nothing, not {show(instr.shape)}"
