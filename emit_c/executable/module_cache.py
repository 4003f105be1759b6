"""The compilation cache: built modules on disk, by a key of all that a build depends on.

A process that compiles a module again, as a script does that is run again, needs neither the
optimizer nor the emitter then. The key holds the module's text with its constants, the sources of
PyHLO, the libraries whose arithmetic folds constants, the compiler, and how many threads there are.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from codegen.program.collectives import Meetings
from emit_c.code import processor
from emit_c.code.foreign import PROVIDED
from emit_c.contraction.library import as_json, of_json
from emit_c.executable.built import Built
from emit_c.executable.runtime import slots
from emit_c.executable.toolchain import toolchain
from hlo.attributes import Constant
from hlo.support.cache import cache_folder, read_sealed, write_sealed
from hlo.support.libraries import find_library, is_due, tidy
from hlo.write.print import Options, print_module
from optimizer.layout.result_views import StridedView

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hlo.instruction import Module
    from hlo.types.literal import Literal

# Modules with more constants than this are built again: most of their file would be numbers.
MOST_CONSTANT_BYTES = 64 << 20
_WRITTEN_BY_US = ("hlo", "interpreter", "optimizer", "codegen", "emit_c")
_SOURCES = {".py", ".c", ".h", ".lark"}
_TEXT = Options(print_metadata=False, print_large_constants=False)


def cache_key(module: Module, *choices: object) -> str:
    """The cache's name for the built module: a hash of all that it is built of.

    Parameters
    ----------
    choices : all else that decides it.
    """
    known = hashlib.sha256()
    made_for = (toolchain().key, processor.here(), slots())
    about = (print_module(module, _TEXT), _versions(), *made_for, *choices)
    known.update("\0".join(map(str, about)).encode())
    for instr in module.instructions():
        if isinstance(instr.attrs, Constant):
            for part in _bytes_of(instr.attrs.literal):
                known.update(part)
    return known.hexdigest()[:32]


def _bytes_of(literal: Literal) -> Iterator[bytes]:
    """The bytes of a literal's value, without its shape."""
    if literal.elided:
        yield f"{{...}} from {literal.first}".encode()
    elif literal.array is not None:
        yield literal.array.tobytes()
    for element in literal.elements:
        yield from _bytes_of(element)


@cache
def _versions() -> str:
    """The versions of PyHLO and of the libraries whose arithmetic folds constants."""
    ours = hashlib.sha256()
    root = Path(__file__).parents[2]
    for folder in _WRITTEN_BY_US:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in _SOURCES:
                ours.update(path.read_bytes())
    return f"{ours.hexdigest()} {np.__version__} {ml_dtypes.__version__}"


def load_built(key: str, module: Module) -> Built | None:
    """The library under a key; None where there is none, or where files are gone or broken."""
    folder = cache_folder("built")
    if folder is None:
        return None
    path = folder / f"{key}.npz"
    held = read_sealed(path)
    if held is None:
        return None
    with np.load(io.BytesIO(held), allow_pickle=False) as arrays:
        about: dict[str, Any] = json.loads(bytes(arrays["about"]))
        packed = arrays["source"].tobytes()
        count = len(arrays.files) - 2
        constants = tuple(arrays[f"constant{k}"] for k in range(count))
    library = find_library(about["library"]) if about["key"] == key else None
    if library is None:
        return None
    with suppress(OSError):
        os.utime(path)  # it was used just now, so it is not the first to be removed
    return Built(
        library=library,
        packed=packed,
        arena_bytes=about["arena_bytes"],
        donated={int(k): v for k, v in about["donated"].items()},
        functions=tuple(about["functions"]),
        tiles=tuple(map(of_json, about["tiles"])),
        constants=constants,
        views={int(k): StridedView(*map(tuple, v)) for k, v in about["views"].items()},
        meetings=Meetings.of_json(about["meetings"], module),
    )


def store_built(key: str, module: Module, built: Built) -> None:
    """Write a built module down, for `load_built`, where a file can be written."""
    folder = cache_folder("built")
    if folder is None or sum(c.nbytes for c in built.constants) > MOST_CONSTANT_BYTES:
        return
    # Another process does not provide such functions before it emits their calls itself.
    if not PROVIDED.keys().isdisjoint(built.functions):
        return
    about = {
        "key": key,
        "library": built.library.name,
        "arena_bytes": built.arena_bytes,
        "donated": dict(built.donated),
        "functions": built.functions,
        "tiles": [as_json(tile) for tile in built.tiles],
        "views": {k: (v.sizes, v.axes) for k, v in built.views.items()},
        "meetings": built.meetings.as_json(module),
    }
    arrays = {f"constant{k}": c for k, c in enumerate(built.constants)}
    arrays["source"] = np.frombuffer(built.packed, np.uint8)
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    write_sealed(folder / f"{key}.npz", file.getbuffer())
    if is_due(key, file.getbuffer().nbytes):
        tidy(folder, "*.npz")
