"""A compiled module, ready to be called."""

from __future__ import annotations

import ctypes
import hashlib
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from codegen.program.values import call_memory
from emit_c.code.foreign import hand_over
from emit_c.executable.calling import caller, converted, nested, nesting, pointers, result_leaves
from emit_c.executable.choice import ThreadChoice
from emit_c.executable.devices import DevicesCaller
from emit_c.executable.processes import SharedProgram, processes_of
from emit_c.executable.runtime import runtime
from emit_c.executable.tiles import load_tiles
from hlo.errors.error import HloError
from interpreter.engine.memory import ALWAYS_THERE, refuse_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from emit_c.executable.built import Built
    from hlo.instruction import Computation

Value = Any  # an array, None for a token, or a tuple of values


@dataclass(frozen=True, slots=True)
class Native:
    """The entry of a compiled module.

    Attributes
    ----------
    run : address of a function, int(const void *const *in, void *const *out, void *arena); what it
        returns is in `runtime.h`.
    arena_bytes : of memory that a call takes, aligned to 64 bytes.
    donated : for numbers of results, the argument whose memory the result is written to.
    plan : address of the plan with which `hlo_run_devices` runs it, on as many devices as the
        module is for; 0 for a module for one device that never asks for others.
    explain : the exception for a run on several devices that was stopped, by the report of it.
    """

    run: int
    arena_bytes: int
    donated: Mapping[int, int]
    plan: int
    explain: Callable[[Sequence[int]], BaseException]


class LoadedLibrary:
    """A loaded library with its large constants, which must live as long as it is called.

    The system loads a file once. So programs of the same text share a library, and as their text
    holds a digest of each large constant, they share the constants as well.
    """

    def __init__(self, built: Built) -> None:
        runtime()
        load_tiles(built.tiles)
        self.constants = built.constants
        self.functions = ctypes.CDLL(str(built.library))
        self.functions.load_constants.restype = None
        self.functions.load_constants(pointers(self.constants))
        hand_over(self.functions, built.functions)


_LOADED: WeakValueDictionary[Path, LoadedLibrary] = WeakValueDictionary()


def _load(built: Built) -> LoadedLibrary:
    loaded = _LOADED.get(built.library)
    if loaded is None:
        loaded = _LOADED.setdefault(built.library, LoadedLibrary(built))
    return loaded


class Executable:
    """A module as a function of its arguments.

    Several threads may call it at once: each call has an arena of its own. The memory of a result
    is used again for a later one when nobody has the array any more.

    Parameters
    ----------
    entry : what arguments it takes, and what result it gives.
    told : writes all that the values depend on: the module, and the treatment of subnormals.

    Attributes
    ----------
    library : the file that the compiler made.
    memory : bytes that a call takes.
    native : for who calls it from C, with arguments in row-major order and results in the order of
        the module's layout. None where arguments or results need Python.
    """

    native: Native | None

    def __init__(
        self,
        entry: Computation,
        built: Built,
        source: Callable[[], str],
    ) -> None:
        self.library, self._library, self._views = built.library, _load(built), built.views
        self._built, self._told = built, source
        self.memory = call_memory(entry, built.arena_bytes, built.constants)
        run = self._library.functions.call
        address = ctypes.cast(run, ctypes.c_void_p).value or 0
        parameters = ", ".join(str(p.shape) for p in entry.parameters)
        self._signature = f"({parameters}) -> {entry.root.shape}"
        self._call = caller(run, built.arena_bytes, entry, built.donated, built.views)
        nest = nesting(entry.root.shape)
        self._together = DevicesCaller(
            *(address, built.arena_bytes, entry.name, built.meetings),
            result_leaves(entry, built.donated, built.views),
            partial(converted, entry, ()),
            lambda arrays: nested(nest, iter(arrays)),
        )
        devices = max(built.meetings.plans, default=1)
        together = devices > 1 or bool(built.meetings.sites)
        plan = self._together.address(devices) if together else 0
        explain = self._together.explain
        native = Native(address, built.arena_bytes, built.donated, plan, explain)
        leaves = enumerate(s for _, s in entry.root.shape.leaves())
        # Who calls it natively takes results to lie as the layouts of the entry say.
        as_said = all(k in built.views or not s.is_array or s.is_row_major for k, s in leaves)
        self.native = native if as_said else None
        if built.meetings.sites:
            # Even a device that is alone asks who it is.
            self._call = self._alone
        shapes = [s for k, (_, s) in enumerate(entry.root.shape.leaves()) if k not in built.donated]
        needed = sum(s.unpacked_bytes for s in shapes) + built.arena_bytes
        if needed > ALWAYS_THERE:
            self._call = partial(self._first_call, entry, needed, self._call)

    def _alone(self, *arguments: Any) -> Value:
        return self._together([arguments])[0]

    def _first_call(
        self, entry: Computation, needed: int, call: Callable[..., Value], *arguments: Any
    ) -> Value:
        """A call after a look at the memory; later ones mostly use the same memory again."""
        refuse_bytes(entry.name, entry.instructions, needed)
        self._call = partial(_watched, entry, needed, call)
        return self._call(*arguments)

    def __repr__(self) -> str:
        """The signature, and the memory of a call."""
        return f"<executable {self._signature}, {self.memory.temporaries:,} bytes of temporaries>"

    def draw_from(self, part: int) -> None:
        """Let later runs draw the device's random numbers from another part of its sequence.

        Every run draws the same numbers unless it is told so, as the interpreter does.
        """
        try:
            ctypes.c_uint64.in_dll(self._library.functions, "random_part").value = part
        except ValueError:
            return  # it draws none

    def explain(self) -> str:
        """The number of threads that calls take, and why.

        A module's calls are timed: now and then some run on one thread, or on all, and whichever
        takes less time is kept. Values are the same. Executables of the same module share what
        they have found out.

        Examples
        --------
        >>> import hlo, emit_c
        >>> negate = "ENTRY e { x = f32[2,3] parameter(0)  ROOT y = f32[2,3] negate(x) }"
        >>> emit_c.compile(hlo.parse(negate), threads=1).explain()
        'calls take at most 1 thread, as was asked for'
        """
        choice = ThreadChoice.in_dll(self._library.functions, "choice")
        return choice.explained(runtime().threads.hlo_threads())

    @property
    def source(self) -> str:
        """The C that was compiled."""
        return self._built.source

    @cached_property
    def program(self) -> SharedProgram:
        """The module as all processes know it that run it together."""
        return self.shared(self._told())

    def shared(self, source: str) -> SharedProgram:
        """The module as processes know it that are told the same of it."""
        plans = self._together.meetings.plans.values()
        about = "\n".join([source, *(str(plan.numbers) for plan in plans)])
        digest = hashlib.sha256(about.encode()).digest()
        return SharedProgram(int.from_bytes(digest[:8], "little") >> 1, self._together)

    def __call__(
        self,
        *arguments: Any,
        per_device: Sequence[Sequence[Any]] | None = None,
        communicator: Any = None,
    ) -> Value:
        """The value of the module for some arguments, as `interpreter.evaluate` gives it.

        Arguments are NumPy arrays, or arrays of other libraries through DLPack; those in row-major
        order are read where they are.

        Parameters
        ----------
        per_device : instead of `arguments`: those of every device; device d is replica
            d // num_partitions and partition d % num_partitions. Devices are threads.
        communicator : of mpi4py: each of its processes is a device, calls with the arguments of its
            own, and is given its own value.

        Returns
        -------
        Value
            An array, a tuple of values, or None for a token. With `per_device`, a list of them.

        Raises
        ------
        HloError
            HLO110 to HLO112 if the arguments do not fit, HLO113 or HLO114 if there is not enough
            memory; HLO116 to HLO123 if there are too many or too few devices, or they do not agree;
            HLO126 if a process has ended, or they run different programs.
        """
        if communicator is not None:
            return processes_of(communicator).run(self.program, arguments)
        if per_device is None:
            return self._call(*arguments)
        return self._together(per_device)


def _watched(entry: Computation, needed: int, call: Callable[..., Value], *arguments: Any) -> Value:
    try:
        return call(*arguments)
    except MemoryError:
        message = f"{entry.name}: no memory for the {needed:,} bytes of a call"
        raise HloError("HLO114", message, entry.span) from None
