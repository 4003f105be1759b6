"""From C to a loaded library: the system's compiler, and a cache of what it made.

The cache is keyed by what goes in: sources, flags, the compiler's version and the processor. A
library is written under a name of its own and then renamed, so that processes that compile at the
same time never see half a file. When the cache grows beyond its bound, the libraries used longest
ago are removed.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from emit_c.executable.places import place
from hlo.cache import cache_folder
from hlo.error import HloError

if TYPE_CHECKING:
    from collections.abc import Sequence

OPTIMIZED = (
    *("-O1", "-fopenmp-simd", "-march=native", "-mprefer-vector-width=512"),
    *("-fno-math-errno", "-fno-trapping-math"),
    # At -O1, gcc leaves out the vzeroupper before calls of the C library, whose SSE code then
    # takes 30 times as long.
    "-fexpensive-optimizations",
)
# What only gcc understands. To find out which bits of numbers are known takes it a sixth of its
# time, and vectors gain nothing; the plugin is for code that is optimized when it is linked.
OF_GCC = ("-fno-tree-bit-ccp", "-fno-use-linker-plugin")
# What the emitted code means: integers wrap around, bytes of the arena have the type that was last
# written, and products are rounded before they are added to.
MEANING = ("-std=c11", "-ffp-contract=off", "-fwrapv", "-fno-strict-aliasing")
# The library of threads is loaded first, and its symbols are found when the module is loaded.
SHARED = (
    "-fPIC",
    "-shared",
    *(("-undefined", "dynamic_lookup") if sys.platform == "darwin" else ()),
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


@cache
def _processor() -> str:
    """What the code is compiled for: a home folder may be shared by machines of many kinds."""
    try:
        lines = Path("/proc/cpuinfo").read_text().split("\n")
    except OSError:
        return platform.platform() + platform.processor()
    wanted = ("model name", "flags", "Features", "CPU part")
    return "\n".join(dict.fromkeys(line for line in lines if line.startswith(wanted)))


@dataclass(frozen=True, slots=True)
class Toolchain:
    """What makes a library of C, and for what machine.

    Attributes
    ----------
    command : the compiler, with the flags that only this one understands.
    version : as it tells it.
    processor : what code is made for.
    """

    command: tuple[str, ...]
    version: str
    processor: str

    @property
    def key(self) -> str:
        """All of it, for the key of a cache."""
        return "\0".join((*self.command, self.version, self.processor))


def toolchain() -> Toolchain:
    """What makes a library of C here.

    Raises
    ------
    HloError
        HLO180 if there is no compiler.
    """
    compiler = find_compiler()
    version = _version(compiler)
    # Its name may be `cc`, but it says whose work it is.
    own = OF_GCC if "Free Software Foundation" in version else ()
    return Toolchain((*compiler, *own), version, _processor())


@cache
def _own_folder() -> Path:
    """A folder of this process, where the cache can't be written."""
    return Path(tempfile.mkdtemp(prefix="pyhlo-"))


def library(
    units: Sequence[str], flags: Sequence[str] = OPTIMIZED, linked: Sequence[str] = ("-lm",)
) -> Path:
    """Compile some C files to one shared library, or find it compiled.

    Parameters
    ----------
    units : the texts of the files; several are compiled at the same time.
    linked : flags for linking.

    Raises
    ------
    HloError
        HLO180 if there is no compiler, HLO182 if it refuses a file.
    """
    made = library_path(units, flags, linked)
    try:
        os.utime(made)  # it was used just now, so it is not the first to be removed
    except FileNotFoundError:
        _compile((*toolchain().command, *MEANING, *flags, "-w"), units, linked, made)
        trim(made.parent, "*.so")
    return made


def library_path(
    units: Sequence[str], flags: Sequence[str] = OPTIMIZED, linked: Sequence[str] = ("-lm",)
) -> Path:
    """Where the library of some C files is, or will be."""
    key = "\0".join((toolchain().key, *flags, *linked, *units))
    name = hashlib.sha256(key.encode()).hexdigest()[:32]
    return (cache_folder("c") or _own_folder()) / f"{name}.so"


def _compile(
    command: Sequence[str], units: Sequence[str], linked: Sequence[str], made: Path
) -> None:
    with tempfile.TemporaryDirectory(dir=made.parent, prefix="build-") as folder:
        texts = [Path(folder) / f"part{k}.c" for k in range(len(units))]
        for path, unit in zip(texts, units, strict=True):
            path.write_text(unit)
        whole = Path(folder) / "module.so"
        if len(units) == 1:
            _run([[*command, *SHARED, "-o", str(whole), str(texts[0]), *linked]], units)
        else:
            objects = [str(path.with_suffix(".o")) for path in texts]
            pairs = zip(texts, objects, strict=True)
            _run([[*command, "-fPIC", "-c", "-o", o, str(path)] for path, o in pairs], units)
            _run([[*command, *SHARED, "-o", str(whole), *objects, *linked]], ["" for _ in "1"])
        whole.replace(made)


def _run(commands: Sequence[Sequence[str]], units: Sequence[str]) -> None:
    """Run a compiler for each unit, all at the same time."""
    running = [
        subprocess.Popen(c, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for c in commands
    ]
    told = [process.communicate()[0] for process in running]
    for process, messages, unit in zip(running, told, units, strict=True):
        if process.returncode:
            notes = explain(messages, unit)
            raise HloError("HLO182", "the C compiler refuses the emitted code", notes=notes)


def explain(messages: str, source: str) -> list[str]:
    """The compiler's errors, each with its place, and what the kernel there computes."""
    found: list[str] = []
    for number, message in re.findall(r"^[^:\n]*:(\d+):.*?error: (.*)$", messages, re.MULTILINE):
        where = place(source, int(number))
        found += [f"{message}: {where}", *where.about]
    return found[:20] or [messages.strip()[:2000]]


def trim(folder: Path, pattern: str) -> None:
    """Keep a cache below its bound; files that vanish meanwhile are another process's work.

    Parameters
    ----------
    pattern : of the names of its files.
    """
    entries: list[tuple[float, int, Path]] = []
    for path in folder.glob(pattern):
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
