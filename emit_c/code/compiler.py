"""Which C compiler the system has, and what it understands."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
from functools import cache

from hlo.errors.error import HloError

COMPILERS = ("cc", "gcc", "clang")
_ADVICE = (
    "Debian, Ubuntu: apt install gcc; Fedora: dnf install gcc; macOS: xcode-select --install",
    "another compiler can be named by the environment variable CC",
)


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


@cache
def version(compiler: tuple[str, ...]) -> str:
    """What a compiler tells of itself."""
    found = subprocess.run([*compiler, "--version"], capture_output=True, text=True, check=False)
    return found.stdout


def is_gcc(compiler: tuple[str, ...]) -> bool:
    """Whether a compiler is gcc: its name may be `cc`, but it says whose work it is."""
    return "Free Software Foundation" in version(compiler)


def calls_with_vectors() -> bool:
    """Whether loops in lanes can call functions that take and give vectors of numbers.

    gcc compiles functions of numbers for vectors too, and knows how x86 hands vectors over; of
    other compilers and processors this is not known here.

    References
    ----------
    Intel, *Vector Function Application Binary Interface*.
    """
    try:
        compiler = find_compiler()
    except HloError:
        return False
    return platform.machine() in ("x86_64", "AMD64") and is_gcc(compiler)
