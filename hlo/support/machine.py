"""Facts about processors by which programs are optimized and code is written for any of them.

They hold for cores of x86-64 and ARM in general, so that a program is optimized to the same HLO on
every machine. The vectors and caches in which cores differ are read from the machine itself where
C is written (`emit_c.code.processor`); GPUs are described in `optimizer.gpu.device`. A number by
which one file decides is in that file: who has a measurement may change it. But for the order of
sums, such numbers change times and never results.
"""

from typing import Final

# ---------------------------------------------------------------- facts about memory and vectors

CACHE_LINE: Final = 64
"""Bytes of a cache line; buffers begin at multiples of it."""
WIDEST_VECTOR: Final = 64
"""Bytes of the widest vectors (AVX-512). Code for these fills several narrower ones as well."""
L1_WAY: Final = 4096
"""Bytes of one way of the first-level cache: 64 sets of lines. Addresses that are a multiple of it
apart are in the same set, which has 8 to 12 lines."""
L1: Final = 8 * L1_WAY
"""Bytes of a core's first-level data cache, at least."""
L2: Final = 1 << 20
"""Bytes of a core's second-level cache, at least: 1 or 2 MiB on servers since 2017."""
GATHERED_BYTES: Final = (4, 8)
"""Sizes of the numbers that an instruction gathers from anywhere."""
TAKEN_APART, TAKEN_WHOLE = (1, 2, 3, 4), (8, 16)
"""How far apart numbers lie that gcc and clang load in lanes, and how far if none is left out."""

# --------------------------------------------------------------------------- derived from these

LANES: Final = WIDEST_VECTOR // 4
"""f32 numbers in the widest vector, or in a cache line. Shorter rows do not fill a vector; tiles
of a transposition have as many elements along each side."""
HALF_VECTOR: Final = LANES // 2
"""Lanes that are worth having: fewer numbers are folded one after the other."""
BLOCK_OF_LANES: Final = 2 * LANES
"""Iterations that fill whole vectors, be they of f32 or of 16 bits."""
SHORT_LOOPS: Final = TAKEN_APART[1:]
"""Iterations of loops that are written out inside of loops in lanes: strides that compilers take
apart."""
