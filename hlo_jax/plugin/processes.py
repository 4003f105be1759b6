"""Other processes: JAX says which there are, and carries what they tell each other at first.

`jax.distributed.initialize` starts a store of keys and values, which PJRT's client is given two
functions of. By these the processes learn of each other's addresses; arrays go by sockets of
their own.
"""

from __future__ import annotations

import atexit
import ctypes
import hashlib
from functools import partial
from typing import TYPE_CHECKING, Any

from emit_c.executable.processes import connected
from emit_c.executable.runtime import runtime
from hlo_jax.abi.numbers import ErrorCode
from hlo_jax.abi.structs import NamedValue
from hlo_jax.engines.processes import AcrossProcesses
from hlo_jax.plugin.errors import PjrtError
from hlo_jax.shim import shim

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hlo_jax.abi import structs as s
    from hlo_jax.programs.program import JaxProgram

TIMEOUT = 300_000  # ms until all processes are there
_Address = ctypes.c_size_t


class _GetArguments(ctypes.Structure):
    """PJRT_KeyValueGetCallback_Args."""

    _fields_ = (
        ("struct_size", _Address), ("extension_start", _Address),
        ("key", ctypes.c_char_p), ("key_size", _Address), ("timeout_in_ms", ctypes.c_int),
        ("callback_error", _Address), ("user_arg", _Address),
        ("value", _Address), ("value_size", _Address), ("value_deleter", _Address),
    )  # fmt: skip


class _PutArguments(ctypes.Structure):
    """PJRT_KeyValuePutCallback_Args."""

    _fields_ = (
        ("struct_size", _Address), ("extension_start", _Address),
        ("key", ctypes.c_char_p), ("key_size", _Address),
        ("value", ctypes.c_char_p), ("value_size", _Address),
        ("callback_error", _Address), ("user_arg", _Address),
    )  # fmt: skip


_CALLBACK = ctypes.CFUNCTYPE(_Address, _Address)
_FREE = ctypes.CFUNCTYPE(None, _Address)


@ctypes.CFUNCTYPE(_Address, ctypes.c_int, ctypes.c_char_p, _Address)
def _new_error(code: int, message: bytes, size: int) -> int:
    return shim().make_error(code, message, size)


class _Store:
    """The store of keys and values."""

    def __init__(self, args: s.ClientCreate) -> None:
        self._get, self._get_arg = _CALLBACK(args.kv_get_callback), args.kv_get_user_arg
        self._put, self._put_arg = _CALLBACK(args.kv_put_callback), args.kv_put_user_arg
        self._error = ctypes.cast(_new_error, ctypes.c_void_p).value

    def put(self, key: str, value: bytes) -> None:
        name = key.encode()
        given = _PutArguments(ctypes.sizeof(_PutArguments), 0, name, len(name), value, len(value),
                              self._error, self._put_arg)  # fmt: skip
        if self._put(ctypes.addressof(given)):
            raise PjrtError(ErrorCode.UNAVAILABLE, f"JAX's store does not take {key}")

    def get(self, key: str) -> bytes:
        name = key.encode()
        given = _GetArguments(ctypes.sizeof(_GetArguments), 0, name, len(name), TIMEOUT,
                              self._error, self._get_arg)  # fmt: skip
        if self._get(ctypes.addressof(given)):
            message = f"a process was not there after {TIMEOUT // 1000} s: JAX's store has no {key}"
            raise PjrtError(ErrorCode.DEADLINE_EXCEEDED, message)
        found = ctypes.string_at(given.value, given.value_size)
        if given.value_deleter:
            _FREE(given.value_deleter)(given.value)
        return found


class OtherProcesses:
    """Connections to the other processes.

    Attributes
    ----------
    rank : the number of this process.
    counts : the number of devices of each.
    """

    def __init__(self, rank: int, size: int, store: _Store, count: int) -> None:
        self.rank, self._store, self._size, self._asked = rank, store, size, 0
        self.counts = [int(each) for each in self._tell_all(str(count).encode())]
        hosts, self._kept = connected(self._tell_all, rank)
        self._neighbours = hosts.count(hosts[rank])
        fds = (ctypes.c_int64 * size)(*(-1 if s is None else s.fileno() for s in self._kept))
        threads = runtime().threads
        self._sockets = threads.hlo_sockets(size, fds)
        self._wires: dict[tuple[int, ...], int] = {}
        atexit.register(threads.hlo_say_bye, self._sockets)

    def _tell_all(self, record: bytes) -> list[bytes]:
        self._asked += 1
        keys = [f"pyhlo/{self._asked}/{rank}" for rank in range(self._size)]
        self._store.put(keys[self.rank], record)
        return [self._store.get(key) for key in keys]

    def engine(
        self, program: JaxProgram, numbers: Sequence[int], processes: Sequence[int]
    ) -> AcrossProcesses:
        """The engine of a program on devices of some numbers, each of a process."""
        key = tuple(numbers)
        if key not in self._wires:
            channel = int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:8], "little") >> 1
            homes = (ctypes.c_int64 * len(key))(*processes)
            self._wires[key] = runtime().threads.hlo_socket_wire(
                self._sockets, channel, len(key), homes, self._neighbours
            )
        own = [k for k, process in enumerate(processes) if process == self.rank]
        return AcrossProcesses(program, self._wires[key], own)


def others_of(args: s.ClientCreate) -> Callable[[int], OtherProcesses] | None:
    """The way to the other processes that the options of a client name; None for none."""
    options: dict[str, Any] = {}
    if args.num_options:
        for one in (NamedValue * args.num_options).from_address(args.create_options):
            options[ctypes.string_at(one.name, one.name_size).decode()] = one.value
    size = options.get("num_nodes", 1)
    if size < 2 or not args.kv_get_callback:
        return None
    return partial(OtherProcesses, options["node_id"], size, _Store(args))
