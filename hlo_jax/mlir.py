"""jaxlib's MLIR: the attributes of programs and of foreign functions' calls, and versions."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np


def stablehlo_versions() -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The oldest and the newest version of StableHLO that jaxlib reads."""
    stablehlo = import_module("jaxlib.mlir.dialects.stablehlo")
    texts = stablehlo.get_minimum_version(), stablehlo.get_current_version()
    oldest, newest = (tuple(int(n) for n in text.split(".")) for text in texts)
    return oldest, newest


def attributes_of_mlir(code: bytes) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """The text attributes of the main function's parameters and results, by name.

    Layouts and kinds of memory that the user chose are there, and get lost on the way to HLO.
    """
    mlir, ir = import_module("jax._src.interpreters.mlir"), import_module("jaxlib.mlir.ir")
    with mlir.make_ir_context() as context:
        try:
            deserialize = import_module("jaxlib._jax").mlir.deserialize_portable_artifact
            try:
                module = deserialize(code, context)
            except TypeError:  # before 0.10 it gave a text
                module = ir.Module.parse(deserialize(code))
        except ValueError:  # it is StableHLO as it is
            module = ir.Module.parse(code)
        main = next(op for op in module.body if _name(op) == "main")
        return _attributes(main, "arg_attrs"), _attributes(main, "res_attrs")


# An attribute: a text, a dictionary, or the name of an element type with a number or an array.
Attribute = Any


def attributes_of_text(text: str) -> dict[str, Attribute]:
    """A dictionary in MLIR's syntax: `{scale = 2.0 : f32, name = "a", sizes = array<i64: 1, 2>}`.

    An attribute of another kind comes with a name that is no element type's.

    Raises
    ------
    ValueError
        If it is no dictionary, or can't be read.
    """
    ir = import_module("jaxlib.mlir.ir")
    with import_module("jax._src.interpreters.mlir").make_ir_context():
        try:
            read = ir.Attribute.parse(text)
        except ir.MLIRError as error:
            raise ValueError(str(error)) from error
        found: Any = _attribute(ir, read)
    if isinstance(read, ir.DictAttr):
        return found
    raise ValueError(f"{text} is no dictionary")


def _attribute(ir: Any, attribute: Any) -> Attribute:
    if isinstance(attribute, ir.DictAttr):
        return {named.name: _attribute(ir, named.attr) for named in attribute}
    if isinstance(attribute, ir.StringAttr):
        return attribute.value_bytes
    if isinstance(attribute, ir.BoolAttr):
        return "pred", attribute.value
    if isinstance(attribute, ir.IntegerAttr | ir.FloatAttr):
        return _element_type(attribute.type), attribute.value
    return _array(ir, attribute)


# The arrays of MLIR, `array<i64: 1, 2>`, and their element types in HLO.
_ARRAYS = {"Bool": "pred", "I8": "s8", "I16": "s16", "I32": "s32", "I64": "s64"} | {
    "F32": "f32",
    "F64": "f64",
}


def _array(ir: Any, attribute: Any) -> tuple[str, Any]:
    for name, element_type in _ARRAYS.items():
        if isinstance(attribute, getattr(ir, f"Dense{name}ArrayAttr")):
            return element_type, np.array(list(attribute))
    if not isinstance(attribute, ir.DenseElementsAttr):
        return str(attribute), None
    try:
        return _element_type(attribute.type.element_type), np.array(attribute)
    except TypeError:  # NumPy has no such numbers
        return str(attribute.type), None


def _element_type(mlir: Any) -> str:
    """The name in HLO of an element type of MLIR: `i1`, `i32`, `ui8`, `f32`, `f8E4M3FN`."""
    name = str(mlir)
    if name == "i1":
        return "pred"
    if name.removeprefix("u").removeprefix("i").isdecimal():
        return f"u{name[2:]}" if name.startswith("u") else f"s{name[1:]}"
    return name.lower()


def _name(operation: Any) -> str:
    attributes = operation.attributes
    return attributes["sym_name"].value if "sym_name" in attributes else ""


def _attributes(function: Any, which: str) -> list[dict[str, str]]:
    """The attributes that are texts."""
    text = import_module("jaxlib.mlir.ir").StringAttr
    attributes = function.attributes
    own: Any = attributes[which] if which in attributes else ()  # noqa: SIM401 - it has no get
    return [{a.name: a.attr.value for a in one if isinstance(a.attr, text)} for one in own]
