"""Verbs that run in several processes under mpiexec: one process prints for all."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hlo.errors.error import HloError

if TYPE_CHECKING:
    from collections.abc import Generator

TRANSPORTS: Final = ("threads", "mpi")
BAD_INPUT: Final = 2


@contextmanager
def one_speaks(transport: str | None) -> Generator[bool]:
    """Whether this process is the one that prints and saves; the others are silent meanwhile.

    An error of all processes is told by the first of them.

    Raises
    ------
    HloError
        HLO126 if there is no library of MPI, or it fails.
    """
    if transport != "mpi":
        yield True
        return
    from emit_c.executable.processes import processes_of  # noqa: PLC0415  others need no MPI

    processes = processes_of()
    with ExitStack() as silent:
        if processes.rank:
            nowhere = silent.enter_context(Path(os.devnull).open("w"))
            silent.enter_context(redirect_stdout(nowhere))
            silent.enter_context(redirect_stderr(nowhere))
        try:
            yield not processes.rank
        except HloError as error:
            if processes.rank and error is processes.failure:
                raise SystemExit(BAD_INPUT) from None
            raise
