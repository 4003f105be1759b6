"""A module compiled to CUDA, ready to be called."""

from __future__ import annotations

from contextlib import suppress
from threading import RLock
from typing import TYPE_CHECKING, Any, cast
from weakref import finalize

import numpy as np

from codegen.program.run_time_sizes import call_with_sizes
from codegen.program.streams import MOST_STREAMS, parts
from codegen.program.trees import nested
from codegen.program.values import as_numpy, call_memory, leaves
from emit_cuda.arrays import DeviceArray, Lent, fetched, lent
from emit_cuda.loops import vectors
from emit_cuda.program.emit import NONE
from emit_cuda.program.runner import Graphs, Runner
from hlo.errors.error import HloError
from hlo.wording import counted
from interpreter.engine.arguments import checked_arguments
from optimizer.dynamic_padder.boundary import run_time_sizes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from emit_cuda.devices import CudaDevice, Kernels
    from emit_cuda.exchange import Rank
    from emit_cuda.libraries import Libraries
    from emit_cuda.program.emit import CudaProgram
    from emit_cuda.program.runner import Addresses
    from hlo.instruction import Computation, Module
    from hlo.types.shape import Shape

Value = Any  # an array, None for a token, or a tuple of values
# Stands for the elements of arrays that only the device sees.
_NOWHERE = np.zeros(16, np.uint8)


class CudaExecutable:
    """A module as a function of its arguments, which runs on a device.

    Its memory for arguments, results and temporary arrays stays on the device from call to call, so
    that a graph recorded in one call serves for the next. Threads may call it at once: they
    take turns.

    Parameters
    ----------
    kernels : the program's, if they are loaded already.
    libraries : those that the program was emitted for.
    graphs : record repeated calls as graphs, where the device can.
    flushes : subnormal numbers are zeros in its kernels.

    Attributes
    ----------
    program : the CUDA C, and the steps that run it.
    memory : bytes on the device that a call takes.
    rank : its place among the devices that run together, while they do.
    """

    rank: Rank | None = None

    def __init__(
        self,
        entry: Computation,
        program: CudaProgram,
        device: CudaDevice,
        kernels: Kernels | None = None,
        libraries: Libraries = NONE,
        *,
        graphs: bool = True,
        flushes: bool = False,
    ) -> None:
        self._libraries, self._captures = libraries, graphs and device.captures
        self.program, self.device, self._entry = program, device, entry
        self._parameters = [s for p in entry.parameters for _, s in p.shape.leaves()]
        # Dimensions and types of the parameters; None where one is a tuple, or has run-time sizes.
        self._wanted = None
        if all(p.shape.is_array and not p.shape.is_dynamic for p in entry.parameters):
            self._wanted = [(s.dims, s.element_type.dtype) for s in self._parameters]
        self._results = [s for _, s in entry.root.shape.leaves()]
        self.memory = call_memory(entry, program.arena_bytes, program.constants)
        if kernels is None and program.kernels:
            kernels = device.load(program.source, flushes=flushes)
        self._kernels = kernels
        self._parts = parts(program.steps, 1 if program.keeps_state else MOST_STREAMS)
        self._graphs, self._turn = Graphs(), RLock()
        # Addresses that stay allocated from call to call, by their purpose and number.
        self._kept: dict[tuple[str, int], int] = {}
        finalize(self, _give_back, device, self._graphs, self._kept).atexit = False
        self._constants = [self._written("constant", k, c) for k, c in enumerate(program.constants)]

    def __repr__(self) -> str:
        """The number of kernels, and the memory of a call."""
        kernels = counted(len(self.program.kernels), "kernel")
        return f"<executable of {kernels}, {self.memory.temporaries:,} bytes of temporaries>"

    @property
    def source(self) -> str:
        """The CUDA C."""
        return self.program.source

    def __call__(self, *arguments: Any, per_device: Sequence[Sequence[Any]] | None = None) -> Value:
        """The value of the module for some arguments, as `interpreter.evaluate` gives it.

        Parameters
        ----------
        arguments : arrays of NumPy, which are copied to the device, or of the device.
        per_device : instead of them, those of every device, of which there is one.

        Raises
        ------
        HloError
            HLO110 to HLO112 if the arguments do not fit, HLO116 if they are for several devices,
            HLO192 if a kernel fails, HLO193 if checked mode finds a mistake.
        """
        if per_device is None:
            return self.call(arguments)
        if len(per_device) != 1:
            raise HloError("HLO116", f"arguments for {len(per_device)} devices, and it is for one")
        return [self(*per_device[0])]

    def call(self, arguments: Sequence[Any]) -> Value:
        """The value on this device."""
        with self._turn, self.device.current():
            results = [
                self._room("result", k, s.unpacked_bytes) for k, s in enumerate(self._results)
            ]
            self._run(arguments, results)
            values = [
                fetched(self.device, a, s.dims, s.element_type.dtype) if s.is_array else None
                for s, a in zip(self._results, results, strict=True)
            ]
            if not self._captures:
                self.release()
        return nested(self._entry.root.shape, iter(values))

    def on_device(self, *arguments: Any) -> Value:
        """The value for some arguments, in arrays that stay on the device; nothing waits for it.

        Parameters
        ----------
        arguments : as of a call. Where the module was compiled with `donate`, an array of the
            device gives its memory to the result that its parameter is aliased with.

        Raises
        ------
        HloError
            HLO110 to HLO112 if the arguments do not fit.
        """
        with self._turn, self.device.current():
            donors = self._donors(list(leaves(arguments))) if self.program.donated else {}
            arrays = [
                self._array(shape, donors.get(number)) if shape.is_array else None
                for number, shape in enumerate(self._results)
            ]
            self._run(arguments, [array.address if array else 0 for array in arrays])
            for result, donor in donors.items():
                if (array := arrays[result]) is not None:
                    array.take(donor)
        return nested(self._entry.root.shape, iter(arrays))

    def device_array(self, array: NDArray[Any]) -> DeviceArray:
        """A copy of an array in the device's memory, as an argument of many calls."""
        address = self.device.allocate(max(array.nbytes, 1))
        self.device.write(address, np.ascontiguousarray(array))
        return DeviceArray(self.device, address, array.shape, array.dtype)

    def _donors(self, values: Sequence[Any]) -> dict[int, DeviceArray]:
        """By numbers of results, the arrays of the device that give their memory to them.

        Raises
        ------
        HloError
            HLO112 if such an array is another argument, too.
        """
        candidates = {k: values[n] for k, n in self.program.donated.items() if n < len(values)}
        donors = {
            k: array
            for k, array in candidates.items()
            if isinstance(array, DeviceArray) and array.device is self.device
        }
        for donor in donors.values():
            if sum(leaf is donor for leaf in values) > 1:
                raise HloError("HLO112", "an array that is donated is another argument, too")
        return donors

    def _array(self, shape: Shape, donor: DeviceArray | None) -> DeviceArray:
        """An array for a result, in fresh memory or a donor's."""
        dtype = shape.element_type.dtype
        if donor is not None:
            return DeviceArray(self.device, donor.address, shape.dims, dtype, donor)
        address = self.device.allocate(max(shape.unpacked_bytes, 1))
        return DeviceArray(self.device, address, shape.dims, dtype)

    def release(self) -> None:
        """Give back the memory that stays on the device between calls, but for constants."""
        with self._turn:
            self._graphs.close()
            for key in [key for key in self._kept if key[0] != "constant"]:
                self.device.free(self._kept.pop(key))

    def _run(self, arguments: Sequence[Any], results: Sequence[int]) -> None:
        """Bring the arguments to the device, and ask it for all steps."""
        if self._replayed(arguments, results):
            return
        sources: list[int] = []
        into = {number: results[k] for k, number in self.program.donated.items()}
        for number, (leaf, shape) in enumerate(
            zip(self._leaves(arguments), self._parameters, strict=True)
        ):
            if leaf is None:
                sources.append(0)
            elif isinstance(leaf, Lent):
                if not isinstance(leaf.owner, DeviceArray):
                    # The memory of an array of the device is used anew by later work alone.
                    self.device.keep(leaf.owner)
                sources.append(self._aligned(number, leaf, shape.unpacked_bytes, into.get(number)))
            elif number in into:
                self.device.write(into[number], leaf)
                sources.append(into[number])
            else:
                sources.append(self._written("argument", number, leaf))
        addresses: Addresses = {
            "argument": tuple(sources),
            "result": tuple(results),
            "arena": (self._room("arena", 0, self.program.arena_bytes),),
            "constant": tuple(self._constants),
        }
        graphs = self._graphs if self._captures else None
        runner = Runner(self.device, self._kernels, addresses, self._libraries, graphs, self.rank)
        runner.run(self._parts)

    def _replayed(self, arguments: Sequence[Any], results: Sequence[int]) -> bool:
        """Replay the graph that is all of the program, if a call on the same memory recorded it.

        Most calls of a small program do so: each further question would take longer than the GPU.
        """
        if len(self._parts) != 1 or (known := self._known(arguments)) is None:
            return False
        sources = tuple([array.address for array in known])
        graph = self._graphs.get((self._parts[0], sources, tuple(results)))
        if graph is None:
            return False
        self.device.replay(graph)
        return True

    def _aligned(self, number: int, leaf: Lent, size: int, target: int | None) -> int:
        """The address at which an argument on the device is read.

        That is its own address, or the one of its result.

        Kernels load vectors, so that an array which begins between two of them is copied before.
        """
        if target is None and leaf.address % vectors.BYTES:
            target = self._room("argument", number, size)
        if target is None or target == leaf.address:
            return leaf.address
        self.device.copy(target, leaf.address, size)
        return target

    def _leaves(self, arguments: Sequence[Any]) -> Iterator[NDArray[Any] | Lent | None]:
        """The arrays of the arguments, checked: on the device, or to be copied there."""
        borrowed: list[Lent] = []
        plain = [self._plain(argument, borrowed) for argument in arguments]
        on_device = iter(borrowed)
        for leaf in leaves(checked_arguments(self._entry, plain)):
            is_lent = leaf is not None and leaf.size and leaf.base is _NOWHERE
            yield next(on_device) if is_lent else leaf

    def _known(self, arguments: Sequence[Any]) -> Sequence[DeviceArray] | None:
        """The arguments, if all are arrays of the device, and just as the parameters ask."""
        if self._wanted is None or len(arguments) != len(self._wanted):
            return None
        device = self.device
        for argument, (dims, dtype) in zip(arguments, self._wanted, strict=True):
            if not isinstance(argument, DeviceArray) or argument.device is not device:
                return None
            if argument.shape != dims or argument.dtype != dtype:
                return None
        return arguments

    def _plain(self, argument: Any, borrowed: list[Lent]) -> Any:
        """An argument of NumPy's; in the place of arrays of the device, one as large."""
        if isinstance(argument, tuple | list) and any(map(_is_foreign, leaves(argument))):
            return tuple(self._plain(a, borrowed) for a in cast("Sequence[Any]", argument))
        memory = lent(self.device, argument)
        if memory is None:
            if isinstance(argument, DeviceArray):
                return np.asarray(argument)
            return as_numpy(argument)
        if 0 in memory.dims:
            nothing: NDArray[Any] = np.empty(memory.dims, memory.dtype)
            return nothing
        borrowed.append(memory)
        strides = (0,) * len(memory.dims)
        like: NDArray[Any] = np.ndarray(memory.dims, memory.dtype, _NOWHERE, strides=strides)
        return like

    def _room(self, purpose: str, number: int, size: int) -> int:
        """Memory that stays on the device."""
        if (purpose, number) not in self._kept:
            self._kept[purpose, number] = self.device.allocate(max(size, 1))
        return self._kept[purpose, number]

    def _written(self, purpose: str, number: int, array: NDArray[Any]) -> int:
        """Memory that stays on the device, with the elements of an array."""
        address = self._room(purpose, number, array.nbytes)
        self.device.write(address, np.ascontiguousarray(array))
        return address


class DynamicCudaExecutable(CudaExecutable):
    """A module with run-time sizes as a function of its arguments.

    Parameters
    ----------
    module : as it was given.
    static : the entry of what was compiled in its place.
    """

    def __init__(
        self,
        module: Module,
        static: Computation,
        program: CudaProgram,
        device: CudaDevice,
        libraries: Libraries = NONE,
        *,
        flushes: bool = False,
    ) -> None:
        super().__init__(static, program, device, libraries=libraries, flushes=flushes)
        self._whole, self._sizes = module.entry, run_time_sizes(module.entry)

    def call(self, arguments: Sequence[Any]) -> Value:
        """The value on this device."""

        def run(*arguments: Any) -> Value:
            return super(DynamicCudaExecutable, self).call(arguments)

        return call_with_sizes(self._whole, self._sizes, run, arguments)


def _give_back(device: CudaDevice, graphs: Graphs, addresses: dict[tuple[str, int], int]) -> None:
    """Give back all that an executable had of a device, which may be closed."""
    with suppress(HloError):
        graphs.close()
    for address in addresses.values():
        device.free(address)


def _is_foreign(value: Any) -> bool:
    """Whether another library may have to tell where an array is."""
    protocols = "__dlpack__", "__cuda_array_interface__"
    is_numpy = isinstance(value, np.ndarray | np.generic)
    return not is_numpy and any(hasattr(value, name) for name in protocols)
