"""The numbers about processors by which several files of the optimizer and of the C emitter decide.

Each is a fact about hardware, is derived from other numbers, was measured, was tuned (the best of
some by `python -m benchmarks.compiled`, whose figures were not kept) or was chosen: who has a
measurement may change it. But for the order of sums, numbers change times and never results. A
number by which one file decides is in that file.

They hold for cores of x86-64 and ARM in general. The vectors and caches in which cores differ are
read from the machine itself (`emit_c.code.processor`) where C is written; GPUs are described in
`optimizer.gpu.device`.
"""

from typing import Final

# ---------------------------------------------------------------- facts about memory and vectors

CACHE_LINE: Final = 64
"""Bytes of a cache line; buffers begin at multiples of it."""
WIDEST_VECTOR: Final = 64
"""Bytes of the widest vectors (AVX-512). Code for these fills several narrower ones as well."""
NARROWEST_VECTOR: Final = 16
"""Bytes of the narrowest vectors (SSE2, NEON)."""
L1_WAY: Final = 4096
"""Bytes of one way of the first-level cache: 64 sets of lines. Addresses that are a multiple of it
apart are in the same set, which has 8 to 12 lines."""
L1: Final = 8 * L1_WAY
"""Bytes of a core's first-level data cache, at least."""
L2: Final = 1 << 20
"""Bytes of a core's second-level cache: 1 or 2 MiB on servers since 2017."""
FMA_LATENCY: Final = 5
"""Cycles after which the result of a multiply-add can be added to: 4 or 5."""
FMA_PER_CYCLE: Final = 2
"""Vectors that are multiplied and added in a cycle."""
GATHERED_BYTES: Final = (4, 8)
"""Sizes of the numbers that an instruction gathers from anywhere."""

# --------------------------------------------------------------------------- derived from these

LANES: Final = WIDEST_VECTOR // 4
"""f32 numbers in the widest vector, or in a cache line. Shorter rows do not fill a vector; tiles
of a transposition have as many elements along each side."""
HALF_VECTOR: Final = LANES // 2
"""Lanes that are worth having: fewer numbers are folded one after the other."""
BLOCK_OF_LANES: Final = 2 * LANES
"""Iterations that fill whole vectors, be they of f32 or of 16 bits."""
READ_BEHIND: Final = 2 * 8 * LANES
"""Numbers that register tiles may read after an array's last one. It must not be less than the
lanes of a tile's widest row, 8 vectors, for which there is room twice."""
BUSY: Final = FMA_LATENCY * FMA_PER_CYCLE
"""Independent sums that keep a core's multipliers busy."""
CACHED: Final = L2 // 2
"""Bytes that stay in the second-level cache while others stream through it."""
SUMS_OF_A_PRODUCT: Final = L1 // 2 // 4
"""f32 sums that lie side by side in half of the first-level cache."""
SUMS_OF_A_FOLD: Final = L1_WAY // 4
"""f32 sums of columns that stay in the first-level cache beside the rows that are added."""

# -------------------------------------------------------------------------------- threads' costs

LEAST_WORK: Final = 1 << 18
"""Measured: work (`codegen.loops.work`) of the smallest part that is worth a thread. It
is 65,000 additions of two arrays and takes about 5 us, as long as it takes to wake a thread."""
UNKNOWN_ITERATIONS, FUNCTION_WORK, SCALAR_WORK = 16, 8, 4
"""Chosen, in units of work: iterations of a loop whose number is not known, a function like `exp`
of a number in a lane, and how much longer anything takes outside of lanes. Of benchmarks, none
depends on the first one (4 and 64 give the same C), and by the last one, only a cumulative sum
changes, by less than 3 % (1 and 16). Functions take 13 (`exp`) to 90 (`sin`); but with 13, `exp` of
a million numbers takes 1.04 times as long, softmax of 1024 rows 1.09, and others as long."""

# --------------------------------------------------------------- thresholds of kernels and loops

CALLS_IN_A_MICROSECOND: Final = 512
"""Measured: calls of a function with vectors in registers, 2 ns each."""
PACKED_ONE_BY_ONE: Final = 3
"""Measured: products that take as long as to pack a number that lies apart from its neighbours."""
TAKEN_APART, TAKEN_WHOLE = (1, 2, 3, 4), (8, 16)
"""A fact about gcc and clang: how far apart numbers lie that they load in lanes, and how far if
none is left out."""
SHORT_LOOPS: Final = (2, 3, 4)
"""Derived: iterations of loops that are written out inside of loops in lanes: strides that
compilers take apart."""
SHORT_FOLDS: Final = range(2, LANES + 1)
"""Measured: iterations of folds that are written out, which do not fill a vector. Loading numbers
one by one for the loop around is faster than lanes and a rest."""
MOST_COLLAPSED_COLUMNS, MOST_CHEAP_COLUMNS, BLOCKS_OF_COLLAPSED = 4 * LANES, 3 * LANES, 4
"""Measured: columns up to which rows are collapsed, if they take long functions and if not, and
how many blocks of rows are worth it. Rows of 33 columns take half the time, the extremes of 49
columns of bytes would take 1.2 times as long."""
LEAST_ROW, MOST_ROW = 8, 1 << 16
"""Chosen: rows that are gone through several times by one kernel. Shorter ones are better folded by
one thread each; longer ones by several blocks."""
RUN_OF_A_SUM, LONG_SUM = 64, 256
"""Chosen: additions of a run of a sum, and those of a sum that is cut into runs. Equal numbers, the
worst case, are 9e-9 off for each addition of f32: 3e-7 for a run, and 2e-6 for 256."""
INSERTED: Final = 40
"""Measured: rows up to which sorting by insertion is faster than counting digits. With 0, annealing
takes 1.5 times as long, and some sorts of a few numbers 14 times."""
LARGE_WINDOW: Final = LANES
"""Measured: elements of a window up to which each has statements of its own, so that the loops
around have lanes; larger ones have a kernel of their own, which need not begin anew where windows
overlap. So written, windows of 2 x 2 take 0.27, of 4 x 4 0.2 to 0.9 of the time; 5 x 5 would take
0.6 to 1.2, and 7 x 7, if they were fused, 10 times as long."""
WRITTEN_OUT_FOLD: Final = HALF_VECTOR
"""Measured: elements of a fold without lanes up to which each has statements of its own, so that
the loops around may have lanes. With 0, sums of 2 to 8 rows take 1.3 times as long, the places of
extremes of so many rows 1.7 to 2.3, and of 8 columns 10 times."""
FEW_SUMS_IN_MEMORY, FEW_SUMS_IN_REGISTERS = 4, 8
"""Measured: vectors that are multiplied by a matrix without register tiles. With 3 sums in memory a
Kalman smoother takes 1.14 times as long, with 12 a beam search 1.2; with 2 in registers conjugate
gradients take 1.1 times as long, with 32 a matrix by a vector 2."""
OFTEN: Final = 256
"""Chosen: features for which each row of a product is read, from which on its rows are copied if
they lie a whole way of the first cache apart. A tile reads 14 rows at once. Where the cache has 8
ways, as in an EPYC of the fourth generation, products of 1024 cubed take 1.24 times as long without
a copy, BERT 1.03; where it has 12, as in a Xeon of that time, 14 products take 0.98 of the time."""
FEW_ROWS: Final = 64
"""Measured: rows of a product for which a matrix is read where it lies by chunks of its rows; and
for which a loop's invariant matrices are packed before it. For 12 to 24 rows, products by 512 x 512
to 4096 x 4096 numbers take 0.4 to 0.9 of the time of packing, for 64 rows 0.8 to 0.95, for 256 as
long."""
FEW_SUMS_OF_CONVERTED: Final = 8
"""Measured: the same for a matrix outside of the second-level cache whose numbers are converted, so
that tiles would have to pack it. With tiles, products of 5 and 8 rows by 1024 x 4096, 1024 x 1024
and 3072 x 768 numbers of bf16 take 1.15 to 1.4 times as long."""
FETCHED_AHEAD, FETCHED_APART = 8, L1_WAY // 4
"""Measured: rows ahead of which a tile asks for the numbers of a matrix that lies in place, and
bytes from row to row from which on it does: processors foresee next lines of a page, no steps of
pages. Products of 8 to 64 rows take 0.5 to 0.98 of the time; with 4 or 16 rows ahead 1.05 times as
long as with 8; with 512 bytes, as long."""
TILES_AHEAD: Final = 2
"""Measured: tiles ahead of which a tile asks for the numbers beside its own, of a chunk of steps.
Products of 12 and 24 rows by 1024 x 4096 and 4096 x 1024 numbers take 1.2 times as long with 1, as
long with 3, 1.15 with 4."""
TILES_OF_A_RUN: Final = 8
"""Measured: tiles of a run of tiles beside each other, if a chunk of steps has so many; threads
share runs. With 4, products of 12 to 32 rows by 4096 x 1024 numbers take 1.1 to 1.2 times as long;
with 16, 0.9 to 1 times, but fewer threads have work."""
PANEL: Final = 4 * LANES
"""Chosen: columns of a panel, at most: tiles read its rows one after the other, as packed ones."""
ROWS_AT_ONCE: Final = 4
"""Measured: rows of a matrix that are added at once to the sums of a product. A GRU takes 1.5 times
as long with 1, and 1.04 with 16."""
LEAST_SHARE: Final = 0.1
"""Measured: the share of a core that the register tiles of a product must use to be better than
plain loops. Without it conjugate gradients take 1.32 times as long. Convolutions without padding
always have tiles: plain loops take 1.7 to 2.8 times as long, be the share ever so small."""
TRANSPOSED_SHARE, SCATTERED_SHARE = 0.5, 0.8
"""Measured: worth of a copy in another order beside one in the input's own (without such copies, a
convolution to 3 features takes 1.37 times as long); and of a tile of few products whose lanes are
no neighbours in the output (with 1, a product of 1023 x 7 x 1025 takes 2 times as long)."""
WRITTEN_STEPS: Final = 64
"""Measured: products that take as long as to write a tile's sums. With 0 for a number of steps that
has no divisors, 512 x 2053 x 2048 takes 15 times as long. If many did not make up for lanes that
lie apart, a convolution 3 x 3 in the order NCHW would take 1.27 times as long."""
MOST_PANELS, LEAST_PANELS = 2, 8
"""Measured: panels that are packed together, to be read in longer runs; and iterations of a batch
from which on one after the other is packed. With 1 panel, products take up to 1.08 times as long.
With 8, fewer steps of the contraction fit the cache, so that sums are written more often: 1000
cubed takes 1.16 times as long. If a batch is packed as a whole, `dot of a batch` takes 1.07 times
as long."""
ROW_BLOCKS, ROWS_OF_A_BLOCK = 2, 256
"""Measured: blocks of rows for which the right side of a product is packed anew, and rows in one at
least. With 1 block, each thread reads all rows of the left side: if threads share no cache, 512 to
2048 cubed then take 1.05 to 1.16 times as long. Packing twice takes 1 % of the time."""

# --------------------------------------------------------------------- the C compiler's own time


MOST_WRITTEN: Final = 300
"""Tuned: operations of short loops that are written out where compilers take strides apart.
They take their time for each, and more than that for each of many. With 200, cycles of multigrid
take 1.36 times as long, and no other benchmark longer."""
MOST_RANGES, MOST_COPIED = 4, 900
"""Chosen: ranges into which a loop around lanes is cut where its choices change, and statements in
all of them before these are decided: compilers take their time for each. With 600, cycles of
multigrid take 1.8 times as long."""
MOST_PEELED: Final = 4
"""Chosen: iterations of a loop in lanes that choose otherwise, and run alone; and those of a loop
that threads share which one thread does."""
MANY_PRODUCTS, SHORT_LINE = 1 << 18, 2 * LANES
"""Measured: products of a contraction that is worth a tile compiled for the distance between its
rows, where tiles move several pointers after few products: if rows have one vector, or the
innermost loop is shorter than that line. Without such tiles a convolution in 32 groups takes 1.18
times as long, and a product of 100 cubed 1.11 times; of others none takes less with them."""
FEW_PRODUCTS, SHARED_ROWS, SHARED_LOOPS = 1 << 17, (8, 4, 2, 1), 3
"""Measured: smaller contractions share tiles of these numbers of rows and loops. With tiles of
their own six programs take 0.98 to 1.04 of the time, but the gradient of the CTC loss takes twice
as long to compile."""
