"""A built module: all that a process needs to load and call it.

It holds nothing of the module itself, so that it can be kept on disk
(`emit_c.executable.module_cache`) and makes the optimizer, the emitter and the compiler superfluous
when the same module is compiled again.
"""

from __future__ import annotations

import zlib
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from codegen.program.collectives import NONE, Meetings
from emit_c.executable.libraries import library
from emit_c.executable.runtime import slots
from emit_c.executable.tiles import MissingTiles
from hlo.errors.error import HloError
from optimizer.layout.result_views import StridedView

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from emit_c.contraction.library import LibraryFunction
    from emit_c.executable.compilers import Compilers
    from emit_c.program.emit import Program


# A program counts the bytes of its memory in s64, and needs some for alignment.
MOST_BYTES = 2**62


@dataclass(frozen=True, slots=True)
class Built:
    """A compiled program.

    Attributes
    ----------
    library : the file that the compiler made.
    packed : the C that was compiled, as `packed` makes it.
    arena_bytes : of the memory that a call takes, with that of each thread.
    donated, functions : as of `Program`.
    constants : the bytes of its large constants.
    tiles : the register tiles that it calls.
    views : by its number among the results, how an array is to be seen.
    meetings : as of `Program`.
    """

    library: Path
    packed: bytes
    arena_bytes: int
    donated: Mapping[int, int]
    functions: tuple[str, ...]
    constants: tuple[NDArray[np.uint8], ...]
    tiles: tuple[LibraryFunction, ...] = ()
    views: Mapping[int, StridedView] = field(default_factory=dict[int, StridedView])
    meetings: Meetings = NONE

    @property
    def source(self) -> str:
        """The C that was compiled."""
        return zlib.decompress(self.packed).decode(errors="surrogateescape")


def packed(source: str) -> bytes:
    """A text in a fifth of its bytes."""
    return zlib.compress(source.encode(errors="surrogateescape"), level=1)


def build(
    program: Program,
    views: Mapping[int, StridedView] | None = None,
    running: Compilers | None = None,
    tiles: MissingTiles | None = None,
    check: Callable[[], None] = lambda: None,
) -> Built:
    """Compile a program, or find it compiled.

    Parameters
    ----------
    running : compilers that may be at work on some of its files already.
    tiles : those that may be compiled already; by default nothing is known of any.
    check : what to do while compilers are at work; what it raises comes before their errors.

    Raises
    ------
    HloError
        HLO113 if there are not as many addresses as the program needs bytes, HLO180 if there is no
        compiler, HLO182 if it refuses the source.
    """
    arena_bytes = program.arena_bytes + slots() * program.slot_bytes
    if arena_bytes > MOST_BYTES:
        raise HloError("HLO113", f"it needs {arena_bytes:,} bytes, more than there are addresses")
    tiles = tiles or MissingTiles()
    tiles.look(program.parts.tiles)

    def meanwhile_done() -> bytes:
        check()
        return packed(program.source)

    with ThreadPoolExecutor(2) as meanwhile:
        compiled = meanwhile.submit(tiles.compile)
        files = program.files(slots())
        waiting: list[Future[bytes]] = []
        try:
            # Python runs one thread at a time, so compilers begin first.
            shared_object = library(
                files,
                running=running,
                begun=lambda: waiting.append(meanwhile.submit(meanwhile_done)),
            )
        finally:
            text = (waiting or [meanwhile.submit(meanwhile_done)])[0].result()
        compiled.result()
    return Built(
        library=shared_object,
        packed=text,
        arena_bytes=arena_bytes,
        donated=program.donated,
        functions=tuple(program.functions),
        constants=tuple(
            np.ascontiguousarray(c).reshape(-1).view(np.uint8) for c in program.constants
        ),
        tiles=program.parts.tiles,
        views=views or {},
        meetings=program.meetings,
    )
