"""A compiled file of CUDA C, loaded: its kernels can be launched on the processor."""

from __future__ import annotations

import _ctypes
import ctypes
import os
import weakref
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from math import prod
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from emit_cuda.cuda_file import CudaFile
from emit_cuda.host.compiling import compiled
from emit_cuda.host.findings import CFinding, findings
from hlo.errors.error import HloError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from codegen.program.steps import Dim3
    from emit_cuda.devices import NamedMemory
    from emit_cuda.host.findings import Finding

# CUDA's limits, of every processor since 2012; of shared memory those of an H100.
MOST_THREADS = 1024
MOST_ALONG = (1024, 1024, 64)
MOST_BLOCKS = (2**31 - 1, 65535, 65535)
MOST_SHARED = 227 << 10
# Of parameters, as cuda/kernels.h numbers them.
KINDS = ("integer", "pointer", "floating", "structure")
# Of a cooperative launch, where each block has a processor thread, and each thread a stack.
MOST_BLOCKS_AT_ONCE, MOST_THREADS_AT_ONCE = 16, 1 << 13
# Findings that are told of one launch.
MOST_FINDINGS = 32
# With fewer threads than this, to start another processor thread takes longer than to do its work.
FEW_THREADS = 1 << 14


@dataclass(frozen=True, slots=True)
class KernelParameter:
    """A parameter of a kernel.

    Attributes
    ----------
    kind : one of `KINDS`.
    """

    bytes: int
    kind: str


class _CParameter(ctypes.Structure):
    bytes: int
    kind: int
    _fields_ = (("bytes", ctypes.c_int), ("kind", ctypes.c_int))


class _KernelRow(ctypes.Structure):
    name: bytes | None
    run: int
    parameters: Sequence[_CParameter]
    count: int
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("run", ctypes.c_void_p),
        ("parameters", ctypes.POINTER(_CParameter)),
        ("count", ctypes.c_int),
    )


class _CRegion(ctypes.Structure):
    _fields_ = (("address", ctypes.c_uint64), ("bytes", ctypes.c_uint64))


class _CPython(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("save", "restore", "call", "drop")),
        ("nothing", ctypes.py_object),
    )


class _CLaunch(ctypes.Structure):
    _fields_ = (
        ("run", ctypes.c_void_p),
        ("arguments", ctypes.POINTER(ctypes.c_void_p)),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint64),
        ("seed", ctypes.c_uint64),
        ("workers", ctypes.c_int),
        ("capacity", ctypes.c_int),
        ("found", ctypes.c_int),
        ("region_count", ctypes.c_int),
        ("regions", ctypes.POINTER(_CRegion)),
        ("findings", ctypes.POINTER(CFinding)),
        ("python", ctypes.POINTER(_CPython)),
        ("cooperative", ctypes.c_int),
        ("flushes", ctypes.c_int),
    )


def _nothing() -> None:
    """Let Python handle signals, as it does before each call."""


def _address(function: str) -> int | None:
    return ctypes.cast(getattr(ctypes.pythonapi, function), ctypes.c_void_p).value


# As `Python` in threads.h.
_PYTHON = _CPython(
    *map(_address, ("PyEval_SaveThread", "PyEval_RestoreThread")),
    *map(_address, ("PyObject_CallNoArgs", "Py_DecRef")),
    _nothing,
)


@cache
def _stacks() -> tuple[ctypes.CDLL, int]:
    """A library that is never unloaded, and its stacks, which all others take theirs from."""
    path = compiled(CudaFile("", "stacks.cu"), (), checked=False)
    functions = ctypes.CDLL(str(path))
    functions.cuda_on_host_pool.restype = ctypes.c_void_p
    return functions, functions.cuda_on_host_pool()


def _loaded(path: Path) -> ctypes.CDLL:
    """A library whose kernels run on the stacks that all libraries share."""
    functions = ctypes.CDLL(str(path))
    functions.cuda_on_host_share(ctypes.c_void_p(_stacks()[1]))
    return functions


class HostLibrary:
    """The kernels of a file, which can be launched.

    Attributes
    ----------
    file : that it was compiled from.
    path : of the compiled library.
    checked : whether every access is watched.
    flushes : whether subnormal numbers are zeros in its kernels.
    kernels : the parameters of each kernel, by its name.
    """

    def __init__(self, file: CudaFile, path: Path, *, checked: bool, flushes: bool = False) -> None:
        self.file = file
        self.checked, self.flushes = checked, flushes
        self.path = path
        self._functions = _loaded(path)
        weakref.finalize(self, _ctypes.dlclose, self._functions._handle)  # noqa: SLF001
        # It gives Python's lock back itself. An exception that ended a launch is then raised.
        prototype = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
        self._launch = prototype(("cuda_on_host_launch", self._functions))
        self._alone = Lock()
        self._kernels: dict[str, _KernelRow] = {}
        self.kernels: dict[str, tuple[KernelParameter, ...]] = {}
        for row in (_KernelRow * (1 << 16)).in_dll(self._functions, "cuda_on_host_kernels"):
            if not row.name:
                break
            parameters: list[_CParameter] = [row.parameters[k] for k in range(row.count)]
            name = row.name.decode()
            self._kernels[name] = row
            self.kernels[name] = tuple(KernelParameter(p.bytes, KINDS[p.kind]) for p in parameters)
        # Sums of atomics depend on the order of blocks, which one processor thread keeps.
        self._keeps_order = "atomic" in file.text

    def launch(
        self,
        kernel: str,
        grid: Dim3,
        block: Dim3,
        shared_bytes: int = 0,
        arguments: Sequence[int | np.generic] = (),
        *,
        memory: Sequence[NamedMemory] = (),
        seed: int = 0,
        cooperative: bool = False,
    ) -> tuple[Finding, ...]:
        """Run a kernel to its end.

        Parameters
        ----------
        kernel : its name in the file.
        grid, block : how many blocks, and how many threads in each, along x, y and z.
        shared_bytes : of `extern __shared__` memory.
        arguments : Python integers are addresses; scalars are NumPy's, of the parameter's type.
        memory : in checked mode, all that the kernel may use beside its shared memory.
        seed : in checked mode, of the order of blocks and threads; 0 leaves them in order.
        cooperative : all blocks are there at once, so that they may wait for each other.

        Returns
        -------
        tuple of Finding
            The findings of checked mode; none without it.

        Raises
        ------
        HloError
            HLO191 if the launch does not fit the kernel, HLO192 if it comes to no end and is not
            checked.
        """
        row = self._row(kernel)
        _check_dims(kernel, grid, block, shared_bytes)
        if cooperative and prod(grid) > (most := blocks_at_once(block)):
            message = f"kernel {kernel}: {prod(grid)} blocks, of which {most} are there at once"
            raise HloError("HLO191", message)
        values = _values(kernel, self.kernels[kernel], arguments)
        pointers = (ctypes.c_void_p * max(1, len(values)))(*(value.ctypes.data for value in values))
        regions = (_CRegion * max(1, len(memory)))(*((m.address, m.size) for m in memory))
        buffer = (CFinding * MOST_FINDINGS)()
        threads = int(np.prod(grid, dtype=object) * np.prod(block))
        alone = self.checked or self._keeps_order or threads < FEW_THREADS
        launch = _CLaunch(
            row.run,
            pointers,
            (ctypes.c_uint * 3)(*grid),
            (ctypes.c_uint * 3)(*block),
            shared_bytes,
            seed if self.checked else 0,
            1 if alone else processors(),
            MOST_FINDINGS,
            0,
            len(memory),
            regions,
            buffer,
            ctypes.pointer(_PYTHON),
            cooperative,
            self.flushes,
        )
        # The checker watches one launch of a library at a time.
        with self._alone if self.checked else nullcontext():
            count = self._launch(ctypes.byref(launch))
        if count < 0:
            message = f"kernel {kernel}: there is not enough memory to run its threads"
            raise HloError("HLO192", message)
        listed = findings(
            buffer[:count], kernel, self.file, self.path, [region.name for region in memory]
        )
        if listed and not self.checked:
            raise HloError("HLO192", f"kernel {kernel}: {listed[0].detail}", notes=[str(listed[0])])
        return listed

    def _row(self, kernel: str) -> _KernelRow:
        if kernel not in self._kernels:
            names = ", ".join(self._kernels) or "no kernel"
            message = f"{self.file.name} has no kernel {kernel!r}; it has {names}"
            raise HloError("HLO191", message)
        return self._kernels[kernel]


def blocks_at_once(block: Dim3) -> int:
    """The blocks of a cooperative launch that there can be."""
    return max(1, min(MOST_BLOCKS_AT_ONCE, MOST_THREADS_AT_ONCE // prod(block)))


def processors() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _check_dims(kernel: str, grid: Dim3, block: Dim3, shared_bytes: int) -> None:
    for name, dims, most in (("grid", grid, MOST_BLOCKS), ("block", block, MOST_ALONG)):
        for axis, size, bound in zip("xyz", dims, most, strict=True):
            if not 1 <= size <= bound:
                message = f"kernel {kernel}: the {name}'s {axis} is {size}, not 1 to {bound}"
                raise HloError("HLO191", message)
    if int(np.prod(block)) > MOST_THREADS:
        message = f"kernel {kernel}: {'x'.join(map(str, block))} threads are more than 1024"
        raise HloError("HLO191", message, notes=["no GPU has larger blocks"])
    if int(np.prod(grid, dtype=object)) >= 2**32:
        raise HloError("HLO191", f"kernel {kernel}: more than 2^32 blocks are not run here")
    if not 0 <= shared_bytes <= MOST_SHARED:
        message = f"kernel {kernel}: {shared_bytes} bytes of shared memory, not 0 to {MOST_SHARED}"
        raise HloError("HLO191", message)


def _values(
    kernel: str, parameters: Sequence[KernelParameter], arguments: Sequence[int | np.generic]
) -> list[np.ndarray[Any, Any]]:
    """The values of the arguments, each where the kernel can take it from."""
    if len(parameters) != len(arguments):
        message = f"kernel {kernel} has {len(parameters)} parameters, not {len(arguments)}"
        raise HloError("HLO191", message)
    values: list[np.ndarray[Any, Any]] = []
    for k, (parameter, value) in enumerate(zip(parameters, arguments, strict=True)):
        is_pointer = parameter.kind == "pointer"
        array = np.asarray(np.uint64(value) if isinstance(value, int) else value)
        is_address = isinstance(value, int)
        if is_address != is_pointer or array.nbytes != parameter.bytes:
            expected = "a pointer" if is_pointer else f"a scalar of {parameter.bytes} bytes"
            actual = "an address" if is_address else f"a {array.dtype}"
            message = f"kernel {kernel}: parameter {k} is {expected}, the argument is {actual}"
            raise HloError("HLO191", message)
        values.append(array)
    return values


def load(
    source: str,
    *,
    name: str = "kernels.cu",
    checked: bool = False,
    flushes: bool = False,
    kernels: Sequence[str] = (),
) -> HostLibrary:
    """Compile a file of CUDA C for the processor, or find it in the cache.

    Parameters
    ----------
    name : of the file, for messages.
    checked : watch every access, for races and the other faults that `FAULTS` lists.
    flushes : kernels take subnormal numbers for zeros, those of f64 as well as those of f32.
    kernels : instances of templates that shall be kernels, as `sum<float>`.

    Raises
    ------
    HloError
        HLO180 if there is no C++ compiler, HLO190 if it refuses the file.
    """
    file = CudaFile(source, name)
    named = (*file.kernels, *kernels)
    path = compiled(file, named, checked=checked)
    return HostLibrary(file, path, checked=checked, flushes=flushes)
