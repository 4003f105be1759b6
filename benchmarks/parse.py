"""Reading and printing HLO beside XLA's own parser and printer (jaxlib's), on the same texts.

python -m benchmarks.parse                  two train steps of a small GPT, 0.6 and 4 MB
python -m benchmarks.parse --files A.hlo    other texts
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from jaxlib import _hlo

import hlo
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


def measure(name: str, text: str, seconds: float) -> list[str]:
    """One row: medians of CPU seconds, and ours as multiples of XLA's."""
    theirs = _hlo.hlo_module_from_text(text)
    ours = hlo.parse(text)
    contenders = {
        "XLA parse": lambda: _hlo.hlo_module_from_text(text),
        "parse": lambda: hlo.parse(text),
        "verify": lambda: hlo.verify(ours),
        "XLA print": theirs.to_string,
        "print": lambda: str(ours),
    }
    rounds = rounds_for(lambda: [run() for run in contenders.values()], seconds, 20)
    taken = interleaved(contenders, rounds, time.process_time)
    told = {key: spell_seconds(value) for key, value in taken.items()}
    parse_ratio = taken["parse"] / taken["XLA parse"]
    print_ratio = taken["print"] / taken["XLA print"]
    return [
        name,
        f"{len(text) / 1e6:.2f}",
        str(sum(1 for _ in ours.instructions())),
        told["XLA parse"],
        told["parse"],
        f"{parse_ratio:.1f}",
        told["verify"],
        told["XLA print"],
        told["print"],
        f"{print_ratio:.1f}",
    ]


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", nargs="+", metavar="FILE", help="measure these instead")
    parser.add_argument("--seconds", type=float, default=20, help="to spend on a text (default 20)")
    arguments = parser.parse_args()
    if arguments.files:
        texts = {Path(path).name: Path(path).read_text() for path in arguments.files}
    else:
        texts = {f"GPT, {n} layers": gpt_text(n) for n in LAYERS}
    print("CPU seconds, medians; ratios are ours / XLA's.\n")
    print(table(HEAD, [measure(name, text, arguments.seconds) for name, text in texts.items()]))


if __name__ == "__main__":
    main()
