"""Modules, functions and meshes, where they are operations in MLIR's generic form.

"builtin.module"() <{sym_name = "m"}> ({
"func.func"() <{sym_name = "main", function_type = (tensor<4xf32>) -> tensor<4xf32>}> ({
^bb0(%arg0: tensor<4xf32>):
"func.return"(%arg0) : (tensor<4xf32>) -> ()
}) : () -> ()
}) : () -> ()
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from hlo.errors.error import HloError
from hlo.frontends.stablehlo.meshes import declared_meshes
from hlo.frontends.stablehlo.operation import FuncOp, MlirModule, Operation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hlo.types.sharding import Mesh


def module_of(
    name: str, attributes: dict[str, Any], parts: Iterable[Any], aliases: dict[str, Any],
    resources: dict[str, str], lifted: dict[str, Mesh],
) -> MlirModule:  # fmt: skip
    """A module of functions and meshes, its own and those of the first module in it.

    If it has a module and no function, that module gives the name and the attributes.

    Parameters
    ----------
    lifted : meshes that the text writes within shardings, by names made for them.

    Raises
    ------
    HloError
        HLO012 if a function or a mesh can't be read, or two functions have one name.
    """
    functions: list[FuncOp] = []
    inner: list[MlirModule] = []
    parts = list(parts)
    for part in parts:
        if isinstance(part, MlirModule):
            inner.append(part)
        elif isinstance(part, FuncOp):
            functions.append(part)
        elif isinstance(part, Operation) and part.name == "func.func":
            functions.append(_function(part))
        elif isinstance(part, Operation) and part.name == "builtin.module":
            inside = [operation for region in part.regions for operation in region.operations]
            own = str(part.attributes.get("sym_name", "main"))
            inner.append(module_of(own, part.attributes, inside, aliases, resources, lifted))
    if inner and not functions:
        name, attributes = inner[0].name, inner[0].attributes
    meshes = declared_meshes(parts)
    for module in inner[:1]:
        functions += module.functions
        meshes |= module.meshes
    meshes |= lifted
    names: set[str] = set()
    for function in functions:
        if function.name in names:
            message = f"there are two functions @{function.name}"
            raise HloError("HLO012", message, function.span)
        names.add(function.name)
    return MlirModule(name, attributes, tuple(functions), aliases, meshes, resources)


def _function(op: Operation) -> FuncOp:
    name = str(op.attributes.get("sym_name", ""))
    is_private = op.attributes.get("sym_visibility") == "private"
    if len(op.regions) != 1 or not op.regions[0].operations:
        return FuncOp(name, (), (), None, is_private, op.span)
    block = op.regions[0]
    attributes = _dictionaries(op, "arg_attrs") or [{} for _ in block.arguments]
    try:
        pairs = zip(block.arguments, attributes, strict=True)
        arguments = tuple(replace(argument, attributes=own) for argument, own in pairs)
    except ValueError as error:
        raise HloError("HLO012", f"the arguments of @{name}: {error}", op.span) from None
    results = _dictionaries(op, "res_attrs")
    return FuncOp(name, arguments, tuple(results), block, is_private, op.span)


def _dictionaries(op: Operation, key: str) -> list[dict[str, Any]]:
    """The attributes of each argument, or of each result."""
    value: Any = op.attributes.get(key, ())
    if isinstance(value, tuple) and all(isinstance(part, dict) for part in cast("Any", value)):
        return list(cast("Any", value))
    raise HloError("HLO012", f"`{key}` of {op.name} is no list of dictionaries", op.span)
