"""A run of `hlo` as one zip: its command line, the files that it reads, versions, and its output.

Whoever gets the zip runs the same again, elsewhere and later. What would run code from it (Python
files, shell commands) is not run unasked, and nothing is written outside of a folder of its own.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import zipfile
import zlib
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.errors.error import HloError
from hlo.support.compiler import find_compiler

if TYPE_CHECKING:
    from collections.abc import Sequence

FORMAT = 1
REPORT = "report.json"
# Packages whose versions may matter.
_PACKAGES = ("pyhlo", "numpy", "ml_dtypes", "lark", "scipy-openblas32", "jax", "jaxlib", "pycuda")
# Variables of the environment that change a run.
_VARIABLES = (
    *("CC", "XLA_FLAGS", "OPENBLAS_CORETYPE", "OMP_NUM_THREADS", "HLO_DEBUG"),
    *("PYHLO_SUBNORMALS", "PYHLO_THREADS"),
)
# Verbs that run scripts.
_SCRIPTS = ("jax", "step")
# Largest file of a report, and all of them together.
_MOST_BYTES = 1 << 30
# What reading a file that is no zip, a damaged one, or one without a report may raise.
_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, EOFError, RuntimeError),
    *(AttributeError, LookupError, TypeError, ValueError),
)


@dataclass(frozen=True)
class BugReport:
    """A run, and its outcome.

    Attributes
    ----------
    words : of the command line, without `hlo`; files are named as in the report.
    status, out, err : of that run.
    versions : of packages, the system and the compiler.
    variables : of the environment.
    files : their names in the report, with the names that they had.
    """

    words: tuple[str, ...]
    status: int
    out: str
    err: str
    versions: dict[str, str]
    variables: dict[str, str]
    files: dict[str, str]


def make_report(words: Sequence[str], path: str) -> BugReport:
    """Run a command line of `hlo`, and write the zip.

    Parameters
    ----------
    path : of the zip.

    Raises
    ------
    HloError
        HLO200 if the zip can't be written.
    """
    files_in: dict[str, bytes] = {}
    names: dict[str, str] = {}
    said: list[str] = []
    for word in words:
        file, name = _file_in(word)
        if file is None:
            said.append(_inside(word))
            continue
        if str(file) not in names:
            names[str(file)] = f"{len(names)}-{file.name}"
            files_in[names[str(file)]] = file.read_bytes()
        said.append(word.replace(name, names[str(file)]))
    with TemporaryDirectory(prefix="hlo-report-") as folder:
        for name, content in files_in.items():
            Path(folder, name).write_bytes(content)
        status, out, err = run_words(said, Path(folder))
        written = {
            p.name: p for p in Path(folder).iterdir() if p.is_file() and p.name not in files_in
        }
        outputs = {name: file.read_bytes() for name, file in written.items()}
    report = BugReport(
        tuple(said),
        status,
        out,
        err,
        versions(),
        {name: os.environ[name] for name in _VARIABLES if name in os.environ},
        {name: file for file, name in names.items()},
    )
    try:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(REPORT, json.dumps(vars(report) | {"format": FORMAT}, indent=1))
            for name, content in files_in.items():
                archive.writestr(f"files/{name}", content)
            for name, content in outputs.items():
                archive.writestr(f"outputs/{name}", content)
    except OSError as error:
        raise HloError("HLO200", f"cannot write {path}: {error.strerror}") from error
    return report


def read_report(path: str, folder: Path) -> tuple[BugReport, dict[str, bytes]]:
    """Unpack a zip into a folder.

    Returns
    -------
    tuple of BugReport and dict
        the report, and the files that the run wrote.

    Raises
    ------
    HloError
        HLO200 if it can't be read, HLO201 if it is no report.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > _MOST_BYTES:
                raise HloError("HLO201", f"{path} is too large for a report")
            data: Any = json.loads(archive.read(REPORT))
            if data.pop("format") != FORMAT:
                raise HloError("HLO201", f"{path} is a report of another version of PyHLO")
            data["words"] = tuple(data["words"])
            report = BugReport(**data)
            outputs: dict[str, bytes] = {}
            for name in archive.namelist():
                kind, _, own = name.partition("/")
                if kind == "files" and own == Path(own).name:
                    (folder / own).write_bytes(archive.read(name))
                elif kind == "outputs":
                    outputs[own] = archive.read(name)
    except OSError as error:
        raise HloError("HLO200", f"cannot read {path}: {error.strerror or error}") from error
    except _BROKEN as error:
        raise HloError("HLO201", f"{path} is no report of `hlo report-bug`: {error}") from error
    return report, outputs


def refuse_code(report: BugReport) -> None:
    """Refuse a report whose run would run code from it, or write somewhere else.

    Raises
    ------
    HloError
        HLO203 in both cases.
    """
    code = [w for n, w in enumerate(report.words) if _runs_code(w, n)]
    if code:
        note = "--trust runs it; look into the zip before"
        raise HloError("HLO203", f"the report runs code of its sender: `{code[0]}`", notes=[note])
    outside = [w for w in report.words if os.sep in w or "\\" in w or ".." in w]
    if outside:
        note = "--trust uses it; look into the zip before"
        message = f"the report names a file that is not in it: `{outside[0]}`"
        raise HloError("HLO203", message, notes=[note])


def _runs_code(word: str, position: int) -> bool:
    """Whether a word lets `hlo` run a Python file, a script or a shell command."""
    option = word.partition("=")[0]
    shortened = len(option) > 2 and "--command".startswith(option)
    return ".py" in word or shortened or (position == 0 and word in _SCRIPTS)


def run_words(words: Sequence[str], folder: Path) -> tuple[int, str, str]:
    """Run `hlo` in a folder; gives its exit status and its output."""
    # The folder of the zip must not hide packages.
    program = [sys.executable, "-P", "-m", "hlo_tools", *words]
    done = subprocess.run(
        program, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    out, err = (text.decode(errors="replace") for text in (done.stdout, done.stderr))
    return done.returncode, out, err


def same_output(before: bytes, after: bytes | None, name: str) -> bool:
    """Whether a file that a run wrote is the same; of archives, whether all arrays are."""
    if after is None:
        return False
    if before == after or not name.endswith(".npz"):
        return before == after
    with TemporaryDirectory() as folder:
        paths = [Path(folder, n) for n in ("before.npz", "after.npz")]
        for path, content in zip(paths, (before, after), strict=True):
            path.write_bytes(content)
        with np.load(paths[0]) as one, np.load(paths[1]) as other:
            return one.files == other.files and all(
                one[n].tobytes() == other[n].tobytes() for n in one.files
            )


def _file_in(word: str) -> tuple[Path | None, str]:
    """The file that a word of a command line names, and how: `m.hlo`, `--input=x.npz`, `p.py:P`."""
    value = word.partition("=")[2] if word.startswith("--") and "=" in word else word
    for name in (value, value.rpartition(":")[0]):
        if name and not name.startswith("-") and Path(name).is_file():
            return Path(name), name
    return None, ""


def _inside(word: str) -> str:
    """A word that names a file to be written elsewhere, with that file in the folder of the run."""
    option, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
    path = Path(value)
    elsewhere = os.sep in value and path.parent.is_dir() and not set(value) & set(" {}();|&<>$")
    return f"{option}{equals}{path.name}" if elsewhere else word


def versions() -> dict[str, str]:
    """Versions of packages, and of the system."""
    versions_by_name = {"python": sys.version.split()[0], "system": platform.platform()}
    for name in _PACKAGES:
        try:
            versions_by_name[name] = version(name)
        except PackageNotFoundError:
            continue
    try:
        versions_by_name["C compiler"] = " ".join(find_compiler())
    except HloError:
        versions_by_name["C compiler"] = "none"
    return versions_by_name
