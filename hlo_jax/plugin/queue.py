"""Python's part of the queue of calls (`shim/queue.c`): its threads, and its errors.

The threads are Python's, so that the functions of users that compiled code calls find a thread of
Python's, with its own `threading.local`.
"""

from __future__ import annotations

import ctypes
import os
import threading
from typing import TYPE_CHECKING

from emit_c.executable.runtime import runtime
from hlo.errors.error import HloError
from hlo_jax.plugin.loaded import BY_HANDLE
from hlo_jax.plugin.table import asked
from hlo_jax.programs.lines import telling_line
from hlo_jax.shim import address_of, records, shim
from interpreter.engine.memory import refuse_bytes

if TYPE_CHECKING:
    from hlo_jax.plugin.loaded import Loaded

WORKERS = 4  # as in shim/queue.c
_started = threading.Lock()
_questions: list[int] = []
_processes: set[int] = set()  # that have started their threads


@asked("start_workers")
def start_workers(_: int) -> None:
    """Start the threads, once in a process; a child of a fork starts its own."""
    with _started:
        if os.getpid() in _processes:
            return
        _processes.add(os.getpid())
        if not _questions:
            set_question = runtime().threads.hlo_set_question
            set_question.restype = ctypes.c_void_p
            _questions.append(set_question(address_of("asked_to_stop")) or 0)
            hooks = records.Hooks.from_address(address_of("hooks") or 0)
            hooks.question = _questions[0]
        for number in range(WORKERS):
            threading.Thread(target=shim().work, args=(number,), name="pyhlo", daemon=True).start()
        shim().workers_are_there(WORKERS)


@asked("fits_memory")
def fits_memory(handle: int) -> None:
    """Raise an error if the first call of a large program would not fit into memory."""
    self = BY_HANDLE[handle]
    module = self.program.module
    with telling_line(module):
        refuse_bytes(module.name, module.instructions(), self.bytes_of_a_call)


@asked("out_of_memory")
def out_of_memory(handle: int) -> None:
    """Raise the error of a call for which there is not enough memory."""
    raise_out_of_memory(BY_HANDLE[handle])


def raise_out_of_memory(self: Loaded) -> None:
    """Raise HLO113 with the largest value, or HLO114 if memory is there again meanwhile."""
    module = self.program.module
    with telling_line(module):
        refuse_bytes(module.name, module.instructions(), self.bytes_of_a_call)
        largest = max(module.entry.instructions, key=lambda i: i.shape.unpacked_bytes)
        message = f"{module.name}: no memory for the {self.bytes_of_a_call:,} bytes of a call"
        raise HloError("HLO114", message, largest.span)
