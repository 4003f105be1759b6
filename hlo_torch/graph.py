"""A graph of ATen operations, as `torch.compile` hands it to a backend, without torch.

    x: "f32[3, 4]" = torch.ops.aten.mm.default(primals_1, permute)

is one operation in torch's own printing of such a graph (`TORCH_LOGS=aot_graphs`), which `read`
reads. So graphs that were recorded once are compiled and tested where torch is not installed.
"""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hlo.errors.error import HloError
from hlo.types.element_type import ELEMENT_TYPES, ElementType
from hlo.types.shape import Shape, array

if TYPE_CHECKING:
    from collections.abc import Iterator

# The element types of torch, by its names for them: `torch.float32`, and in shapes `f32[2]`.
DTYPES = {
    "bool": "pred",
    **{f"int{n}": f"s{n}" for n in (8, 16, 32, 64)},
    **{f"uint{n}": f"u{n}" for n in (8, 16, 32, 64)},
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "complex64": "c64",
    "complex128": "c128",
    **{f"float8_{kind}": f"f8{kind}" for kind in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz")},
}
_SHORT = {"b8": "pred", **{f"i{n}": f"s{n}" for n in (8, 16, 32, 64)}}


@dataclass(frozen=True, slots=True)
class AtenValue:
    """The value of an operation or an input, as an argument of another operation."""

    name: str


@dataclass(frozen=True, slots=True)
class AtenOperation:
    """An operation.

    Attributes
    ----------
    target : "aten.add.Tensor"; "getitem" for one of several results.
    args, kwargs : numbers, lists, `ElementType`, None and `AtenValue`. Devices, memory formats and
        the like, which change no value, are None.
    shape : of its result; None where it is no tensor.
    line : of the user who wrote it, as "model.py:12"; empty if torch does not tell.
    """

    name: str
    target: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    shape: Shape | None
    line: str = ""

    @property
    def uses(self) -> Iterator[str]:
        """The names of the values that it takes."""
        return values_in([self.args, self.kwargs])


@dataclass(frozen=True, slots=True)
class AtenGraph:
    """Operations from inputs to outputs.

    Attributes
    ----------
    inputs : the names of inputs, with their shapes; None for a number.
    outputs : values, and None where a gradient is not asked for.
    """

    inputs: dict[str, Shape | None]
    operations: tuple[AtenOperation, ...]
    outputs: tuple[Any, ...]


def values_in(argument: Any) -> Iterator[str]:
    """The names of values in an argument, in order."""
    if isinstance(argument, AtenValue):
        yield argument.name
    elif isinstance(argument, (list, tuple)):
        for part in argument:  # pyright: ignore[reportUnknownVariableType]
            yield from values_in(part)
    elif isinstance(argument, dict):
        yield from values_in(list(argument.values()))  # pyright: ignore[reportUnknownArgumentType]


def element_type(dtype: str) -> ElementType:
    """The element type that torch calls `torch.float32`.

    Raises
    ------
    HloError
        HLO008 if HLO has none for it.
    """
    name = dtype.removeprefix("torch.")
    if name not in DTYPES:
        raise HloError("HLO008", f"HLO has no element type for {dtype}")
    return ELEMENT_TYPES[DTYPES[name]]


def read(text: str) -> AtenGraph:
    """A graph from torch's printing of it, with fixed sizes.

    Raises
    ------
    HloError
        HLO001 if the text is no such graph.
    """
    try:
        (function,) = (n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef))
        given = [a for a in function.args.args if a.arg != "self"]
        inputs = {a.arg: _shape(a.annotation) for a in given}
        operations = tuple(_operations(function))
        returned = next(n.value for n in function.body if isinstance(n, ast.Return))
        outputs = _argument(returned)
    except (SyntaxError, ValueError, StopIteration) as error:
        raise HloError("HLO001", f"this is no graph of ATen operations: {error}") from error
    return AtenGraph(inputs, operations, tuple(outputs))


def _operations(function: ast.FunctionDef) -> Iterator[AtenOperation]:
    for node in function.body:
        if isinstance(node, ast.AnnAssign):
            target, value, shape = node.target, node.value, _shape(node.annotation)
        elif isinstance(node, ast.Assign):
            target, value, shape = node.targets[0], node.value, None
        else:
            continue
        if isinstance(value, ast.Constant) and value.value is None:
            continue  # `x = None` tells when memory is free
        name = ast.unparse(target)
        if isinstance(value, ast.Subscript):
            args = (_argument(value.value), _argument(value.slice))
            yield AtenOperation(name, "getitem", args, {}, shape)
        elif isinstance(value, ast.Call):
            called = ast.unparse(value.func).removeprefix("torch.ops.")
            args = tuple(_argument(a) for a in value.args)
            kwargs = {k.arg: _argument(k.value) for k in value.keywords if k.arg}
            yield AtenOperation(name, called, args, kwargs, shape)
        else:
            raise SyntaxError(f"line {node.lineno}: {ast.unparse(node)}")  # noqa: TRY004 - of text


def _shape(annotation: ast.expr | None) -> Shape | None:
    """The shape in `x: "f32[2, 3]"`."""
    text = annotation.value if isinstance(annotation, ast.Constant) else ""
    found = re.match(r"(\w+)\[([\d, ]*)\]", str(text))
    if not found:
        return None
    kind, dims = found.groups()
    return array(ELEMENT_TYPES[_SHORT.get(kind, kind)], tuple(map(int, re.findall(r"\d+", dims))))


def _argument(node: ast.expr | None) -> Any:  # noqa: PLR0911 - a case each
    match node:
        case ast.Constant(value):
            return value
        case ast.Name("inf" | "nan" as name):
            return getattr(math, name)
        case ast.Name(name):
            return AtenValue(name)
        case ast.List(elements) | ast.Tuple(elements):
            return [_argument(e) for e in elements]
        case ast.UnaryOp(ast.USub(), operand):
            return -_argument(operand)
        case ast.Attribute(ast.Name("torch"), name):
            return element_type(name) if name in DTYPES else None
        case ast.Call():  # device(type='cpu')
            return None
        case _:
            raise ValueError(f"no argument of an operation: {ast.unparse(node) if node else ''}")
