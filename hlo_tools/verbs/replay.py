"""Run a packed report of `hlo report-bug` again, and tell whether its outcome is the same.

    hlo replay bug.zip
    hlo replay bug.zip --keep folder     and leave its files there

The exit status is 0 if the run ends, prints and writes the same, and 1 if not. Versions that differ
are listed. What a report would run as code, a pass in a Python file or a shell command, and files
outside of it are only used with --trust.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo_tools.running.bug_report import (
    BugReport,
    read_report,
    refuse_code,
    run_words,
    same_output,
    versions,
)

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from hlo_tools.arguments import Parser

SAME, DIFFERENT = 0, 1


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    parser.add_argument("file", metavar="FILE", help="a zip of `hlo report-bug`")
    parser.add_argument(
        "--keep", metavar="DIR", help="unpack it into this folder, and run it there"
    )
    parser.add_argument(
        "--trust", action="store_true", help="run code that is in it, and use files that are not"
    )


def run(arguments: Namespace) -> int:
    """Run it, and compare.

    Raises
    ------
    HloError
        HLO200 if the folder can't be made; else as `read_report` and `refuse_code`.
    """
    with TemporaryDirectory(prefix="hlo-replay-") as own:
        folder = Path(arguments.keep or own)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise HloError("HLO200", f"cannot write {folder}: {error.strerror}") from error
        report, outputs = read_report(arguments.file, folder)
        if not arguments.trust:
            refuse_code(report)
        status, out, err = run_words(report.words, folder)
        wrong = [
            name
            for name, content in outputs.items()
            if not same_output(content, _content(folder / name), name)
        ]
    print(f"hlo {' '.join(report.words)}")
    for line in differing_versions(report):
        print(line)
    for line in (out + err).splitlines():
        print(f"| {line}")
    differences = [
        *([f"exit status {status}, not {report.status}"] if status != report.status else []),
        *(["other output"] if out != report.out else []),
        *[f"other {name}" for name in wrong],
    ]
    print(", ".join(differences) or f"the same as reported: exit status {status}")
    return DIFFERENT if differences else SAME


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def differing_versions(report: BugReport) -> Iterator[str]:
    """A line for each version that is another one here."""
    here = versions()
    for name, there in report.versions.items():
        if here.get(name) != there:
            yield f"{name}: {there} there, {here.get(name, 'none')} here"
