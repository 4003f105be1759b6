"""The structured values that attributes hold: windows, paddings, slices, dimension labels, aliases.

Each is plain frozen data that compares by value. Reading them from text is `hlo.read.value_text`'s
work, writing them `hlo.write.value_print`'s.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hlo.types.shape import Shape
    from hlo.types.sharding import Sharding


@dataclass(frozen=True, slots=True)
class WindowDim:
    """The movement of a window along one dimension.

    All counts are in elements. `pad_low` and `pad_high` may be negative, which crops. Dilation by
    d puts d - 1 holes between neighbours: of the base (the array) or of the window itself.
    """

    size: int
    stride: int = 1
    pad_low: int = 0
    pad_high: int = 0
    base_dilation: int = 1
    window_dilation: int = 1
    reversal: bool = False

    @property
    def dilated_size(self) -> int:
        """Elements from the window's first to its last, holes included."""
        return (self.size - 1) * self.window_dilation + 1 if self.size > 0 else 0

    def padded_extent(self, n: int) -> int:
        """Elements of a dimension of size n after base dilation and padding."""
        dilated = (n - 1) * self.base_dilation + 1 if n > 0 else 0
        return dilated + self.pad_low + self.pad_high

    def positions(self, n: int) -> int:
        """The number of positions of a window along a dimension of size n: the output's size."""
        extent = self.padded_extent(n)
        return (extent - self.dilated_size) // self.stride + 1 if extent >= self.dilated_size else 0


Window = tuple[WindowDim, ...]


@dataclass(frozen=True, slots=True)
class PaddingDim:
    """Elements added before, after and between those of one dimension; negative ends crop."""

    low: int
    high: int
    interior: int = 0


@dataclass(frozen=True, slots=True)
class SliceDim:
    """The elements start, start + stride, ... below limit."""

    start: int
    limit: int
    stride: int = 1


@dataclass(frozen=True, slots=True)
class ConvDims:
    """The role of each dimension of a convolution's operands and result: `b01f_01io->b01f`.

    `input_spatial[k]` is the number of spatial dimension k among the input's dimensions, and so on.
    An `unknown_*` tuple lists the dimensions written `?`, which have no role.
    """

    input_batch: int
    input_feature: int
    input_spatial: tuple[int, ...]
    kernel_input_feature: int
    kernel_output_feature: int
    kernel_spatial: tuple[int, ...]
    output_batch: int
    output_feature: int
    output_spatial: tuple[int, ...]
    unknown_input: tuple[int, ...] = ()
    unknown_kernel: tuple[int, ...] = ()
    unknown_output: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class OutputOperandAlias:
    """One entry of `output_to_operand_aliasing`: `{output_index}: (operand, {operand_index})`."""

    output_index: tuple[int, ...]
    operand: int
    operand_index: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class InputOutputAlias:
    """One entry of a module's `input_output_alias`: an output that reuses a parameter's buffer."""

    output_index: tuple[int, ...]
    parameter: int
    parameter_index: tuple[int, ...]
    must: bool = False


@dataclass(frozen=True, slots=True)
class BufferDonor:
    """One entry of a module's `buffer_donor`: a parameter whose buffer may be overwritten."""

    parameter: int
    parameter_index: tuple[int, ...]

    def key(self) -> tuple[int, tuple[int, ...]]:
        """By which donors are sorted."""
        return self.parameter, self.parameter_index


@dataclass(frozen=True, slots=True)
class ResultAccuracy:
    """The accuracy that is required of a transcendental function.

    It is a mode, or tolerances that bound the error.
    """

    mode: str = "default"
    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0


@dataclass(frozen=True, slots=True)
class Sparsity:
    """Structured sparsity of one operand of a convolution: n of every m elements are kept."""

    n: int
    m: int
    dimension: int
    stride: int = 1


@dataclass(frozen=True, slots=True)
class SparsityConfig:
    """The sparse operands of a convolution."""

    lhs: Sparsity | None = None
    rhs: Sparsity | None = None


@dataclass(frozen=True, slots=True)
class ComputationLayout:
    """The shapes, with layouts, in which a module takes its parameters and leaves its result."""

    parameters: tuple[Shape, ...]
    result: Shape


@dataclass(frozen=True, slots=True)
class DomainBorder:
    """The border between two domains: `{kind="sharding", entry={...}, exit={...}}`."""

    kind: str
    entry: Sharding
    exit: Sharding


@dataclass(frozen=True, slots=True)
class FrontendAttributes:
    """Strings that a framework attached to an instruction: key, value as written, in order."""

    entries: tuple[tuple[str, str], ...] = field(default=())

    def get(self, key: str) -> str | None:
        """The value of a key without its quotes; None if there is no such key."""
        return next((v.strip('"') for k, v in self.entries if k == key), None)
