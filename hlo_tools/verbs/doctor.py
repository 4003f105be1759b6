"""Look at the installation: what PyHLO needs, what it can use, and what to do where it is missing.

The exit status is 0 if everything that is needed is there, and 2 if not.
"""

from __future__ import annotations

import platform
import shutil
import sys
import sysconfig
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.support import compiler
from hlo.support.cache import cache
from hlo_tools import cached
from hlo_tools.rooms import HOME, explain_files, in_the_way

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from hlo_tools.arguments import Parser

OLDEST_PYTHON = (3, 11)
# The use of an optional package; the extra of `pip install 'pyhlo[EXTRA]'` that brings it.
OPTIONAL = {
    "pycuda": ("runs the emitted CUDA on a GPU", "cuda"),
    "nvidia-cuda-nvrtc": ("compiles the emitted CUDA without a GPU", "cuda-compile"),
    "pytest": ("runs the tests", "test"),
    "jax": ("is what the benchmarks compare with", "bench"),
}


@dataclass(frozen=True, slots=True)
class InstalledPart:
    """One thing that was looked at.

    Attributes
    ----------
    name : of the thing.
    found : where or which it is; empty if it is missing.
    advice : what to do where it is missing, or what it would be for.
    needed : whether nothing works without it.
    """

    name: str
    found: str
    advice: str = ""
    needed: bool = False

    @property
    def mark(self) -> str:
        """`ok`, `MISSING` if it is needed, or `absent`."""
        return "ok" if self.found else "MISSING" if self.needed else "absent"


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    parser.add_argument(
        "--cache",
        action="store_true",
        help="only show what the cache holds, and remove what is broken or was left unfinished",
    )
    parser.add_argument("--clear-cache", action="store_true", help="remove all that it holds")


def run(arguments: Namespace) -> int:
    """Print a line a finding."""
    if arguments.cache or arguments.clear_cache:
        if arguments.clear_cache:
            cached.clear()
        print("\n".join(cached.clean()))
        return 2 if cache().refused else 0
    findings = list(examine())
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        detail = finding.found or finding.advice
        print(f"{finding.mark:7}  {finding.name:{width}}  {detail}")
    return 2 if any(f.needed and not f.found for f in findings) else 0


def examine() -> Iterator[InstalledPart]:
    """Look at everything, the needed things first."""
    wanted = ".".join(map(str, OLDEST_PYTHON))
    fresh = platform.python_version() if sys.version_info >= OLDEST_PYTHON else ""
    yield InstalledPart("Python", fresh, f"install Python {wanted} or newer", needed=True)
    blocked = in_the_way()
    advice = explain_files(blocked) if blocked else ""
    yield InstalledPart("own packages", "" if blocked else str(HOME), advice, needed=True)
    for name in required_packages():
        yield package(name, f"pip install {name}", needed=True)
    try:
        yield InstalledPart("C compiler", c_compiler())
    except HloError as error:
        yield InstalledPart("C compiler", "", f"compiles what emit_c writes; {error.message}")
    try:
        yield InstalledPart("C++ compiler", cpp_compiler())
    except HloError as error:
        yield InstalledPart("C++ compiler", "", f"runs CUDA C on the processor; {error.message}")
    yield InstalledPart(
        "Python.h",
        python_header(),
        "calls of compiled modules take some microseconds more without it: install Python's "
        "headers (Debian, Ubuntu: apt install python3-dev)",
    )
    for name, (purpose, extra) in OPTIONAL.items():
        yield package(name, f"{purpose}: pip install 'pyhlo[{extra}]'")
    own_cache = cache()
    why = f"{own_cache.root or 'the cache'} is not used: {own_cache.refused}; or set XDG_CACHE_HOME"
    yield InstalledPart("cache", "" if own_cache.refused else str(own_cache.root), why)


def required_packages() -> list[str]:
    """The run-time dependencies of the installed distribution, without their versions."""
    try:
        lines = requires("pyhlo") or []
    except PackageNotFoundError:
        return []
    plain = (line for line in lines if "extra ==" not in line)
    return [line.split(">")[0].split("=")[0].strip() for line in plain]


def package(name: str, advice: str, *, needed: bool = False) -> InstalledPart:
    """Whether a distribution is installed and its files can be found."""
    try:
        installed = version(name)
    except PackageNotFoundError:
        return InstalledPart(name, "", advice, needed)
    module = find_spec(name.replace("-", "_"))
    where = Path(module.origin).parent if module and module.origin else ""
    return InstalledPart(name, f"{installed} {where}".strip(), advice, needed)


def c_compiler() -> str:
    """The path of the C compiler that emitted code is compiled with.

    Raises
    ------
    HloError
        HLO180 if there is none, or what $CC names is none.
    """
    command = compiler.find_compiler()
    compiler.version_text(command)
    return str(shutil.which(command[0]))


def cpp_compiler() -> str:
    """The path of the C++ compiler with which CUDA C runs on the processor.

    Raises
    ------
    HloError
        HLO180 if there is none, or what $CXX names is none.
    """
    command = compiler.find_cpp_compiler()
    compiler.version_text(command)
    return str(shutil.which(command[0]))


def python_header() -> str:
    """The path of Python's header for C; empty if it is not there."""
    path = Path(sysconfig.get_path("include")) / "Python.h"
    return str(path) if path.exists() else ""
