"""A StableHLO program as data: operations with attributes and regions, as MLIR has them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hlo.errors.error import Span
    from hlo.types.shape import Shape
    from hlo.types.sharding import Mesh


@dataclass(frozen=True, slots=True)
class BlockArgument:
    """A value that a block or function is given."""

    name: str
    shape: Shape
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])
    span: Span | None = None


# Attributes are of any type that the text gives them; so use of one that is of another fails.
UNREADABLE = (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation.

    Attributes
    ----------
    name : with its dialect, such as "stablehlo.add".
    results : the names of its values: `%0`, or `%0#0`, `%0#1` for several.
    operands : the names of the values that it uses.
    attributes : by name; numbers, strings, tuples, dictionaries, NumPy arrays, `Tagged`.
    regions : what is inside of it: bodies of loops, computations of reductions.
    operand_shapes, result_shapes : as far as the text says them.
    location : its line of the user's program; see `hlo.frontends.stablehlo.origins`.
    """

    name: str
    results: tuple[str, ...]
    operands: tuple[str, ...]
    attributes: dict[str, Any]
    regions: tuple[Region, ...]
    operand_shapes: tuple[Shape, ...]
    result_shapes: tuple[Shape, ...]
    span: Span
    location: Any = None


@dataclass(frozen=True, slots=True)
class Region:
    """Operations that run one after the other; the last one returns values.

    A region of MLIR may have several blocks; those of StableHLO have one.
    """

    arguments: tuple[BlockArgument, ...]
    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class FuncOp:
    """A function of the module.

    Attributes
    ----------
    results : the attributes of each.
    body : None if another file has it.
    """

    name: str
    arguments: tuple[BlockArgument, ...]
    results: tuple[dict[str, Any], ...]
    body: Region | None
    is_private: bool
    span: Span


@dataclass(frozen=True, slots=True)
class MlirModule:
    """A module.

    Attributes
    ----------
    aliases : by name, the locations, attributes and types that the text gives names: `#loc1`.
    meshes : by name, those whose axes Shardy's annotations name.
    resources : by name, the bytes of large constants, in hexadecimal digits.
    """

    name: str
    attributes: dict[str, Any]
    functions: tuple[FuncOp, ...]
    aliases: dict[str, Any]
    meshes: dict[str, Mesh] = field(default_factory=dict[str, Any])
    resources: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Tagged:
    """An attribute of a dialect: `#stablehlo.gather<collapsed_slice_dims = [0]>`.

    Attributes
    ----------
    words : what is in the brackets without a name.
    fields : what has one.
    """

    name: str
    words: tuple[Any, ...]
    fields: dict[str, Any]
