"""The system's compilers of C and C++, and the flags that they understand."""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
from functools import cache
from pathlib import Path

from hlo.errors.error import HloError

COMPILERS = ("cc", "gcc", "clang")
CPP_COMPILERS = ("g++", "clang++", "c++")
# How gcc and clang tell for which system they compile, and the families' other names.
_TARGET = re.compile(r"^Target: ([^-\s]+)", re.MULTILINE)
_OTHER_NAMES = {"amd64": "x86_64", "arm64": "aarch64"}
# The first gcc that can tune code for Sapphire Rapids, and an instruction that came with it.
_KNOWS_SAPPHIRE_RAPIDS, _TILES = 11, "amx_tile"
_ADVICE = (
    "Debian, Ubuntu: apt install gcc; Fedora: dnf install gcc; macOS: xcode-select --install",
    "another compiler can be named by the environment variable CC",
)
_CPP_ADVICE = (
    "Debian, Ubuntu: apt install g++; Fedora: dnf install gcc-c++; macOS: xcode-select --install",
    "another compiler can be named by the environment variable CXX",
)


def find_compiler() -> tuple[str, ...]:
    """The system's C compiler, as the beginning of a command: $CC, else cc, gcc or clang.

    Raises
    ------
    HloError
        HLO180 if there is none.
    """
    return _found("CC", os.environ.get("CC", ""), os.environ.get("PATH", ""))


def find_cpp_compiler() -> tuple[str, ...]:
    """The system's C++ compiler, as the beginning of a command: $CXX, else g++ or clang++.

    Raises
    ------
    HloError
        HLO180 if there is none.
    """
    return _found("CXX", os.environ.get("CXX", ""), os.environ.get("PATH", ""))


@cache
def _found(variable: str, named: str, path: str) -> tuple[str, ...]:
    """The compiler of an environment; $PATH is searched once, not at every question."""
    language, names, advice = (
        ("C", COMPILERS, _ADVICE) if variable == "CC" else ("C++", CPP_COMPILERS, _CPP_ADVICE)
    )
    try:
        chosen = shlex.split(named)
    except ValueError as error:
        message = f"${variable} is {named!r}, which no shell would understand: {error}"
        raise HloError("HLO180", message, notes=advice) from error
    if chosen:
        if shutil.which(chosen[0], path=path):
            return tuple(chosen)
        message = f"there is no {language} compiler: ${variable} is {chosen[0]!r}"
        raise HloError("HLO180", message, notes=advice)
    for name in names:
        if shutil.which(name, path=path):
            return (name,)
    message = f"there is no {language} compiler: none of {', '.join(names)}"
    raise HloError("HLO180", message, notes=advice)


@cache
def version_text(compiler: tuple[str, ...]) -> str:
    """The output of a compiler about its version, and about the system for which it compiles.

    Raises
    ------
    HloError
        HLO180 if it does not run, or is no compiler like gcc and clang.
    """
    named = shlex.join(compiler)
    try:
        ran = subprocess.run([*compiler, "-v"], capture_output=True, text=True, check=False)
    except OSError as error:
        message = f"the C compiler {named!r} does not run: {error.strerror}"
        raise HloError("HLO180", message, notes=_ADVICE) from error
    text = ran.stdout + ran.stderr
    if ran.returncode or not _TARGET.search(text):
        says = text.strip().splitlines()[-1:] or [f"nothing, and its status is {ran.returncode}"]
        message = f"{named!r} is no C compiler like gcc or clang: asked for its version (-v), "
        raise HloError("HLO180", message + f"it says {says[0][:200]}", notes=_ADVICE)
    return text


def family(compiler: tuple[str, ...]) -> str:
    """The family of processors that a compiler compiles for, as `x86_64` or `aarch64`."""
    match = _TARGET.search(version_text(compiler))
    assert match, compiler
    return family_named(match[1])


def family_named(name: str) -> str:
    """A family of processors by one name, whoever names it."""
    return _OTHER_NAMES.get(name.lower(), name.lower())


def is_gcc(compiler: tuple[str, ...]) -> bool:
    """Whether a compiler is gcc, by its own answer, as its name may be `cc`."""
    return bool(re.search("^gcc version", version_text(compiler), re.MULTILINE))


@cache
def find_linker(compiler: tuple[str, ...]) -> tuple[str, str] | None:
    """The linker that gcc runs, and the library of functions that its code may call.

    None if gcc names no linker that runs, or no library that is a file.
    """
    linker = shutil.which(_told(compiler, "-print-prog-name=ld"))
    library = _told(compiler, "-print-libgcc-file-name")
    return (linker, library) if linker and Path(library).is_file() else None


def _told(compiler: tuple[str, ...], question: str) -> str:
    """A compiler's answer to a question about itself; empty where the compiler does not run."""
    try:
        process = subprocess.run([*compiler, question], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return process.stdout.strip()


def is_told_a_processor(compiler: tuple[str, ...]) -> bool:
    """Whether $CC says for which processor of the family code is made."""
    return any(flag.startswith(("-march=", "-mcpu=")) for flag in compiler)


def machine_flags(compiler: tuple[str, ...]) -> tuple[str, ...]:
    """The flags of a compiler for the processor: to use all that this machine's has.

    Where $CC names a processor, or compiles for another family, that is left to it. ARM's
    compilers call by -mcpu what x86's call by -march.
    """
    kind = family(compiler)
    chosen = is_told_a_processor(compiler) or kind != family_named(platform.machine())
    if kind == "x86_64":
        # Compilers would take vectors of half the width that the processor has.
        own = () if chosen else ("-march=native", *_tuning(compiler))
        return (*own, "-mprefer-vector-width=512")
    return ("-mcpu=native",) if kind == "aarch64" and not chosen else ()


def _tuning(compiler: tuple[str, ...]) -> tuple[str, ...]:
    """The processor for which gcc weighs instructions, where it may not know this one.

    gcc finds the instructions of any processor, but what they cost only by its number. Of one that
    is newer than itself it assumes nothing; then it loads what lies apart one by one, where an
    instruction would gather it. gcc 12 knows Sapphire Rapids, but not what came after it: there a
    sorting network takes 3.6 times as long without this, a forest 3.0, a page rank 1.4, and of 139
    programs and kernels only Viterbi takes longer with it, by 5 %.
    """
    version = re.search(r"^gcc version (\d+)", version_text(compiler), re.MULTILINE)
    known = version is not None and int(version[1]) >= _KNOWS_SAPPHIRE_RAPIDS
    return ("-mtune=sapphirerapids",) if known and _TILES in processor_flags() else ()


def processor_flags() -> list[str]:
    """The instructions of this machine's processor, as Linux calls them."""
    lines = described().splitlines()
    return next((line for line in lines if line.startswith("flags")), "").split()


@cache
def macros(command: tuple[str, ...]) -> frozenset[str]:
    """The names of the macros that a compiler defines by itself; none where it fails."""
    query = [*command, "-dM", "-E", "-x", "c", os.devnull]
    process = subprocess.run(query, capture_output=True, text=True, check=False)
    return frozenset(line.split()[1] for line in process.stdout.splitlines())


@cache
def described() -> str:
    """The description of the processor, for the key of a cache that machines may share."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.platform() + platform.processor()
    wanted = ("model name", "flags", "Features", "CPU part")
    return "\n".join(dict.fromkeys(line for line in lines if line.startswith(wanted)))


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
        return family(compiler) == "x86_64" and is_gcc(compiler)
    except HloError:
        return False
