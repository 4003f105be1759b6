"""The toolchain that makes a library of C: the system's compiler and its flags."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

from hlo.support.compiler import (
    described,
    find_compiler,
    find_linker,
    is_gcc,
    machine_flags,
    version_text,
)

OPTIMIZED = (
    *("-O1", "-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math"),
    # At -O1, gcc leaves out the vzeroupper before calls of the C library, whose SSE code then
    # takes 30 times as long.
    "-fexpensive-optimizations",
)
# Flags that only gcc understands:
# -fno-tree-bit-ccp: to find out which bits of numbers are known takes a sixth of gcc's time, and
#   vectors gain nothing.
# -fno-tree-sink: a call that is moved to where its value is needed may end in one branch of a
#   choice, and a loop that branches is not vectorized.
# -fno-thread-jumps: jumps past a second test of one condition make a loop branch where it had
#   choices, so that it is not vectorized either.
# -fno-aggressive-loop-optimizations: to bound loops by what may not happen in them takes 4 % of
#   gcc's instructions, and the loops that we write say how often they run.
# -fno-use-linker-plugin: the plugin is for code that is optimized when it is linked.
# -pipe: the assembler may begin while the compiler is still at work.
OF_GCC = (
    *("-fno-tree-bit-ccp", "-fno-tree-sink", "-fno-thread-jumps"),
    *("-fno-aggressive-loop-optimizations", "-fno-use-linker-plugin", "-pipe"),
)
# The semantics of emitted code: integers wrap around, bytes of the arena have the type that was
# written last, and products are rounded before they are added to.
MEANING = ("-std=c11", "-ffp-contract=off", "-fwrapv", "-fno-strict-aliasing")
# The library of threads is loaded first, and its symbols are found when the module is loaded.
SHARED = (
    "-fPIC",
    "-shared",
    *(("-undefined", "dynamic_lookup") if sys.platform == "darwin" else ()),
)
# A module's library needs none of a program's startup files, and finds memcpy and its like loaded
# by Python; half of the linker's time would go into looking at them.
MATHEMATICS = "-lm"
LINKED = (MATHEMATICS,)
LINKED_BY_GCC = ("-nostdlib", MATHEMATICS, "-lgcc")
# Flags of a linker that no compiler runs. Debuggers walk up the stack by the table of frames.
LINKER_FLAGS = ("-shared", "--eh-frame-hdr")
# Built-in functions for which compilers have code of their own, or which are no mathematics. (A
# multiply-add is used only where the processor has one.)
_OWN_CODE = {
    *("assoc_barrier", "clz", "clzll", "complex", "copysign", "fabs", "fma", "inf", "memcpy"),
    *("memmove", "memset", "mul_overflow", "nan", "shufflevector", "sqrt"),
}


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A compiler of C, its flags, and the machine for which it compiles.

    Attributes
    ----------
    command : the compiler, with the flags that only this one understands, and for the processor.
    linked : flags for what a module's library is linked with.
    linker : the linker that the compiler runs, and the library of functions that its code may
        call; None where it does not tell, or has flags of which its linker may have to know.
    version : as it tells it.
    processor : of this machine, for which code is made unless the command names another.
    """

    command: tuple[str, ...]
    linked: tuple[str, ...]
    version: str
    processor: str
    linker: tuple[str, str] | None = None

    @property
    def key(self) -> str:
        """All of it, for the key of a cache."""
        return "\0".join((*self.command, *self.linked, self.version, self.processor))


def needs_mathematics(text: str) -> bool:
    """Whether a C file may call the library of mathematical functions, as far as its words tell.

    A linker takes a third of its time to read that library.
    """
    named = set(re.findall(r"__builtin_(\w+)", text))
    return any(n not in _OWN_CODE and n.removesuffix("f") not in _OWN_CODE for n in named)


def toolchain() -> Toolchain:
    """The toolchain of this machine.

    Raises
    ------
    HloError
        HLO180 if there is no compiler, or $CC is none.
    """
    compiler = find_compiler()
    gcc = is_gcc(compiler)
    is_gnu = gcc and sys.platform == "linux"
    return Toolchain(
        command=(*compiler, *machine_flags(compiler), *(OF_GCC if gcc else ())),
        linked=LINKED_BY_GCC if is_gnu else LINKED,
        version=version_text(compiler),
        processor=described(),
        linker=find_linker(compiler) if is_gnu and len(compiler) == 1 else None,
    )
