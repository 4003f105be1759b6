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
from typing import TYPE_CHECKING, Any

from hlo.errors.error import HloError
from hlo.frontends.stablehlo.operation import UNREADABLE, FuncOp, MlirModule, Operation
from hlo.types.shardy import mesh, mesh_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hlo.types.sharding import Mesh


def generic_module(op: Operation, locations: dict[str, Any]) -> MlirModule:
    """A module in the generic form.

    Raises
    ------
    HloError
        HLO012 if it, or a function in it, has no body.
    """
    inside = [each for region in op.regions for each in region.operations]
    functions = tuple(_function(each) for each in inside if each.name == "func.func")
    name = str(op.attributes.get("sym_name", "main"))
    return MlirModule(name, op.attributes, functions, locations, meshes_of(inside))


def _function(op: Operation) -> FuncOp:
    name = str(op.attributes.get("sym_name", ""))
    if len(op.regions) != 1 or not op.regions[0].operations:
        raise HloError("HLO013", f"function @{name} has no body", op.span)
    block = op.regions[0]
    none: list[dict[str, Any]] = [{} for _ in block.arguments]
    given: Any = op.attributes.get("arg_attrs", none)
    try:
        pairs = zip(block.arguments, given, strict=True)
        arguments = tuple(replace(each, attributes=own) for each, own in pairs)
    except UNREADABLE as error:
        raise HloError("HLO012", f"the arguments of @{name}: {error}", op.span) from None
    results = tuple(op.attributes.get("res_attrs", ()))
    is_private = op.attributes.get("sym_visibility") == "private"
    return FuncOp(name, arguments, results, block, is_private, op.span)


def meshes_of(operations: Iterable[Any]) -> dict[str, Mesh]:
    """The meshes by name: `sdy.mesh @name = <["x"=2, "y"=4]>`, or the same in the generic form."""
    found: dict[str, Mesh] = {}
    for each in operations:
        if not isinstance(each, Operation) or each.name != "sdy.mesh":
            continue
        try:
            name = each.attributes.get("sym_name")
            if name is not None:
                found[name] = mesh_of(str(each.attributes["mesh"].words[0]))
                continue
            ((symbol, tagged),) = (e for e in each.attributes.items() if e[0].startswith("@"))
            devices = tagged.fields.get("device_ids")
            found[_plain_symbol(symbol)] = mesh(tagged.words[0], devices)
        except UNREADABLE as error:
            raise HloError("HLO012", f"this mesh can't be read: {error}", each.span) from None
    return found


def _plain_symbol(symbol: str) -> str:
    return symbol[1:].strip('"')
