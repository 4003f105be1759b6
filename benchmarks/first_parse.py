"""The CPU seconds that the first parse of a process takes.

python -m benchmarks.first_parse XLA|ours FILE

`benchmarks.parse` runs this, a process for each number.
"""

from __future__ import annotations

import gzip
import sys
import time
from pathlib import Path

from jaxlib import _hlo

import hlo

PARSERS = {"XLA": _hlo.hlo_module_from_text, "ours": hlo.parse}


def read(path: Path) -> str:
    """The text of a file, packed by gzip or not."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        return file.read()


def main() -> None:
    """Parse a file once."""
    parse, text = PARSERS[sys.argv[1]], read(Path(sys.argv[2]))
    start = time.process_time()
    parse(text)
    print(time.process_time() - start)


if __name__ == "__main__":
    main()
