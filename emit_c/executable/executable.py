"""A compiled module, ready to be called."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from emit_c.code.foreign import hand_over
from emit_c.executable.calling import caller, pointers
from emit_c.executable.compiler import library
from emit_c.executable.runtime import runtime, slots

if TYPE_CHECKING:
    from emit_c.program.emit import Program
    from hlo.instruction import Module
    from hlo.shape import Shape

Value = Any  # an array, None for a token, or a tuple of values


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes that a call takes."""

    arguments: int
    results: int
    temporaries: int
    constants: int


class Library:
    """A loaded library with its large constants, which must live as long as it is called.

    The system loads a file once. So programs of the same text share a library, and as their text
    holds a digest of each large constant, they share the constants as well.
    """

    def __init__(self, path: str, program: Program) -> None:
        self.constants = [np.ascontiguousarray(c) for c in program.constants]
        self.functions = ctypes.CDLL(path)
        self.functions.load_constants.restype = None
        self.functions.load_constants(pointers(self.constants))
        hand_over(self.functions, program.functions)


_LOADED: WeakValueDictionary[str, Library] = WeakValueDictionary()


def load(program: Program) -> Library:
    """Compile a program, or find it compiled, and load it.

    Raises
    ------
    HloError
        HLO180 if there is no compiler, HLO182 if it refuses the source.
    """
    runtime()
    path = str(library(program.parts.units(slots())))
    found = _LOADED.get(path)
    if found is None:
        found = _LOADED.setdefault(path, Library(path, program))
    return found


class Executable:
    """A module as a function of its arguments.

    Several threads may call it at once: each call has an arena of its own. The memory of a result
    is used again for a later one when nobody has the array any more.

    Attributes
    ----------
    source : the C that was compiled.
    memory : bytes that a call takes.
    """

    def __init__(self, module: Module, program: Program) -> None:
        self.module, self.source = module, program.source
        self._library = load(program)
        arena_bytes = program.arena_bytes + slots() * program.slot_bytes
        leaves = [s for p in module.entry.parameters for _, s in p.shape.leaves()]
        self.memory = Memory(
            arguments=sum(map(_bytes, leaves)),
            results=sum(_bytes(s) for _, s in module.entry.root.shape.leaves()),
            temporaries=arena_bytes,
            constants=sum(c.nbytes for c in self._library.constants),
        )
        run = self._library.functions.run
        self._call = caller(run, arena_bytes, module.entry, program.donated)

    def __call__(self, *arguments: Any) -> Value:
        """The value of the module for some arguments, as `interpreter.evaluate` gives it.

        Arguments are NumPy arrays, or arrays of other libraries through DLPack; those in row-major
        order are read where they are.

        Raises
        ------
        HloError
            HLO110 to HLO112 if the arguments do not fit.
        """
        return self._call(*arguments)


def _bytes(shape: Shape) -> int:
    return shape.size * shape.element_type.bytes if shape.is_array else 0
