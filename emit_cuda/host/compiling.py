"""From a file of CUDA C to a library of the processor: the system's C++ compiler does it.

The file is compiled as it is, after `cuda_on_host.h`. Threads, and in checked mode the checker, are
compiled once and linked to every file.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from emit_cuda.cuda_file import CudaFile, explained
from emit_cuda.host.inline_ptx import with_calls
from hlo.errors.error import HloError
from hlo.support.cache import read_sealed
from hlo.support.compiler import described, find_cpp_compiler, is_gcc, machine_flags, version_text
from hlo.support.libraries import find_library, keep_library, libraries_folder, own_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = Path(__file__).parent
HEADER = "cuda_on_host.h"
FLAGS = (
    *("-std=c++17", "-O1", "-fPIC", "-fvisibility=hidden", "-pthread", "-w"),
    # A product is rounded before something is added to it; bytes have the type last written.
    *("-ffp-contract=off", "-fno-strict-aliasing", "-fno-math-errno", "-fno-trapping-math"),
    *("-fno-exceptions", "-fno-rtti", "-fno-stack-protector", "-fno-omit-frame-pointer"),
)
# Lines are kept as version 4 of DWARF has them: of version 5, tools confuse the names of files.
CHECKED = ("-DCUDA_ON_HOST_CHECKED", "-g1", "-gdwarf-4")
# Options that insert calls of the checker. The compiler's own libraries that would answer are not
# linked.
WATCHED = (
    *("-fsanitize=thread,bounds,signed-integer-overflow,alignment", "-fsanitize-recover=all"),
    "-fno-sanitize=vptr",
)
WATCHED_BY_GCC = ("--param=tsan-instrument-func-entry-exit=0",)
UNCHECKED = ("-fwrapv",)

# An error as gcc and clang tell it.
_ERROR = re.compile(r"^([^:\n]*):(\d+):.*?error: (.*)$", re.MULTILINE)
# Shared memory whose size the launch tells.
_DYNAMIC = re.compile(
    r"\bextern\s+(__align__\s*\([^)]*\)\s*)?__shared__"
    r"([^;\[\]()]*?(?:\([^)]*\)[^;\[\]()]*)?(?:\[[^\]]*\]\s*)+);"
)


def compiled(file: CudaFile, kernels: Sequence[str], *, checked: bool) -> Path:
    """The library of a file, sealed as the cache keeps it.

    Parameters
    ----------
    kernels : that can be launched; an instance of a template is named as C++ does, `sum<float>`.
    checked : watch every access.

    Raises
    ------
    HloError
        HLO180 if there is no C++ compiler, HLO190 if it refuses the file.
    """
    compiler = find_cpp_compiler()
    flags = (*FLAGS, *(CHECKED if checked else UNCHECKED))
    watched = (*WATCHED, *(WATCHED_BY_GCC if is_gcc(compiler) else ())) if checked else ()
    command = (*compiler, *machine_flags(compiler), *flags)
    text = as_cpp(file, kernels)
    own = [path.read_text() for path in sorted(HERE.rglob("*")) if path.suffix in (".h", ".cpp")]
    made_of = "\0".join((*command, *watched, version_text(compiler), described(), *own))
    name = f"{_digest(made_of, text)}.cuda.so"
    if path := find_library(name):
        return path
    objects = _parts(command, made_of, checked=checked)
    with TemporaryDirectory(dir=libraries_folder(), prefix="build-") as folder:
        source, library = Path(folder) / "kernels.cpp", Path(folder) / "kernels.so"
        source.write_text(text)
        threads = Path(folder) / "threads.a"
        threads.write_bytes(objects)
        own_command = (*command, *watched, "-I", str(HERE / "include"), "-I", str(HERE))
        header = ("-include", str(_header(own_command)))
        _run([*own_command, *header, "-c", str(source), "-o", f"{library}.o"], file)
        _run([*command, "-shared", "-o", str(library), f"{library}.o", str(threads)], file)
        return keep_library(name, library.read_bytes())


def as_cpp(file: CudaFile, kernels: Sequence[str]) -> str:
    """The file as C++: with memory for its `extern __shared__` arrays, and a table of kernels."""
    shared = r'extern \1 CUDA_DYNAMIC_SHARED\2 asm("cuda_dynamic_shared");'
    text, count = _DYNAMIC.subn(shared, with_calls(file.text))
    text = re.sub(r"\bstatic\s+__shared__", "__shared__", text)
    quoted = file.name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    rows = "".join(f'    CUDA_KERNEL("{name}", ({name})),\n' for name in kernels)
    memory = (
        'extern "C" {\nCUDA_DYNAMIC_SHARED char cuda_dynamic_shared[CUDA_MOST_SHARED]\n'
        "    __attribute__((aligned(256)));\n}\n"
        if count
        else ""
    )
    return (
        f'#line 1 "{quoted}"\n{text}\n#line 1 "kernels"\n{memory}'
        'extern "C" __attribute__((visibility("default"))) const cuda_on_host::Kernel\n'
        f"    cuda_on_host_kernels[] = {{\n{rows}    {{nullptr, nullptr, nullptr, 0}}}};\n"
    )


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _parts(command: Sequence[str], made_of: str, *, checked: bool) -> bytes:
    """The threads and the checker, compiled and put together."""
    name = f"{_digest(made_of)}.cuda.o"
    if path := find_library(name):
        data = read_sealed(path)
        if data is not None:
            return data
    units = ("threads.cpp", "checker.cpp" if checked else "unchecked.cpp")
    with TemporaryDirectory(dir=libraries_folder(), prefix="build-") as folder:
        whole = Path(folder) / "parts.o"
        objects = [str(Path(folder) / f"{unit}.o") for unit in units]
        for unit, target in zip(units, objects, strict=True):
            _run([*command, "-O2", "-c", str(HERE / unit), "-o", target], None)
        _run([*command, "-r", "-nostdlib", "-o", str(whole), *objects], None)
        keep_library(name, whole.read_bytes())
        return whole.read_bytes()


def _header(command: tuple[str, ...]) -> Path:
    """The header of every file, which the second file of a process finds compiled.

    To compile it takes as long as most files do, 0.1 s. It has 20 MB then, too many for the cache.
    """
    if command not in _met:
        _met.add(command)
        return HERE / HEADER
    header = own_folder() / _digest(*command) / HEADER
    if not header.exists():
        header.parent.mkdir(exist_ok=True)
        header.write_text(f'#include "{HERE / HEADER}"\n')
        # Where it can't be compiled alone, compilers read its text as they do else.
        whole = [*command, "-x", "c++-header", str(header), "-o", f"{header}.gch"]
        subprocess.run(whole, capture_output=True, check=False)
    return header


_met: set[tuple[str, ...]] = set()


def _run(command: Sequence[str], file: CudaFile | None) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise HloError(
            "HLO190",
            "the C++ compiler refuses the CUDA file",
            notes=explained(done.stderr + done.stdout, file, _ERROR)
            if file
            else [done.stderr[:2000]],
        )
