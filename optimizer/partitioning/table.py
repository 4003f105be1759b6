"""The bytes that devices hold and receive, instruction by instruction, of a divided program.

Of a program with shardings, a row tells of an instruction as the user wrote it; of one that is
divided already, of one that each device runs.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.write.sharding_print import print_sharding
from optimizer.analysis.runs import runs
from optimizer.partitioning.spmd_partitioning import divided
from optimizer.topology.fleet import grid_of
from optimizer.topology.rounds import bytes_moved

if TYPE_CHECKING:
    from hlo.instruction import Instruction, Module
    from optimizer.partitioning.spmd_partitioning import Division
    from optimizer.topology.rounds import Grid


@dataclass(frozen=True)
class ShareOfWork:
    """One instruction.

    Attributes
    ----------
    sharding : as XLA writes it; "" where devices have values of their own.
    held : bytes of the value that each device has.
    whole : bytes of all of it.
    moved : bytes that collectives bring to a device for it, in all runs of a loop.
    collectives : that its division needs, or itself.
    """

    instr: Instruction
    sharding: str
    held: int
    whole: int
    moved: int
    collectives: tuple[Instruction, ...]


@dataclass(frozen=True)
class TableOfShares:
    """The instructions of a program on several devices.

    Attributes
    ----------
    program : what each device runs.
    grid : the numbers of replicas and of partitions.
    """

    rows: tuple[ShareOfWork, ...]
    program: Module
    grid: Grid


def table_of(module: Module) -> TableOfShares:
    """The bytes that devices hold and receive, instruction by instruction.

    Raises
    ------
    HloError
        HLO122 if a sharding does not fit; HLO119 if a collective names a device that is missing.
    """
    division = divided(module, entry=True)
    parts = division.program if division else module
    grid = grid_of(parts)
    often = runs(parts)
    wanted_by: dict[str, Instruction] = {}
    if division:
        wanted_by = {new.name: old for _, old, new in division.devices.notes}
    moved: dict[Instruction, int] = defaultdict(int)
    collectives: dict[Instruction, list[Instruction]] = defaultdict(list)
    own = {i.name: i for i in division.source.instructions()} if division else {}
    for computation in parts.computations:
        for instr in computation.instructions:
            size = bytes_moved(instr, grid)
            if size or "collective" in instr.row.traits:
                old = wanted_by.get(instr.name) or own.get(instr.name, instr)
                moved[old] += size * often.get(computation, 1)
                collectives[old].append(instr)
    entries = _of_source(division) if division else [
        (i, "", i.shape.bytes, i.shape.bytes) for i in module.instructions()
    ]  # fmt: skip
    rows = tuple(
        ShareOfWork(instr, sharding, held, whole, moved[instr], tuple(collectives[instr]))
        for instr, sharding, held, whole in entries
    )
    return TableOfShares(rows, parts, grid)


def _of_source(cut: Division) -> list[tuple[Instruction, str, int, int]]:
    """Each instruction's sharding, and the bytes of a part and of the whole."""
    cuts, shapes = cut.analysis.propagation.cuts, cut.analysis.flow.shapes
    rows: list[tuple[Instruction, str, int, int]] = []
    for instr, leaves in cut.analysis.flow.leaves.items():
        nodes = list(dict.fromkeys(leaves.values()))
        reader = cut.analysis.reader
        texts = [print_sharding(reader.sharding(cuts[node])) for node in nodes]
        text = texts[0] if len(texts) == 1 else f"{{{', '.join(texts)}}}"
        held = sum(cuts[node].bytes(shapes[node]) for node in nodes)
        rows.append((instr, text, held, sum(shapes[n].bytes for n in nodes if shapes[n].is_array)))
    return rows
