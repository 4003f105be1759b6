"""What the fuzzer finds: each mistake once, as a text with its story above, and shrunk."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

_UNSAFE = re.compile(r"[^A-Za-z0-9_]+")
# How many texts are tried to make one smaller.
TRIES = 300
# How many cases of a mistake a report shows; the file of counts has all.
MOST_SHOWN = 8


def file_name(kind: str, place: str) -> str:
    """What the file of a finding is called, without its suffix."""
    return f"{kind}-{_UNSAFE.sub('_', place)[:100]}"


@dataclass
class Findings:
    """Mistakes by kind and place, in a folder.

    Attributes
    ----------
    seeds : the cases that have shown each, as `0/911`.
    """

    folder: Path
    seeds: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    @property
    def counts(self) -> dict[str, int]:
        """How often each was found."""
        return {name: len(seeds) for name, seeds in self.seeds.items()}

    def add(self, kind: str, place: str, message: str, text: str, seed: str) -> Path | None:
        """Keep a mistake; gives its file if it is new."""
        name = file_name(kind, place)
        self.seeds.setdefault(name, []).append(seed)
        if len(self.seeds[name]) > 1:
            return None
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{name}.hlo"
        story = "".join(f"// {line}\n" for line in (f"seed {seed}", *message.splitlines()))
        path.write_text(f"{story}\n{text}", "utf-8", "surrogateescape")
        return path

    def report(self) -> str:
        """How often each was found, and by which cases, a line each."""
        return "\n".join(
            f"{len(seeds):7}  {name}  {' '.join(seeds[:MOST_SHOWN])}"
            f"{' ...' if len(seeds) > MOST_SHOWN else ''}"
            for name, seeds in sorted(self.seeds.items())
        )

    def save(self, counts: dict[str, int]) -> None:
        """Write the counts of a run, and the cases of all findings, beside these."""
        self.folder.mkdir(parents=True, exist_ok=True)
        told = {"counts": counts, "findings": self.seeds}
        (self.folder / "counts.json").write_text(json.dumps(told, indent=1) + "\n")


def shrunk(text: str, still: Callable[[str], bool]) -> str:
    """A text with fewer lines, and then fewer words, of which something is still true.

    At most `TRIES` texts are asked about.
    """
    left = [TRIES]
    for pattern in (r"[^\n]*\n|[^\n]+$", r"\S+\s*|\s+"):
        parts = re.findall(pattern, text)
        size = max(1, len(parts) // 2)
        while size and left[0] > 0:
            at = 0
            while at < len(parts) and left[0] > 0:
                fewer = parts[:at] + parts[at + size :]
                left[0] -= 1
                if still("".join(fewer)):
                    parts = fewer
                else:
                    at += size
            size //= 2
        text = "".join(parts)
    return text
