"""Limits of somebody else's code: time, memory, no network, no files.

It imports nothing but the standard library, as it must run before anything starts threads.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hlo_tools.exercises import linux

if TYPE_CHECKING:
    from collections.abc import Generator

NETWORK = ("socket.__new__", "socket.connect", "socket.getaddrinfo")

# Functions that change files, by audit event: which arguments are their paths.
CHANGES = {
    "os.remove": (0,),
    "os.rmdir": (0,),
    "os.rename": (0, 1),
    "os.truncate": (0,),
    "os.chmod": (0,),
    "os.link": (1,),
    "os.symlink": (1,),
    "os.mkdir": (0,),
    "shutil.rmtree": (0,),
}
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


OPEN_FILES, FILE_BYTES = 256, 1 << 26

# CPU time of one call of a student's function, which has next to nothing to compute.
CALL_SECONDS = 5


class CallTooLongError(BaseException):
    """A call computes for too long; no `except Exception` around it hides that."""


@contextmanager
def call_limited() -> Generator[None]:
    """Stop a call that computes for more than `CALL_SECONDS`, with the line on which it is.

    Only the main thread can be stopped so; in others nothing is watched.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise CallTooLongError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, CALL_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


class NoNetworkError(PermissionError):
    """Code reached for the network, which it may not use."""


class NoFilesError(PermissionError):
    """Code wanted to change or delete a file, which it may not."""


def limit(seconds: int, megabytes: int) -> None:
    """From now on this process has so much CPU time and memory, no network, and changes no files.

    This is all that there is outside of the sandbox. Python refuses to change files but those in
    the folder for temporary files and in the user's cache, where C is compiled. That stops what
    goes by mistake, not what wants to. On Linux, the kernel refuses sockets and more.
    """
    sys.dont_write_bytecode = True
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
        linux.refuse_calls()
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    # It looks for the folder once, by opening a file there, and must not be asked while it does.
    tempfile.gettempdir()
    sys.addaudithook(_refuse)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event in NETWORK:
        raise NoNetworkError("an exercise has no network")
    if event == "os.kill" and arguments[0] in (0, -1, os.getppid()):
        raise PermissionError("an exercise may not end other processes")
    if event == "open" and arguments[2] & WRITES:
        _refuse_change(arguments[0])
    for n in CHANGES.get(event, ()):
        _refuse_change(arguments[n])


def _refuse_change(path: Any) -> None:
    if isinstance(path, bytes | str):
        name = Path(os.fsdecode(path))
        if not any(name.resolve().is_relative_to(folder) for folder in _own_folders()):
            raise NoFilesError(f"an exercise may not change {name}")
    elif isinstance(path, Path):
        _refuse_change(str(path))


def _own_folders() -> tuple[Path, ...]:
    """The folders in which files may be changed: temporary ones, the cache, and devices."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    return Path(tempfile.gettempdir()).resolve(), cache.resolve() / "pyhlo", Path("/dev")
