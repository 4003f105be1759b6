"""Matrix products beside XLA CPU and beside the machine's own peak, by shape and type.

python -m benchmarks.products [--rows] [--only WORDS] [--seconds S] [--threads N]

The peak is that of multiplications and additions of f32 in registers, on as many threads, measured
in turn with each product (`emit_c.executable.profile.multiplications`). f64 has half of it; bf16
and s8 have that of f32, though a processor that sums products of two bf16 at once (AVX512-BF16) can
do twice as many, and one that sums products of four bytes (VNNI) four times as many.

The roofline is the longer of two times: that of the products at the peak, with those factors; and
that of reading as many bytes as operands and result have, one after the other, measured in turn as
well, so from where the caches have them then (`emit_c.executable.profile.reading`).

`--rows` takes matrices of models and 8 to 128 rows instead: each number of a matrix is used so few
times that it matters how it comes from the caches.
"""

from __future__ import annotations

import argparse
import os
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

import emit_c
import hlo
from benchmarks import xla
from benchmarks.kernels import Kernel
from benchmarks.measure import both_clocks, geometric_mean, rounds_for, spell_seconds
from benchmarks.processor import about_processor
from emit_c.code import processor
from emit_c.executable.calling import aligned_bytes
from emit_c.executable.profile import multiplications, reading, roofline
from emit_c.executable.runtime import slots
from hlo.types.element_type import ELEMENT_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


# A row is worth a look where XLA takes less than that of our time.
LEAST = 0.9
# Rows, and steps and columns of matrices.
ROWS = (8, 12, 16, 24, 32, 48, 64)
MATRICES = (
    *((512, 512), (512, 2048), (2048, 512), (768, 768), (768, 3072), (3072, 768), (1024, 1024)),
    *((1024, 4096), (4096, 1024), (4096, 4096), (300, 1500)),
)


class Product(NamedTuple):
    """A product of a matrix of m by k numbers with one of k by n, perhaps of many at once.

    Attributes
    ----------
    transposed : which of the two lie the other way round: "", "a", "b" or "ab".
    """

    m: int
    n: int
    k: int
    kind: str = "f32"
    batch: int = 1
    transposed: str = ""

    @property
    def name(self) -> str:
        """In a row of the table."""
        many = f"{self.batch} of " if self.batch > 1 else ""
        turned = f", {self.transposed} transposed" if self.transposed else ""
        return f"{self.kind} {many}{self.m}x{self.k}x{self.n}{turned}"

    @property
    def flops(self) -> int:
        """Multiplications and additions."""
        return 2 * self.m * self.n * self.k * self.batch

    @property
    def bytes(self) -> int:
        """Of both operands and the result."""
        size, result = (ELEMENT_TYPES[k].bytes for k in (self.kind, self.kind_of_result))
        operands = self.m * self.k + self.k * self.n
        return self.batch * (operands * size + self.m * self.n * result)

    @property
    def kind_of_result(self) -> str:
        """Bytes are summed up in s32."""
        return "s32" if self.kind == "s8" else self.kind

    @property
    def at_once(self) -> int:
        """Numbers that an instruction multiplies and adds up where it does one of f32."""
        here = processor.here()
        pairs, quads = here.sums_pairs, here.sums_bytes
        return {"bf16": 1 + pairs, "s8": 1 + 3 * quads}.get(self.kind, 1)

    def kernel(self) -> Kernel:
        """The function, and its arguments."""
        left = (self.k, self.m) if "a" in self.transposed else (self.m, self.k)
        right = (self.n, self.k) if "b" in self.transposed else (self.k, self.n)
        many = (self.batch,) if self.batch > 1 else ()
        shapes = tuple(f"{self.kind}[{','.join(map(str, many + d))}]" for d in (left, right))
        result = jnp.int32 if self.kind_of_result == "s32" else None

        def product(a: Any, b: Any) -> Any:
            a = a.swapaxes(-1, -2) if "a" in self.transposed else a
            b = b.swapaxes(-1, -2) if "b" in self.transposed else b
            return jnp.matmul(a, b, preferred_element_type=result)

        return Kernel(product, shapes)


def products() -> Iterator[Product]:
    """Shapes that programs have, and odd ones."""
    for size in (4, 16, 31, 64, 100, 128, 255, 256, 333, 512, 1000, 1024, 2048):
        yield Product(size, size, size)
    for m, n, k in (
        *((1, 1024, 1024), (3, 1024, 1024), (8, 1024, 1024), (16, 4096, 512), (1024, 1, 1024)),
        *((4096, 64, 64), (64, 4096, 64), (64, 64, 4096), (1000, 10, 784), (128, 3072, 768)),
        *((128, 768, 3072), (17, 129, 65), (1023, 1025, 7), (2, 2, 4096), (4096, 4096, 2)),
    ):
        yield Product(m, n, k)
    for turned in ("a", "b", "ab"):
        yield Product(512, 512, 512, transposed=turned)
        yield Product(129, 65, 300, transposed=turned)
    for batch, m, n, k in (
        (64, 32, 32, 32),
        (12, 128, 128, 64),
        (12, 128, 64, 128),
        (256, 4, 4, 4),
    ):
        yield Product(m, n, k, batch=batch)
    for kind in ("f64", "bf16", "s8"):
        for m, n, k in ((64,) * 3, (255,) * 3, (512,) * 3, (8, 1024, 1024), (1024, 64, 64)):
            yield Product(m, n, k, kind)


def products_of_rows() -> Iterator[Product]:
    """Matrices of models, and few rows to multiply by them."""
    for kind, matrices, rows in (
        ("f32", MATRICES, ROWS),
        ("bf16", MATRICES, (8, 16, 32, 64)),
        ("s8", MATRICES[::2], (8, 32, 64, 128)),
    ):
        for k, n in matrices:
            for m in rows:
                yield Product(m, n, k, kind)


class Row(NamedTuple):
    """A row of the table.

    Attributes
    ----------
    ratio : XLA's time over ours.
    share : of the roofline, that ours reaches.
    """

    cells: list[str]
    ratio: float
    share: float


def row(product: Product, seconds: float) -> Row:
    """The times of a product."""
    kernel = product.kernel()
    with jax.enable_x64(product.kind == "f64"):
        arguments = [_aligned(each) for each in kernel.arguments()]
        text = jax.jit(kernel.function).lower(*arguments).as_text("hlo")
    executable = emit_c.compile(hlo.parse(text))
    contenders: dict[str, Callable[[], Any]] = {
        "XLA": xla.Compiled(text).on(arguments),
        "ours": lambda: executable(*arguments),
    }
    contenders["peak"], operations = multiplications()
    contenders["read"] = reading(product.bytes)
    rounds = rounds_for(lambda: [run() for run in contenders.values()], seconds, 1000)
    times = both_clocks(contenders, rounds)
    # Noise disturbs CPU time less; but it says little about threads that wait for each other.
    taken = attrgetter("wall" if slots() > 1 else "cpu")
    peak = operations / taken(times["peak"]) / (2 if product.kind == "f64" else 1)
    theirs, ours = times["XLA"], times["ours"]
    shares = [f"{product.flops / taken(t) / peak:.0%}" for t in (theirs, ours)]
    least = max(product.flops / peak / product.at_once, taken(times["read"]))
    ratio, share = theirs.wall / ours.wall, least / taken(ours)
    cells = [spell_seconds(theirs.wall), shares[0], spell_seconds(ours.wall), shares[1]]
    cells = [product.name, *cells, f"{share:.0%}", f"{ratio:.2f}", f"{theirs.cpu / ours.cpu:.2f}"]
    return Row(cells, ratio, share)


def _aligned(array: Any) -> Any:
    """A copy that begins with a cache line, as arrays of JAX do, and NumPy's do not."""
    copy = aligned_bytes(array.nbytes).view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", action="store_true", help="8 to 128 rows by matrices of models")
    parser.add_argument("--only", default="", metavar="WORDS", help="rows whose name holds them")
    parser.add_argument("--seconds", type=float, default=0.5, help="to spend on a row")
    parser.add_argument("--threads", type=int, default=2, metavar="N", help="for both sides")
    options = parser.parse_args()
    # Both thread pools ask the system how many processors they may use.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    print(f"peak: {roofline().flops_per_second / 1e9:.0f} GFLOP/s of f32\n{about_processor()}\n")
    print(_line(["", "XLA", "of peak", "ours", "of peak", "roofline", "ratio", "CPU ratio"]))
    rows: dict[str, list[Row]] = {}
    for product in products_of_rows() if options.rows else products():
        if options.only in product.name:
            found = row(product, options.seconds)
            rows.setdefault(product.kind, []).append(found)
            print(_line(found.cells), flush=True)
    print()
    for kind, of_kind in rows.items() if options.rows else ():
        print(_summary(kind, of_kind))
    print(_summary("all", list(chain(*rows.values()))))
    print(about_processor())


def _summary(name: str, rows: Sequence[Row]) -> str:
    ratios, share = [row.ratio for row in rows], sum(row.share for row in rows) / len(rows)
    return (
        f"{name}: {len(rows)} rows, geometric mean {geometric_mean(ratios):.2f}, "
        f"least {min(ratios):.2f}, {sum(ratio < LEAST for ratio in ratios)} under {LEAST}; "
        f"mean share of the roofline {share:.0%}"
    )


def _line(cells: list[str]) -> str:
    return f"{cells[0]:<32}" + "".join(f"{cell:>11}" for cell in cells[1:])


if __name__ == "__main__":
    main()
