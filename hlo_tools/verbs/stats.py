"""Count the parts of a module: opcodes, element types and bytes; and what one run costs.

    hlo stats m.hlo --largest 10
    hlo stats dump

Of several files, or of a folder, each module has a line, and the largest is named.

Bytes are those of the values themselves, as if each lay in memory of its own. The cost is that of
XLA's cost analysis, as its tool `compute_cost` prints it: arithmetic operations, transcendental
ones such as exp, and bytes that instructions read and write, those inside of fusions not counted. A
loop counts as one iteration, and a conditional as all of its branches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.stats import stats
from hlo.wording import counted
from hlo_tools.arguments import at_least
from hlo_tools.dumps import add_files, modules_at, short_name
from hlo_tools.files import add_entry_option, name_of, read_module
from optimizer.analysis.cost import module_cost, operations

if TYPE_CHECKING:
    from argparse import Namespace

    from hlo.instruction import Module
    from hlo_tools.arguments import Parser


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    add_files(parser)
    add_entry_option(parser)
    parser.add_argument(
        "--largest",
        type=at_least(0),
        default=5,
        metavar="N",
        help="name the N largest values, and the N with most work (default 5)",
    )


def run(arguments: Namespace) -> int:
    """Print the counts."""
    paths = modules_at(arguments.files)
    if len(paths) == 1:
        print("\n".join(report(read_module(paths[0], arguments.entry), arguments.largest)))
        return 0
    modules = {short_name(name_of(path)): read_module(path, arguments.entry) for path in paths}
    print("\n".join(comparison(modules)))
    return 0


def comparison(modules: dict[str, Module]) -> list[str]:
    """A line for each of several modules, and the name of the largest."""
    rows = {name: stats(module, 0) for name, module in modules.items()}
    lines: list[str] = []
    width = max(map(len, rows))
    for name, found in rows.items():
        flops = module_cost(modules[name]).flops
        lines.append(
            f"{name:{width}}  {counted(found.instructions, 'instruction'):>19}  "
            f"{spell_bytes(found.value_bytes):>10} computed  {flops:>15,} flops"
        )
    largest = max(rows, key=lambda name: rows[name].instructions)
    return [*lines, f"{counted(len(rows), 'module')}; the largest is {largest}"]


def report(module: Module, largest: int) -> list[str]:
    """The lines to print."""
    found = stats(module, largest)
    sizes = {
        "parameters": found.parameter_bytes,
        "outputs": found.output_bytes,
        "constants": found.constant_bytes,
        "computed values": found.value_bytes,
    }
    header = module.header
    instructions = counted(found.instructions, "instruction")
    replicas = counted(header.replica_count, "replica")
    lines = [
        f"module {module.name}",
        f"{instructions} in {counted(found.computations, 'computation')}",
        f"{counted(found.depth, 'instruction')} in the longest chain of operands",
        f"{replicas}, {counted(header.num_partitions, 'partition')}",
    ]
    lines += section("opcodes", {name: str(n) for name, n in found.opcodes.items()})
    lines += section("element types", {name: str(n) for name, n in found.element_types.items()})
    lines += section("bytes", {name: spell_bytes(n) for name, n in sizes.items()})
    spent = module_cost(module)
    costs = {
        "flops": f"{spent.flops:,}",
        "transcendentals": f"{spent.transcendentals:,}",
        "bytes accessed": f"{spent.bytes_accessed:,}",
        "flops per byte": f"{spent.flops / max(spent.bytes_accessed, 1):.3g}",
    }
    lines += section("cost of a run", costs)
    big = {i.name: f"{spell_bytes(i.shape.bytes)}  {i.opcode} {i.shape}" for i in found.largest}
    lines += section("largest values", big)
    work = {i: operations(i) for i in module.entry.instructions}
    hardest = sorted((i for i in work if any(work[i])), key=lambda i: -sum(work[i]))[:largest]
    names = {
        i.name: f"{work[i][0]:,} flops, {work[i][1]:,} transcendentals  {i.opcode} {i.shape}"
        for i in hardest
    }
    return lines + section("most work in the entry", names)


def section(title: str, rows: dict[str, str]) -> list[str]:
    """A title with aligned rows below it."""
    if not rows:
        return []
    width = max(map(len, rows))
    return ["", f"{title}:", *(f"  {name:{width}}  {value}" for name, value in rows.items())]


def spell_bytes(count: int) -> str:
    """A number of bytes with the unit that suits it: `1.5 MiB`."""
    if count < 1024:
        return f"{count} B"
    size = float(count)
    for unit in ("KiB", "MiB", "GiB"):
        size /= 1024
        if size < 1024:
            return f"{size:.1f} {unit}"
    return f"{size / 1024:.1f} TiB"
