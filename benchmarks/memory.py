"""Memory beside XLA CPU: the bytes of arguments, results and temporaries of compiled modules.

    python -m benchmarks.memory [TABLE ...] [--only WORDS] [--texts FILE ...]

XLA's bytes are those that its buffer assignment plans; memory that its library calls allocate as
they run, for packed operands or sorts, is not among them. Ours have the memory of threads, too.
"""

from __future__ import annotations

import argparse
from statistics import geometric_mean
from typing import TYPE_CHECKING

import emit_c
import hlo
import optimizer
from benchmarks import xla
from benchmarks.compiled import kernel_works, model_works, program_works
from emit_c.executable.runtime import slots

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.compiled import Work
    from hlo.instruction import Module

# A tenth more than XLA's is the most that ours are meant to be; below this nobody cares.
MOST, LEAST_BYTES = 1.1, 1 << 16


def memory_table(works: Iterable[Work], only: str) -> None:
    """A line for each module: its arguments and results, both temporaries, and the ratio of all."""
    print(f"{'':<44}{'in and out':>12}{'XLA temps':>12}{'our temps':>12}{'ours/XLA':>10}")
    ratios: list[float] = []
    above: list[str] = []
    for work in works:
        if only not in work.name:
            continue
        try:
            stats = xla.Compiled(work.text).executable.get_compiled_memory_stats()
            module = hlo.parse(work.text)
            ours = temporaries(module)
        except Exception as error:  # a row that cannot be measured says why
            print(f"{work.name}: {type(error).__name__}: {str(error).splitlines()[0][:120]}")
            continue
        ends = stats.argument_size_in_bytes + stats.output_size_in_bytes - stats.alias_size_in_bytes
        theirs = stats.temp_size_in_bytes
        ratios.append((ends + ours) / max(ends + theirs, 1))
        high = ratios[-1] > MOST and ours - theirs > LEAST_BYTES
        above += [work.name] if high else []
        cells = (f"{ends:,}", f"{theirs:,}", f"{ours:,}")
        line = "".join(f"{cell:>12}" for cell in cells)
        print(f"{work.name:<44.44}{line}{ratios[-1]:>10.2f}{' *' if high else ''}", flush=True)
    if ratios:
        print(f"\ngeometric mean {geometric_mean(ratios):.2f}; above {MOST}: {len(above)}\n")


def temporaries(module: Module) -> int:
    """The bytes that a call of a module takes beside its arguments and results."""
    program = emit_c.emit(optimizer.optimize(module))
    return program.arena_bytes + slots() * program.slot_bytes


def main() -> None:
    """Measure what is asked for, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="kernels, programs, models")
    parser.add_argument("--only", default="", metavar="WORDS", help="rows whose name holds them")
    parser.add_argument("--texts", nargs="+", default=[], metavar="FILE", help="HLO of your own")
    options = parser.parse_args()
    tables = {
        "kernels": kernel_works,
        "programs": program_works,
        "models": lambda: model_works(options.texts),
    }
    for name in options.tables or tables:
        print(f"{name}\n")
        memory_table(tables[name](), options.only)


if __name__ == "__main__":
    main()
