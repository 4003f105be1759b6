"""Count the parts of a module: opcodes, element types and bytes; and what one run costs.

    hlo stats m.hlo --largest 10
    hlo stats m.hlo --devices
    hlo stats dump

Of several files, or of a folder, each module has a line, and the largest is named.

Bytes are those of the values themselves, as if each lay in memory of its own. The cost is that of
XLA's cost analysis, as its tool `compute_cost` prints it: arithmetic operations, transcendental
ones such as exp, and bytes that instructions read and write, those inside of fusions not counted. A
loop counts as one iteration, and a conditional as all of its branches.

With --devices, a table tells of each instruction how it is cut among devices, the bytes that each
device holds of it, and the bytes that collectives bring to each for it: in all iterations of a
loop, of which one with an unknown trip count has 16.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.wording import counted
from hlo_tools.arguments import at_least
from hlo_tools.options.dumps import add_files, modules_at, short_name
from hlo_tools.options.files import add_entry_option, name_of, read_module, read_sound_module
from hlo_tools.stats import stats
from optimizer.analysis.cost import module_cost, operations
from optimizer.analysis.timeline import can_be_planned
from optimizer.partitioning.table import table_of
from optimizer.scheduling.memory_scheduler import peak_bytes

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
    parser.add_argument(
        "--devices",
        action="store_true",
        help="a table of shardings, and of the bytes that each device holds and is sent",
    )


def run(arguments: Namespace) -> int:
    """Print the counts.

    Raises
    ------
    HloError
        HLO204 for a table of several modules.
    """
    paths = modules_at(arguments.files)
    if arguments.devices:
        if len(paths) > 1:
            message = f"--devices is for one module, not {len(paths)}"
            raise HloError("HLO204", message)
        print("\n".join(devices(read_sound_module(paths[0], arguments.entry))))
        return 0
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
    for name, counts in rows.items():
        flops = module_cost(modules[name]).flops
        lines.append(
            f"{name:{width}}  {counted(counts.instructions, 'instruction'):>19}  "
            f"{spell_bytes(counts.value_bytes):>10} computed  {flops:>15,} flops"
        )
    largest = max(rows, key=lambda name: rows[name].instructions)
    return [*lines, f"{counted(len(rows), 'module')}; the largest is {largest}"]


def report(module: Module, largest: int) -> list[str]:
    """The lines to print."""
    counts = stats(module, largest)
    sizes = {
        "parameters": counts.parameter_bytes,
        "outputs": counts.output_bytes,
        "constants": counts.constant_bytes,
        "computed values": counts.value_bytes,
    }
    header = module.header
    instructions = counted(counts.instructions, "instruction")
    replicas = counted(header.replica_count, "replica")
    lines = [
        f"module {module.name}",
        f"{instructions} in {counted(counts.computations, 'computation')}",
        f"{counted(counts.depth, 'instruction')} in the longest chain of operands",
        f"{replicas}, {counted(header.num_partitions, 'partition')}",
    ]
    lines += section("opcodes", {name: str(n) for name, n in counts.opcodes.items()})
    lines += section("element types", {name: str(n) for name, n in counts.element_types.items()})
    lines += section("bytes", {name: spell_bytes(n) for name, n in sizes.items()})
    spent = module_cost(module)
    costs = {
        "flops": f"{spent.flops:,}",
        "transcendentals": f"{spent.transcendentals:,}",
        "bytes accessed": f"{spent.bytes_accessed:,}",
        "flops per byte": f"{spent.flops / max(spent.bytes_accessed, 1):.3g}",
    }
    lines += section("cost of a run", costs)
    big = {i.name: f"{spell_bytes(i.shape.bytes)}  {i.opcode} {i.shape}" for i in counts.largest}
    lines += section("largest values", big)
    work = {i: operations(i) for i in module.entry.instructions}
    hardest = sorted((i for i in work if any(work[i])), key=lambda i: -sum(work[i]))[:largest]
    names = {
        i.name: f"{work[i][0]:,} flops, {work[i][1]:,} transcendentals  {i.opcode} {i.shape}"
        for i in hardest
    }
    return lines + section("most work in the entry", names)


def devices(module: Module) -> list[str]:
    """The lines to print of a program on several devices."""
    table = table_of(module)
    replicas, partitions = table.grid
    lines = [
        f"module {module.name}",
        f"{counted(replicas, 'replica')}, {counted(partitions, 'partition')}",
        "",
    ]
    rows = [("instruction", "held", "of", "moved", "sharding")]
    for row in table.rows:
        kinds = Counter(i.opcode for i in row.collectives)
        how = ", ".join(name if n == 1 else f"{n} {name}" for name, n in kinds.items())
        name = f"%{row.instr.name}"
        moved = f"{spell_bytes(row.moved)}" if row.collectives else ""
        text = "  ".join(filter(None, (row.sharding, how)))
        rows.append((name, spell_bytes(row.held), spell_bytes(row.whole), moved, text))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, held, whole, moved, text in rows:
        line = f"{name:{widths[0]}}  {held:>{widths[1]}}  {whole:>{widths[2]}}"
        lines.append(f"{line}  {moved:>{widths[3]}}  {text}".rstrip())
    parameters = [row for row in table.rows if row.instr in set(module.entry.parameters)]
    count = sum(len(row.collectives) for row in table.rows)
    moved = spell_bytes(sum(row.moved for row in table.rows))
    temporary = peak_bytes(table.program) if can_be_planned(table.program) else None
    totals = {
        "parameters": f"{spell_bytes(sum(row.held for row in parameters))} of "
                      f"{spell_bytes(sum(row.whole for row in parameters))}",
        "temporary": "unknown" if temporary is None else spell_bytes(temporary),
        "moved": f"{moved} by {counted(count, 'collective')}",
    }  # fmt: skip
    return lines + section("each device", totals)


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
