"""Compilation of a file of CUDA C to a cubin or to PTX, with each kernel's resources."""

from __future__ import annotations

import ctypes
import hashlib
import json
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from emit_cuda.cuda_file import CudaFile, explained
from emit_cuda.nvrtc.library import nvrtc
from hlo.errors.error import HloError
from hlo.support.cache import read_sealed
from hlo.support.libraries import find_library, keep_library

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from emit_cuda.nvrtc.library import Nvrtc

# An H100's; A100: sm_80, B200: sm_100.
ARCHITECTURE = "sm_90"
OPTIONS = (
    "--std=c++17",
    "--generate-line-info",
    # A product is rounded before something is added to it, as everywhere else in PyHLO.
    "--fmad=false",
    "--ptxas-options=-v",
)
# From CUDA 12.9 on, NVRTC has a cache of its own, whose cubins come without the assembler's report.
NO_CACHE = "--no-cache"
HAS_CACHE = (12, 9)
# Where a GPU has instructions that later ones need not have: its name with these.
OWN_INSTRUCTIONS = {"sm_90": "sm_90a"}
# The form of NVRTC's errors, and of its assembler's report on a kernel.
_ERROR = re.compile(r"^([^(\n]*)\((\d+)\): (?:catastrophic )?error: (.*)$", re.MULTILINE)
_USAGE = re.compile(
    r"Compiling entry function '(?P<name>\w+)'.*?"
    r"(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores.*?"
    r"Used (?P<registers>\d+) registers(?:[^\n]*?(?P<shared>\d+) bytes smem)?",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Usage:
    """The resources of a multiprocessor that a kernel takes.

    Attributes
    ----------
    registers : of each thread.
    shared_bytes : of each block, beside `extern __shared__` memory.
    stack_bytes, spilled_bytes : of each thread, in slow memory.
    """

    registers: int
    shared_bytes: int
    stack_bytes: int
    spilled_bytes: int


@dataclass(frozen=True, slots=True)
class Compiled:
    """A compiled file.

    Attributes
    ----------
    code : a cubin, or PTX.
    names : of each kernel, its symbol in `code`.
    usage : by kernel; empty for PTX, which an assembler still has to read.
    log : the compiler's words.
    """

    code: bytes
    names: Mapping[str, str]
    usage: Mapping[str, Usage]
    log: str


def cubin(
    source: str,
    architecture: str = ARCHITECTURE,
    *,
    name: str = "kernels.cu",
    options: Sequence[str] = (),
) -> Compiled:
    """Compile a file for the GPUs of an architecture, or find it in the cache.

    Parameters
    ----------
    architecture : as `sm_90`, with the instructions that are only that GPU's.
    name : of the file, for messages.
    options : further ones of NVRTC.

    Raises
    ------
    HloError
        HLO190 if NVRTC refuses the file, HLO195 if there is no NVRTC.
    """
    named = OWN_INSTRUCTIONS.get(architecture, architecture)
    return _compiled(CudaFile(source, name), named, (*OPTIONS, *options), "CUBIN")


def ptx(
    source: str,
    architecture: str = ARCHITECTURE,
    *,
    name: str = "kernels.cu",
    options: Sequence[str] = (),
) -> str:
    """The PTX of a file: instructions of no GPU in particular, as text.

    Parameters
    ----------
    options : further ones of NVRTC.

    Raises
    ------
    HloError
        HLO190 if NVRTC refuses the file, HLO195 if there is no NVRTC.
    """
    virtual = architecture.replace("sm_", "compute_")
    compiled = _compiled(CudaFile(source, name), virtual, (*OPTIONS[:-1], *options), "PTX")
    return compiled.code.rstrip(b"\0").decode()


def _compiled(file: CudaFile, architecture: str, options: Sequence[str], form: str) -> Compiled:
    compiler = nvrtc()
    includes = [f"--include-path={folder}" for folder in compiler.includes]
    flags = [f"--gpu-architecture={architecture}", *options, *includes]
    if compiler.version >= HAS_CACHE:
        flags.append(NO_CACHE)
    key = "\0".join((form, str(compiler.version), *flags, file.name, file.text))
    name = f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.{form.lower()}"
    if (path := find_library(name)) and (data := read_sealed(path)) is not None:
        return _read(data)
    compiled = _by_nvrtc(compiler, file, flags, form)
    keep_library(name, _written(compiled))
    return compiled


def _by_nvrtc(compiler: Nvrtc, file: CudaFile, settings: Sequence[str], form: str) -> Compiled:
    program = ctypes.c_void_p()
    text, name = file.text.encode(errors="replace"), file.name.encode(errors="replace")
    compiler.call("nvrtcCreateProgram", ctypes.byref(program), text, name, 0, None, None)
    try:
        for kernel in file.kernels:
            compiler.call("nvrtcAddNameExpression", program, kernel.encode())
        options = (ctypes.c_char_p * len(settings))(*(option.encode() for option in settings))
        status = compiler.call("nvrtcCompileProgram", program, len(settings), options)
        log = compiler.data(program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
        if status:
            message = f"NVRTC refuses the CUDA file ({settings[0]}): {compiler.message(status)}"
            raise HloError("HLO190", message, notes=explained(log, file, _ERROR))
        names = {kernel: _symbol(compiler, program, kernel) for kernel in file.kernels}
        code = compiler.data(program, form)
    finally:
        compiler.call("nvrtcDestroyProgram", ctypes.byref(program))
    return Compiled(code, names, _usage(log, names), log)


def _symbol(compiler: Nvrtc, program: ctypes.c_void_p, kernel: str) -> str:
    symbol = ctypes.c_char_p()
    compiler.call("nvrtcGetLoweredName", program, kernel.encode(), ctypes.byref(symbol))
    return (symbol.value or kernel.encode()).decode()


def _usage(log: str, names: Mapping[str, str]) -> dict[str, Usage]:
    of_symbol = {
        match["name"]: Usage(
            int(match["registers"]),
            int(match["shared"] or 0),
            int(match["stack"]),
            int(match["stores"]),
        )
        for match in _USAGE.finditer(log)
    }
    return {name: of_symbol[symbol] for name, symbol in names.items() if symbol in of_symbol}


def _written(compiled: Compiled) -> bytes:
    """The bytes for the cache: a line of JSON, and the code after it."""
    usage = {name: asdict(usage) for name, usage in compiled.usage.items()}
    head = {"names": dict(compiled.names), "usage": usage, "log": compiled.log}
    return json.dumps(head).encode() + b"\n" + compiled.code


def _read(data: bytes) -> Compiled:
    line, _, code = data.partition(b"\n")
    head = json.loads(line)
    usage = {name: Usage(**usage) for name, usage in head["usage"].items()}
    return Compiled(code, head["names"], usage, head["log"])
