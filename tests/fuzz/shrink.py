"""Findings made smaller: of texts by lines and words, of modules by instructions."""

from __future__ import annotations

import multiprocessing
from functools import partial
from typing import TYPE_CHECKING

from tests.fuzz.findings import Findings, file_name, shrunk
from tests.fuzz.judge import compiled, prepared, read
from tests.fuzz.mistakes import Mistake, Skipped
from tests.fuzz.workers import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fuzz.cases import Run

_CONTEXT = multiprocessing.get_context("fork")


def smaller(findings: Findings, run: Run) -> None:
    """Shrink the texts of all findings of a run, in their files."""
    for path in sorted(findings.folder.glob("*.hlo")):
        if path.stem not in findings.counts:
            continue
        story, text = split(path)
        number = int(story[0].rpartition("/")[2])
        kind = path.stem.partition("-")[0]

        still = partial(_is, path.stem, run, number, kind)
        if still(text):
            path.write_text("".join(story) + shrunk(text, still), "utf-8", "surrogateescape")


def _is(name: str, run: Run, number: int, kind: str, text: str) -> bool:
    return verdict(text, run, number, kind) == name


def split(path: Path) -> tuple[list[str], str]:
    """The story of a finding and its text."""
    lines = path.read_text("utf-8", "surrogateescape").splitlines(keepends=True)
    end = next(i for i, line in enumerate(lines) if not line.startswith("// "))
    return lines[:end], "".join(lines[end:])


def verdict(text: str, run: Run, number: int, kind: str) -> str:
    """The name of the finding that a text makes, in a process of its own; "" if it makes none."""
    mine, its = _CONTEXT.Pipe(duplex=False)
    process = _CONTEXT.Process(target=_try, args=(text, run, number, its), daemon=True)
    process.start()
    process.join(PATIENCE)
    if process.is_alive():
        process.kill()
        return "hang" if kind == "hang" else ""
    return mine.recv() if mine.poll() else ""


def _try(text: str, run: Run, number: int, its) -> None:
    try:
        module = read(text)
        if module is not None and run.gentle:
            compiled(prepared(module, run.arguments(number), run.platform))
    except Mistake as mistake:
        its.send(file_name(mistake.kind, mistake.place))
    except Skipped:
        pass
