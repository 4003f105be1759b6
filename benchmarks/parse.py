"""Reading and printing HLO beside XLA's own parser and printer (jaxlib's), on the same texts.

python -m benchmarks.parse                  two train steps of a small GPT, 0.6 and 4 MB
python -m benchmarks.parse --files A.hlo    other texts, `.gz` or not

A user parses a file once, so what counts is the first parse of a process, when nothing is in any
memo yet. Each one is therefore timed in a process of its own, which has imported its parser and
done nothing else. The grammars' tables are on disk from an earlier process, as they are for a user.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import hlo
from benchmarks.first_parse import PARSERS, read
from benchmarks.measure import interleaved, rounds_for, spell_seconds, table
from benchmarks.networks import gpt_text

# So many layers give about 0.6 and 4 MB of text.
LAYERS = (11, 72)
HEAD = (
    "text",
    "MB",
    "instructions",
    "XLA parse",
    "parse",
    "ratio",
    "verify",
    "XLA print",
    "print",
    "ratio",
)


def first_parses(path: Path, seconds: float) -> dict[str, float]:
    """Medians of the CPU seconds of first parses, by parser, a fresh process each."""
    taken: dict[str, list[float]] = {name: [] for name in PARSERS}
    until = time.monotonic() + seconds
    while time.monotonic() < until or not taken["ours"]:
        for name in PARSERS:
            command = [sys.executable, "-m", "benchmarks.first_parse", name, str(path)]
            result = subprocess.run(command, capture_output=True, text=True, check=True)
            taken[name].append(float(result.stdout))
    return {name: median(times) for name, times in taken.items()}


def measure(name: str, path: Path, seconds: float) -> list[str]:
    """One row: medians of CPU seconds, and ours as multiples of XLA's."""
    text = read(path)
    first = first_parses(path, seconds)
    ours, theirs = hlo.parse(text), PARSERS["XLA"](text)
    contenders = {
        "verify": lambda: hlo.verify(ours),
        "XLA print": theirs.to_string,
        "print": lambda: str(ours),
    }
    rounds = rounds_for(lambda: [run() for run in contenders.values()], seconds, 20)
    taken = interleaved(contenders, rounds, time.process_time)
    return [
        name,
        f"{len(text) / 1e6:.2f}",
        str(sum(1 for _ in ours.instructions())),
        spell_seconds(first["XLA"]),
        spell_seconds(first["ours"]),
        f"{first['ours'] / first['XLA']:.1f}",
        spell_seconds(taken["verify"]),
        spell_seconds(taken["XLA print"]),
        spell_seconds(taken["print"]),
        f"{taken['print'] / taken['XLA print']:.1f}",
    ]


def gpt_files(folder: Path) -> dict[str, Path]:
    """The texts that are measured unless others are named."""
    files = {f"GPT, {n} layers": folder / f"gpt_{n}.hlo" for n in LAYERS}
    for n, path in zip(LAYERS, files.values(), strict=True):
        path.write_text(gpt_text(n))
    return files


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", nargs="+", metavar="FILE", help="measure these instead")
    parser.add_argument("--seconds", type=float, default=20, help="to spend on a text (default 20)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.files:
            files = {Path(path).name: Path(path) for path in arguments.files}
        else:
            files = gpt_files(Path(folder))
        rows = [measure(name, path, arguments.seconds / 2) for name, path in files.items()]
    print("CPU seconds, medians; ratios are ours / XLA's. Each parse is the first of a process.\n")
    print(table(HEAD, rows))


if __name__ == "__main__":
    main()
