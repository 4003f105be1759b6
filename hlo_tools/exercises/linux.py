"""Calls of Linux that Python 3.11 has no functions for: namespaces, mounts, filters of calls.

It imports nothing but the standard library, as it must run before anything starts threads.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from contextlib import suppress
from typing import Any

NEW_NAMESPACE, NEW_CGROUP, NEW_NAMES, NEW_IPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
NEW_USER, NEW_PID, NEW_NETWORK = 0x10000000, 0x20000000, 0x40000000
NEW_ANYTHING = NEW_NAMESPACE | NEW_CGROUP | NEW_NAMES | NEW_IPC | NEW_USER | NEW_PID | NEW_NETWORK
READ_ONLY, NO_SETUID, NO_DEVICES = 1, 2, 4
BIND, RECURSIVE, PRIVATE = 0x1000, 0x4000, 0x40000

_DEATH_SIGNAL, _DUMPABLE, _SECCOMP, _DROP_CAPABILITY, _NO_NEW_PRIVILEGES = 1, 4, 22, 24, 38
_MOUNT_SETATTR = 442
_AT_FOLDER, _AT_RECURSIVE = -100, 0x8000

# What no answer needs and what reaches outside of namespaces, or around a limit: sockets (those of
# files and of virtual machines are in no namespace), keys, other processes' memory, memory that no
# process maps, namespaces, mounts, modules of the kernel, and io_uring, which no filter sees.
# Numbers of x86_64 and aarch64; from 424 on, they are the same everywhere.
REFUSED = {
    "socket": (41, 198),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "shmget": (29, 194),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsmount": (432, 432),
    "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "pidfd_getfd": (438, 438),
    "kexec_load": (246, 104),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "swapon": (167, 224),
    "reboot": (169, 142),
}
# The C library falls back to `clone`, whose flags a filter can read.
_CLONE3, _CLONE = 435, (56, 220)
_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_X32 = 0x40000000

_library: Any = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, call: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")
    return result


def _prctl(option: int, first: int | Any = 0, second: int | Any = 0) -> int:
    words = [ctypes.c_ulong(w) if isinstance(w, int) else w for w in (first, second, 0, 0)]
    return _checked(_library.prctl(option, *words), "prctl")


def unshare(flags: int) -> None:
    """Enter new namespaces."""
    _checked(_library.unshare(flags), "unshare")


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mount a file system, or with BIND a folder once more."""
    words = [w.encode() or None for w in (source, target, kind, options)]
    result = _library.mount(*words[:3], ctypes.c_ulong(flags), words[3])
    _checked(result, f"mount {target}")


def set_mount(target: str, *, on: int = 0, off: int = 0, recursive: bool = False) -> None:
    """Change the options of a mount: READ_ONLY, NO_SETUID, NO_DEVICES."""
    attributes = struct.pack("=4Q", on, off, 0, 0)
    words = [_AT_FOLDER, target.encode(), _AT_RECURSIVE if recursive else 0, attributes]
    typed = [ctypes.c_long(w) if isinstance(w, int) else w for w in words]
    size = ctypes.c_ulong(len(attributes))
    _checked(_library.syscall(ctypes.c_long(_MOUNT_SETATTR), *typed, size), f"mount {target}")


def end_with_parent(signal: int) -> None:
    """Get a signal when the parent ends."""
    _prctl(_DEATH_SIGNAL, signal)


def hide_memory() -> None:
    """Let no process of the same user read or write the memory of this one."""
    _prctl(_DUMPABLE, 0)


def drop_capabilities() -> None:
    """Have no capability any more after the next program is executed."""
    number = 0
    with suppress(OSError):
        while True:
            _prctl(_DROP_CAPABILITY, number)
            number += 1


def gain_nothing() -> None:
    """Get no privileges by executing a program, as `sudo` would."""
    _prctl(_NO_NEW_PRIVILEGES, 1)


def refuse_calls() -> None:
    """Let the kernel refuse the system calls of `REFUSED`, from now on and for all children.

    Without effect on processors other than x86_64 and aarch64.
    """
    if platform.machine() not in _ARCHITECTURES:
        return
    gain_nothing()
    lines = _filter(*_ARCHITECTURES[platform.machine()])
    program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in lines))
    header = struct.pack("@HP", len(lines), ctypes.addressof(program))
    _prctl(_SECCOMP, 2, ctypes.c_char_p(header))


def _filter(column: int, architecture: int) -> list[tuple[int, int, int, int]]:
    """The program that judges each system call, for the kernel's packet filter."""
    load, equal, at_least, any_bit, give = 0x20, 0x15, 0x35, 0x45, 0x06
    allowed, refused, unknown = (0x7FFF0000, 0x50000 | 1, 0x50000 | 38)  # EPERM, ENOSYS
    lines = [
        (load, 0, 0, 4),
        (equal, 1, 0, architecture),
        (give, 0, 0, refused),
        (load, 0, 0, 0),
        (equal, 0, 1, _CLONE3),
        (give, 0, 0, unknown),
        (equal, 0, 3, _CLONE[column]),
        (load, 0, 0, 16),
        (any_bit, 0, 1, NEW_ANYTHING),
        (give, 0, 0, refused),
        (load, 0, 0, 0),
    ]
    numbers = sorted(row[column] for row in REFUSED.values())
    for n, number in enumerate(numbers):
        lines.append((equal, len(numbers) - n, 0, number))
    # Numbers with this bit are the same calls by other numbers.
    return [*lines, (at_least, 0, 1, _X32), (give, 0, 0, refused), (give, 0, 0, allowed)]
