"""The layouts that contractions want, as a small table for each target.

References
----------
XLA, `xla/service/cpu/cpu_layout_assignment.cc`,
`xla/service/gpu/transforms/layout_assignment.cc`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo import attributes as a
from optimizer.analysis.byte_products import parts, wants_contracted_last
from optimizer.analysis.image_layouts import wants_features_last
from optimizer.layout.orders import rows

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from hlo.types.values import ConvDims
    from optimizer.layout.orders import Order

OPERANDS = ("input", "kernel")


@dataclass(frozen=True, slots=True)
class LayoutPolicy:
    """The layouts that a target's library wants.

    Attributes
    ----------
    columns : whether its matrix product reads matrices by columns as well as by rows.
    contracted_last : whether its product of bytes wants contracted dimensions last.
    spatial_inside : whether its convolutions want spatial dimensions before the last dimension.
    features_first : element types whose convolutions want NCHW, features before the image.
    features_last : element types whose convolutions want NHWC, features innermost.
    """

    columns: bool
    contracted_last: bool = False
    spatial_inside: bool = False
    features_first: frozenset[str] = frozenset()
    features_last: frozenset[str] = frozenset()


CPU = LayoutPolicy(columns=False)
GPU = LayoutPolicy(columns=True, contracted_last=True, spatial_inside=True)
# A GPU whose convolutions are cuDNN's; those of `emit_cuda` read rows.
CUDNN = LayoutPolicy(
    columns=True,
    contracted_last=True,
    features_first=frozenset({"f32", "f64"}),
    features_last=frozenset({"f16", "bf16"}),
)
POLICIES = {"cpu": CPU, "gpu": GPU, "cudnn": CUDNN}


def demanded(
    policy: LayoutPolicy, instr: Instruction, number: int, offered: Order | None
) -> tuple[Order, str]:
    """The order that an instruction which carries none wants of an operand, and the rule.

    Parameters
    ----------
    offered : the order in which the operand could come for free.
    """
    rank = instr.operands[number].shape.rank
    if instr.opcode == "dot" and policy.contracted_last and wants_contracted_last(instr, number):
        return sum(parts(instr, number), ())[::-1], "gemm-contracted-last"
    if instr.opcode == "dot" and policy.columns and offered and _is_matrix(instr, number, offered):
        return offered, "gemm-operand"
    if instr.opcode == "convolution" and number < len(OPERANDS):
        return convolution_order(policy, instr, OPERANDS[number])
    return rows(rank), "row-major"


def yielded(policy: LayoutPolicy, instr: Instruction) -> tuple[Order, str]:
    """The order in which an instruction that carries none leaves its result, and the rule."""
    if instr.opcode == "convolution":
        return convolution_order(policy, instr, "output")
    return rows(instr.shape.rank), "row-major"


def _is_matrix(dot: Instruction, number: int, order: Order) -> bool:
    """Whether an operand is batches of matrices, stored by rows or by columns.

    Batch dimensions come first, in their order; what is contracted and what is left are each in
    one piece.
    """
    batch, left, contracted = parts(dot, number)
    memory = tuple(reversed(order))
    return memory in (batch + left + contracted, batch + contracted + left)


def convolution_order(
    policy: LayoutPolicy, convolution: Instruction, role: str
) -> tuple[Order, str]:
    """The order of an array of a convolution, and the rule.

    Parameters
    ----------
    role : "input", "kernel" or "output".
    """
    labels: ConvDims = a.Convolution.of(convolution).dim_labels
    spatial: tuple[int, ...] = getattr(labels, f"{role}_spatial")
    spatial = (*getattr(labels, f"unknown_{role}"), *spatial)
    if role == "kernel":
        outer, features = labels.kernel_output_feature, labels.kernel_input_feature
    else:
        outer, features = getattr(labels, f"{role}_batch"), getattr(labels, f"{role}_feature")
    element_type = convolution.operands[0].shape.element_type.name
    if policy.spatial_inside and wants_features_last(convolution):
        first, second = sorted((outer, features))
        return (first, *spatial, second)[::-1], "convolution-places-inside"
    if element_type in policy.features_first:
        return (outer, features, *spatial)[::-1], "convolution-nchw"
    if element_type in policy.features_last:
        return (outer, *spatial, features)[::-1], "convolution-nhwc"
    return rows(len(spatial) + 2), "row-major"
