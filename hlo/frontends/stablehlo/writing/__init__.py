"""HLO as StableHLO text, which XLA reads: the way back.

Values are the same. Left out is what XLA chooses itself when it compiles: the order in which arrays
lie in memory, schedules, control predecessors, and configurations of its own. A fusion becomes a
call of a function, a bitcast the transposes and the reshape that it stands for, and what is started
and waited for later one operation. The program takes and gives the arrays of tuples one by one, as
XLA's runtime does. An opcode that StableHLO has nothing for is an error.

The files, in the order in which they are best read: `operation` (operations as data, and their
text), `types` (shapes and numbers), `table` and `scope`, and one file for each group of opcodes.
"""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from typing import TYPE_CHECKING

from hlo.attributes.annotations import Annotations
from hlo.frontends.stablehlo.writing.operation import BlockPrinter, MlirBlock
from hlo.frontends.stablehlo.writing.scope import ComputationScope, annotated
from hlo.frontends.stablehlo.writing.types import dictionary, symbol
from hlo.names import NameSupply
from hlo.opcode import CONTROL

if TYPE_CHECKING:
    from hlo.instruction import Computation, Module
    from hlo.types.shape import Shape

# Files enter their opcodes when they are imported.
for _name in ("control", "devices", "elements", "movement", "products", "reductions"):
    import_module(f"{__name__}.{_name}")

__all__ = ["write"]

# Opcodes that call a function where StableHLO has a region.
_OF_FUNCTIONS = frozenset({"call", "fusion", "async-start", "custom-call"})


def write(module: Module) -> str:
    """A module as StableHLO text.

    Raises
    ------
    HloError
        HLO014 if StableHLO has nothing for a part of it.
    """
    functions = _functions(module)
    names = NameSupply(instr.name for instr in module.instructions())
    blocks: dict[Computation, MlirBlock] = {}
    for computation in module.computations:
        scope = ComputationScope(module.header, names, blocks, functions)
        blocks[computation] = scope.translated(computation)
    printer = BlockPrinter()
    printer.function(_entry_head(module, blocks[module.entry]), blocks[module.entry])
    for computation, name in functions.items():
        block = blocks[computation]
        inside = ", ".join(f"%{value.name}: {value.type}" for value in block.arguments)
        results = ", ".join(value.type for value in block.results)
        printer.function(f"func.func private {symbol(name)}({inside}) -> ({results})", block)
    head = f"module {symbol(module.name)} attributes {dictionary(_attributes(module))} {{"
    return "\n".join([head, *printer.lines, "}", ""])


def _functions(module: Module) -> dict[Computation, str]:
    """The names of the computations that become functions.

    Those that are called, and bodies of control flow that have several callers, whose text would
    otherwise be there several times, and more often with each level of nesting.
    """
    uses = Counter(
        called
        for instr in module.instructions()
        if instr.opcode in CONTROL - _OF_FUNCTIONS
        for called in instr.called
    )
    called = {c for i in module.instructions() if i.opcode in _OF_FUNCTIONS for c in i.called}
    names = NameSupply(["main"])
    return {
        computation: names.unique(computation.name)
        for computation in module.computations
        if computation in called or uses[computation] > 1
    }


def _entry_head(module: Module, block: MlirBlock) -> str:
    parameters, root = module.entry.parameters, module.entry.root
    attributes_of = [own for p in parameters for own in _leaf_attributes(p.shape, p.annotations)]
    _add_aliases(module, attributes_of)
    arguments = [
        f"%{value.name}: {value.type}{_told(attributes)}"
        for value, attributes in zip(block.arguments, attributes_of, strict=True)
    ]
    of_results = _leaf_attributes(root.shape, Annotations(root.annotations.sharding))
    results = [
        f"{value.type}{_told(attributes)}"
        for value, attributes in zip(block.results, of_results, strict=True)
    ]
    return f"func.func public @main({', '.join(arguments)}) -> ({', '.join(results)})"


def _told(attributes: dict[str, str]) -> str:
    return f" {dictionary(attributes)}" if attributes else ""


def _leaf_attributes(shape: Shape, said: Annotations) -> list[dict[str, str]]:
    """The sharding of each array of a parameter or a result."""
    count, sharding = len(shape.leaves()), said.sharding
    shardings = sharding.elements if sharding and sharding.kind == "tuple" else [sharding] * count
    if len(shardings) != count:
        shardings = [None] * count
    return [annotated(sharding, said.frontend_attributes) for sharding in shardings]


def _add_aliases(module: Module, attributes: list[dict[str, str]]) -> None:
    """Add to the attributes of arguments which of them share memory with a result, or give it up.

    Parameters
    ----------
    attributes : the attributes of each argument.
    """
    places = {
        key: place
        for place, key in enumerate(
            (number, index)
            for number, parameter in enumerate(module.entry.parameters)
            for index, _ in parameter.shape.leaves()
        )
    }
    outputs = [index for index, _ in module.entry.root.shape.leaves()]
    for alias in module.header.input_output_alias:
        place = places.get((alias.parameter, alias.parameter_index))
        if place is not None and alias.output_index in outputs:
            attributes[place]["tf.aliasing_output"] = f"{outputs.index(alias.output_index)} : i32"
    for donor in module.header.buffer_donor:
        place = places.get((donor.parameter, donor.parameter_index))
        if place is not None:
            attributes[place]["jax.buffer_donor"] = "true"


def _attributes(module: Module) -> dict[str, str]:
    header = module.header
    return {
        "mhlo.num_partitions": f"{header.num_partitions} : i32",
        "mhlo.num_replicas": f"{header.replica_count} : i32",
        **annotated(None, header.frontend_attributes),
    }
