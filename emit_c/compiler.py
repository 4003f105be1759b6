"""From C to a loaded library: the system's compiler, and a cache of what it made.

The cache is keyed by what goes in: source, flags and the compiler's version. A library is written
under a name of its own and then renamed, so that processes that compile at the same time never see
half a file. When the cache grows beyond its bound, the libraries used longest ago are removed.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from hlo.error import HloError

FLAGS = (
    *("-std=c11", "-O1", "-fopenmp-simd", "-march=native", "-mprefer-vector-width=512"),
    *("-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"),
    # Integers wrap around, and bytes of the arena have the type that was last written.
    *("-fwrapv", "-fno-strict-aliasing", "-fPIC", "-shared", "-w"),
)
COMPILERS = ("cc", "gcc", "clang")
CACHE_BYTES = 1 << 30


def find_compiler() -> tuple[str, ...]:
    """The system's C compiler, as the beginning of a command: $CC, else cc, gcc or clang.

    Raises
    ------
    HloError
        HLO180 if there is none.
    """
    chosen = shlex.split(os.environ.get("CC", ""))
    if chosen:
        if shutil.which(chosen[0]):
            return tuple(chosen)
        raise HloError("HLO180", f"there is no C compiler: $CC is {chosen[0]!r}", notes=_ADVICE)
    for name in COMPILERS:
        if shutil.which(name):
            return (name,)
    raise HloError(
        "HLO180", f"there is no C compiler: none of {', '.join(COMPILERS)}", notes=_ADVICE
    )


_ADVICE = (
    "Debian, Ubuntu: apt install gcc; Fedora: dnf install gcc; macOS: xcode-select --install",
    "another compiler can be named by the environment variable CC",
)


@cache
def _version(compiler: tuple[str, ...]) -> str:
    found = subprocess.run([*compiler, "--version"], capture_output=True, text=True, check=False)
    return found.stdout


def cache_folder() -> Path:
    """Where compiled modules are kept: by the XDG rules, in the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME")
    root = Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    return root / "pyhlo" / "c"


def load(source: str) -> ctypes.CDLL:
    """Compile a source, or find it compiled, and load it.

    Raises
    ------
    HloError
        HLO180 if there is no compiler, HLO182 if it refuses the source.
    """
    compiler = find_compiler()
    key = "\0".join((*compiler, _version(compiler), *FLAGS, source))
    name = hashlib.sha256(key.encode()).hexdigest()[:32]
    try:
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="pyhlo-"))
    library = folder / f"{name}.so"
    try:
        os.utime(library)  # it was used just now, so it is not the first to be removed
    except FileNotFoundError:
        _compile(compiler, source, library)
        _trim(folder)
    return ctypes.CDLL(str(library))


def _compile(compiler: tuple[str, ...], source: str, library: Path) -> None:
    with tempfile.TemporaryDirectory(dir=library.parent, prefix="build-") as folder:
        text, made = Path(folder) / "module.c", Path(folder) / "module.so"
        text.write_text(source)
        command = [*compiler, *FLAGS, "-o", str(made), str(text), "-lm"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            notes = explain(result.stderr, source)
            raise HloError("HLO182", "the C compiler refuses the emitted code", notes=notes)
        made.replace(library)


def explain(messages: str, source: str) -> list[str]:
    """The compiler's errors, each with the function in which it is."""
    lines = source.split("\n")
    found: list[str] = []
    for number, message in re.findall(r"^[^:\n]*:(\d+):.*?error: (.*)$", messages, re.MULTILINE):
        line = int(number)
        heads = (lines[i] for i in range(min(line, len(lines)) - 1, -1, -1))
        head = next((h for h in heads if re.match(r"(static )?void \w+\(", h)), "")
        function = re.sub(r"\(.*", "", head).removeprefix("static ").removeprefix("void ")
        found.append(
            f"line {line}, in {function or 'the prelude'}: {message}: {lines[line - 1].strip()}"
        )
    return found[:10] or [messages.strip()[:2000]]


def _trim(folder: Path) -> None:
    """Keep the cache below its bound; files that vanish meanwhile are another process's work."""
    entries: list[tuple[float, int, Path]] = []
    for path in folder.glob("*.so"):
        try:
            status = path.stat()
        except FileNotFoundError:
            continue
        entries.append((status.st_mtime, status.st_size, path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries)[:-1]:
        if total <= CACHE_BYTES:
            break
        path.unlink(missing_ok=True)
        total -= size
