"""A sandbox for somebody else's code, on Linux: namespaces, and limits of all its processes.

The code has its own users, processes, network and mounts. It can read the system's programs, Python
and what the check imports. It sees nothing else of the disk, and writes only to a temporary folder,
which is in memory. When the code ends, all that it has started ends, too.

`bwrap` (bubblewrap) makes the namespaces where it is installed, and `confine` where it is not. Both
take the same view of the disk.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

# Folders of the root that stay as they are, but for reading only.
SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "opt", "nix", "gnu", "sys")
# Of the other folders, what compilers and Python read.
NEEDED = ("/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime", "/etc/passwd")
TEMPORARY = "/tmp"
# Seconds for an empty command.
PATIENCE = 20


@dataclass(frozen=True)
class VisibleFiles:
    """The part of the disk that code sees.

    Attributes
    ----------
    hidden : folders that are empty, but for those shown.
    shown : folders and files to read, parents first.
    megabytes : of files in the temporary folder.
    """

    hidden: tuple[str, ...]
    shown: tuple[str, ...]
    megabytes: int


def view(readable: tuple[Path, ...], megabytes: int) -> VisibleFiles:
    """The view of a check: the system, Python, all that can be imported, and what is named."""
    top = [folder for folder in Path("/").iterdir() if folder.is_dir() and not folder.is_symlink()]
    hidden = [str(e) for e in top if e.name not in (*SYSTEM, "proc", "dev", "lost+found")]
    python = (sys.prefix, sys.base_prefix, sys.exec_prefix, Path(sys.executable).resolve().parent)
    folders = os.environ.get("PATH", "").split(os.pathsep)
    named = {Path(path).absolute() for path in (*NEEDED, *python, *sys.path, *folders, *readable)}
    needed = {e for one in named if os.access(one, os.R_OK) for e in (one, one.resolve())}
    shown: list[Path] = []
    for path in sorted(needed, key=lambda path: (len(path.parts), path)):
        is_hidden = any(path.is_relative_to(folder) for folder in hidden)
        # Who works in one of these folders imports nothing of all that is in it.
        if str(path) in (*hidden, TEMPORARY) or path == Path.home():
            continue
        if is_hidden and not any(path.is_relative_to(parent) for parent in shown):
            shown.append(path)
    return VisibleFiles(tuple(sorted({*hidden, TEMPORARY})), tuple(map(str, shown)), megabytes)


def sandboxed(
    command: list[str], readable: tuple[Path, ...], seconds: int, megabytes: int
) -> list[str]:
    """A command line that runs a command in the sandbox.

    Parameters
    ----------
    readable : more files and folders that it can read.
    seconds, megabytes : of all its processes together.
    """
    watched = [*_launcher("--watch", str(seconds), str(megabytes)), *command]
    seen = view(readable, max(16, megabytes // 4))
    if _maker() == "bwrap":
        return [*_bubblewrap(seen), *watched]
    return [*_own(seen, seconds, megabytes), *command]


def environment() -> dict[str, str]:
    """The environment of a command in the sandbox: it imports what this process can import."""
    folders = {"TMPDIR": TEMPORARY, "HOME": TEMPORARY, "XDG_CACHE_HOME": f"{TEMPORARY}/cache"}
    path = os.pathsep.join(folder or str(Path.cwd()) for folder in sys.path)
    variables = {name: os.environ[name] for name in ("PATH", "LANG", "CC") if name in os.environ}
    return {**variables, **folders, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"}


def refusal() -> str:
    """The reason why this system has no sandbox; empty if it has one."""
    return "" if _maker() else _tried()[-1]


@cache
def _tried() -> tuple[str, str]:
    """The first way that works, or none; and the message of the last one."""
    if sys.platform != "linux":
        return "", "only Linux has one"
    seen = view((), 16)
    empty = [sys.executable, "-S", "-E", "-c", ""]
    ways = {"bwrap": [*_bubblewrap(seen), *empty]} if shutil.which("bwrap") else {}
    ways["own"] = [*_own(seen, PATIENCE, 1024), *empty]
    problem = ""
    for way, command in ways.items():
        try:
            done = subprocess.run(
                command, env=environment(), capture_output=True, timeout=PATIENCE, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            problem = str(error)
            continue
        if not done.returncode:
            return way, ""
        problem = done.stderr.decode(errors="replace").strip().rpartition("\n")[-1]
    return "", problem


def _maker() -> str:
    return _tried()[0]


def _launcher(*words: str) -> list[str]:
    """The command line of `confine`, which imports nothing that is installed."""
    return [sys.executable, "-P", "-S", "-m", "hlo_tools.exercises.confine", *words]


def _own(seen: VisibleFiles, seconds: int, megabytes: int) -> list[str]:
    sizes = map(str, (seen.megabytes, seconds, megabytes))
    folders = ["--hide", *seen.hidden, "--show", *seen.shown, "--"]
    return [*_launcher("--enter", TEMPORARY, *sizes), *folders]


def _bubblewrap(seen: VisibleFiles) -> list[str]:
    words = ["bwrap", "--unshare-all", "--unshare-user", "--disable-userns", "--as-pid-1"]
    words += ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--ro-bind", "/", "/"]
    for folder in seen.hidden:
        size = str(seen.megabytes << 20) if folder == TEMPORARY else "1048576"
        words += ["--size", size, "--tmpfs", folder]
    for path in seen.shown:
        words += ["--ro-bind", path, path]
    for folder in seen.hidden:
        words += ["--remount-ro", folder] if folder != TEMPORARY else []
    # The owner of the machine could write to its settings in /proc.
    words += ["--dev", "/dev", "--remount-ro", "/dev", "--proc", "/proc", "--remount-ro", "/proc"]
    return [*words, "--chdir", TEMPORARY, "--"]
