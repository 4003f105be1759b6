"""Features of the processor for which code is written and compiled: mostly this machine's."""

from __future__ import annotations

import ctypes
import platform
import sys
from dataclasses import dataclass, replace
from functools import cache
from math import gcd
from pathlib import Path
from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.support import machine
from hlo.support.compiler import (
    family,
    family_named,
    find_compiler,
    is_told_a_processor,
    machine_flags,
    macros,
    processor_flags,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

# By the system's name of the instructions: bytes of vectors, and how many vectors there are.
_OF_X86 = {"avx512f": (64, 32), "avx": (32, 16), "": (16, 16)}
_OF_ARM = (16, 32)
# The macros that compilers define where there are such instructions.
_MACROS = {
    "avx": "__AVX__",
    "avx512f": "__AVX512F__",
    "avx_vnni": "__AVXVNNI__",
    "avx512_vnni": "__AVX512VNNI__",
    "avx512_bf16": "__AVX512BF16__",
}


# Where Linux describes the caches of the first processor.
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


@dataclass(frozen=True, slots=True)
class CacheLevel:
    """A cache that holds data.

    Attributes
    ----------
    ways : lines that a set has.
    """

    level: int
    bytes: int
    ways: int


@dataclass(frozen=True, slots=True)
class Caches:
    """The first two levels of caches, which a core has for itself.

    Where nothing is known of them, they are the smallest that servers have had since 2017.
    """

    first: CacheLevel = CacheLevel(1, machine.L1, machine.L1 // machine.L1_WAY)
    second: CacheLevel = CacheLevel(2, machine.L2, 16)

    @property
    def way(self) -> int:
        """Bytes of a way of the first level: addresses that far apart are in the same set."""
        return self.first.bytes // self.first.ways

    @property
    def aliased(self) -> int:
        """Bytes: rows a multiple of it apart push each other out of the first level.

        All are in one or two of its sets.
        """
        return self.way // 2

    @property
    def kept(self) -> int:
        """Bytes that stay in the second level while others stream through it."""
        return self.second.bytes // 2

    def rows(self, apart: int) -> int:
        """Rows, so many bytes apart, of which a line each is in the first level at a time.

        Where they are a multiple of a way apart, all are in the same set.
        """
        return self.first.bytes // gcd(apart or 1, self.way)


@dataclass(frozen=True, slots=True)
class Processor:
    """The vector registers of a processor, and its caches.

    Attributes
    ----------
    vector_bytes : of the widest.
    registers : how many there are.
    sums_bytes : whether an instruction multiplies bytes, and adds four products at once to a sum.
    whole_tiles : whether registers hold whole tiles of bytes, that an instruction multiplies.
    sums_pairs : whether an instruction multiplies bf16, and adds two products at once to a sum.
    whole_pairs : whether registers hold whole tiles of bf16, too.
    """

    vector_bytes: int
    registers: int
    sums_bytes: bool
    whole_tiles: bool = False
    sums_pairs: bool = False
    whole_pairs: bool = False
    caches: Caches = Caches()


def here() -> Processor:
    """The processor that code is compiled for.

    It is this machine's, of which Linux tells enough. Where $CC names another one, or the system
    tells nothing, the compiler knows; without a compiler it is what all of the family have.
    """
    try:
        compiler = find_compiler()
        return _compiled_for(compiler)
    except HloError:
        return from_flags(processor_flags(), platform.machine())


@cache
def _compiled_for(compiler: tuple[str, ...]) -> Processor:
    kind, own = family(compiler), family_named(platform.machine())
    if processor_flags() and kind == own and not is_told_a_processor(compiler):
        processor = from_flags(processor_flags(), kind)
        processor = replace(processor, caches=caches_of(described_caches()))
        if processor.whole_tiles and not _may_use_tiles():
            processor = replace(processor, whole_tiles=False, whole_pairs=False)
        return processor
    known = macros((*compiler, *machine_flags(compiler)))
    return from_flags({flag for flag, macro in _MACROS.items() if macro in known}, kind)


def from_flags(flags: Collection[str], architecture: str) -> Processor:
    """A processor by its instructions and family, as Linux calls them."""
    if family_named(architecture) == "aarch64":
        return Processor(*_OF_ARM, sums_bytes=False)
    vectors = next(size for flag, size in _OF_X86.items() if flag in flags or not flag)
    name = "avx512_vnni" if "avx512f" in flags else "avx_vnni"
    return Processor(
        *vectors,
        sums_bytes=name in flags,
        whole_tiles="amx_int8" in flags,
        sums_pairs="avx512_bf16" in flags,
        whole_pairs="amx_bf16" in flags,
    )


def described_caches(folder: Path = _CACHES) -> list[CacheLevel]:
    """The caches for data that Linux describes in a folder."""
    words = ("type", "level", "size", "ways_of_associativity")
    levels: list[CacheLevel] = []
    for index in sorted(folder.glob("index*")):
        try:
            kind, level, size, ways = ((index / word).read_text().strip() for word in words)
        except OSError:
            continue
        numbers = level, size.removesuffix("K"), ways
        # A virtual machine may tell of no ways.
        if kind != "Instruction" and all(n.isdigit() and int(n) for n in numbers):
            levels.append(CacheLevel(int(level), int(numbers[1]) << 10, int(ways)))
    return levels


def caches_of(described: Iterable[CacheLevel]) -> Caches:
    """The first two levels of some caches; the usual one where a level is missing."""
    levels = {cache.level: cache for cache in described}
    usual = Caches()
    return Caches(levels.get(1, usual.first), levels.get(2, usual.second))


def _may_use_tiles() -> bool:
    """Whether Linux lets this process use the registers of whole tiles, if it asks."""
    arch_prctl, ask, tiles = 158, 0x1023, 18
    return sys.platform == "linux" and ctypes.CDLL(None).syscall(arch_prctl, ask, tiles) == 0
