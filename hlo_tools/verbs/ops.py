"""List the opcodes of HLO, or show one of them with its attributes.

The columns after the summary say which tables know the opcode: `infers` its result's shape,
`evaluates` its value, `emits_c` its C, `differentiates` its derivative, `batches` its batched form.
Of a single opcode, the file and line are told where each of them is defined:

    hlo ops reduce
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from hlo.attributes import attribute_specs
from hlo.errors.error import HloError, did_you_mean
from hlo.opcode import OPCODES, TRAITS, Opcode
from hlo_tools.locations import defined

if TYPE_CHECKING:
    from argparse import Namespace

    from hlo.table import OpTable
    from hlo_tools.arguments import Parser

Tables = dict[str, "OpTable[Any]"]
# The table's name and the package that defines it, in the order of the columns; a package that
# brings a table adds its row here.
TABLES: Final = {
    "infers": "hlo.infer",
    "evaluates": "interpreter",
    "emits_c": "emit_c",
    "emits_cuda": "emit_cuda",
    "differentiates": "optimizer.derivative",
    "batches": "optimizer.batching",
}


def load_tables() -> Tables:
    """Import every table, filled by its package's files."""
    return {name: getattr(import_module(package), name) for name, package in TABLES.items()}


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    parser.add_argument("opcode", nargs="?", help="show this opcode alone, with its attributes")


def run(arguments: Namespace) -> int:
    """Print the list, or one opcode."""
    tables = load_tables()
    if not arguments.opcode:
        print("\n".join(listing(tables)))
        return 0
    row = OPCODES.get(arguments.opcode)
    if row is None:
        message = f"there is no opcode `{arguments.opcode}`"
        raise HloError("HLO204", message, notes=did_you_mean(arguments.opcode, OPCODES))
    print("\n".join(description(row, tables)))
    return 0


def listing(tables: Tables) -> list[str]:
    """A line an opcode, and a line that counts the opcodes of each table."""
    width = max(map(len, OPCODES))
    last = max(len(row.summary) for row in OPCODES.values())
    lines = [f"{'opcode':{width}} operands  {'summary':{last}}  {'  '.join(tables)}"]
    for row in OPCODES.values():
        arity = "any" if row.arity is None else str(row.arity)
        marks = "  ".join(f"{mark(table, row.name):{len(name)}}" for name, table in tables.items())
        lines.append(f"{row.name:{width}} {arity:>8}  {row.summary:{last}}  {marks}".rstrip())
    known = (f"{name} {count(table)} of {len(OPCODES)}" for name, table in tables.items())
    return [*lines, "", ", ".join(known)]


def mark(table: OpTable[Any], opcode: str) -> str:
    """Whether a table knows an opcode: `yes`, `no`, or `-` where it is left out on purpose."""
    if opcode in table:
        return "yes"
    return "-" if opcode in table.not_supported else "no"


def count(table: OpTable[Any]) -> int:
    """The number of opcodes that a table knows."""
    return sum(opcode in table for opcode in OPCODES)


def description(row: Opcode, tables: Tables, *, locations: bool = True) -> list[str]:
    """The lines that describe an opcode: meaning, traits, computations, attributes and tables.

    Parameters
    ----------
    locations : tell the file and line where each table defines it.
    """
    arity = "any number" if row.arity is None else str(row.arity)
    lines = [f"{row.name}: {row.summary}", "", f"operands: {arity}"]
    lines += [f"{trait}: {TRAITS[trait]}" for trait in sorted(row.traits)]
    if row.called:
        lines.append("computations: " + ", ".join(row.called))
    specs = attribute_specs(row.attrs)
    if specs:
        width = max(map(len, specs))
        lines += ["", f"attributes: {summary_of(row.attrs)}"]
        for spec in specs.values():
            need = "required" if spec.required else f"default {spell(spec.default)}"
            lines.append(f"  {spec.key:{width}}  {spec.kind}, {need}")
    lines.append("")
    for name, table in tables.items():
        reason = table.not_supported.get(row.name, "")
        facts = [
            reason or (defined(table.get(row.name)) if locations and row.name in table else ""),
            f"as {reference}" if (reference := table.references.get(row.name)) else "",
        ]
        lines.append(", ".join([f"{name}: {mark(table, row.name)}", *filter(None, facts)]))
    return lines


def summary_of(group: type) -> str:
    """The first line of a class's docstring."""
    return (group.__doc__ or "").partition("\n")[0]


def spell(default: object) -> str:
    """A default value as HLO text would write it."""
    if default is None or default == "":
        return "none"
    if isinstance(default, bool):
        return str(default).lower()
    return "{}" if default == () else str(default)
