"""Runs a command in namespaces of its own, and watches over all of its processes.

    confine --enter TEMPORARY SECONDS MEGABYTES --hide FOLDER ... --show PATH ... -- COMMAND ...
    confine --watch SECONDS MEGABYTES COMMAND ...

`sandbox` says what they are for. `--watch` alone is for namespaces that `bwrap` has made. Nothing
but the standard library is imported.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from hlo_tools.exercises import linux

# Exit statuses that say which limit was reached.
OVER_TIME, OVER_MEMORY, OVER_PROCESSES = 121, 122, 123
# At once: a checker, and what compilers start.
PROCESSES = 64
# Seconds between two looks at all processes.
INTERVAL = 0.02
DEVICES = ("null", "zero", "full", "random", "urandom")
EVERYTHING = linux.READ_ONLY | linux.NO_SETUID | linux.NO_DEVICES


def enter() -> None:
    """Enter namespaces of its own, in which the user stays who it is."""
    user, group = os.getuid(), os.getgid()
    linux.unshare(linux.NEW_ANYTHING)
    me = Path("/proc/self")
    (me / "setgroups").write_text("deny")
    (me / "uid_map").write_text(f"{user} {user} 1")
    (me / "gid_map").write_text(f"{group} {group} 1")


def see(hidden: list[str], shown: list[str], temporary: str, megabytes: int) -> None:
    """Make all read-only but an empty temporary folder; hide folders, and show parts of them."""
    linux.mount("", "/", flags=linux.PRIVATE | linux.RECURSIVE)
    devices = [f"/dev/{name}" for name in DEVICES]
    files = {path: os.open(path, os.O_PATH) for path in (*shown, *devices)}
    for folder in (*hidden, "/dev"):
        size = megabytes if folder == temporary else 1
        linux.mount("tmpfs", folder, "tmpfs", options=f"size={size}m,mode=755")
    for path, file in files.items():
        _show(Path(path), file)
    for name, target in (("fd", "/proc/self/fd"), ("shm", temporary)):
        Path("/dev", name).symlink_to(target)
    linux.mount("proc", "/proc", "proc")
    with suppress(OSError):
        Path("/proc/sys/user/max_user_namespaces").write_text("0")
    linux.set_mount("/", on=EVERYTHING, recursive=True)
    linux.set_mount(temporary, off=linux.READ_ONLY)
    for device in devices:
        linux.set_mount(device, off=linux.NO_DEVICES)


def _show(path: Path, file: int) -> None:
    """Mount an open file or folder at its old place, which is hidden by now."""
    source = f"/proc/self/fd/{file}"
    if Path(source).is_dir():
        path.mkdir(parents=True, exist_ok=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    linux.mount(source, str(path), flags=linux.BIND | linux.RECURSIVE)
    os.close(file)


def watch(command: list[str], seconds: int, megabytes: int) -> int:
    """The exit status of a command, or of the limit that its processes reach together.

    This is the first process of its namespace: no other can stop it, and all end with it.
    """
    linux.hide_memory()
    end = time.monotonic() + seconds
    child = os.fork()
    if not child:
        linux.drop_capabilities()
        linux.gain_nothing()
        os.setsid()
        resource.setrlimit(resource.RLIMIT_NPROC, (PROCESSES, PROCESSES))
        os.execv(command[0], command)
    while True:
        ended, status = os.waitpid(-1, os.WNOHANG)
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        if ended:
            continue
        if over := _over(end, seconds, megabytes):
            return over
        time.sleep(INTERVAL)


def _over(end: float, seconds: int, megabytes: int) -> int:
    """The limit that all processes have reached together; 0 for none."""
    reaped = resource.getrusage(resource.RUSAGE_CHILDREN)
    ticks, pages, count = 0, 0, 0
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        with suppress(OSError):
            fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
            pages += int(fields[21])
            count += 1
    files = os.statvfs("/tmp")
    memory = pages * resource.getpagesize() + (files.f_blocks - files.f_bfree) * files.f_frsize
    spent = reaped.ru_utime + reaped.ru_stime + ticks / os.sysconf("SC_CLK_TCK")
    if count > PROCESSES:
        return OVER_PROCESSES
    if time.monotonic() > end or spent > seconds:
        return OVER_TIME
    return OVER_MEMORY if memory > megabytes << 20 else 0


def main(words: list[str]) -> int:
    """Run a command."""
    if words[0] == "--watch":
        return watch(words[3:], int(words[1]), int(words[2]))
    temporary, size, seconds, megabytes = words[1], *map(int, words[2:5])
    hide, show, rest = (words.index(word) for word in ("--hide", "--show", "--"))
    enter()
    linux.end_with_parent(signal.SIGKILL)
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    linux.end_with_parent(signal.SIGKILL)
    see(words[hide + 1 : show], words[show + 1 : rest], temporary, size)
    os.chdir(temporary)
    return watch(words[rest + 1 :], seconds, megabytes)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except OSError as error:
        sys.exit(error.strerror)
