"""Matrix products beside XLA CPU and beside the machine's own peak, by shape and type.

python -m benchmarks.products [--only WORDS] [--seconds S] [--threads N]

The peak is that of multiplications and additions of f32 in registers, on as many threads, measured
in turn with each product (`emit_c.executable.profile.multiplications`). f64 has half of it; bf16
and s8 have that of f32, though a processor that sums products of two bf16 at once (AVX512-BF16) can
do twice as many, and one that sums products of four bytes (VNNI) four times as many.
"""

from __future__ import annotations

import argparse
import os
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
from emit_c.executable.profile import multiplications, roofline
from emit_c.executable.runtime import slots

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


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

    def kernel(self) -> Kernel:
        """The function, and its arguments."""
        left = (self.k, self.m) if "a" in self.transposed else (self.m, self.k)
        right = (self.n, self.k) if "b" in self.transposed else (self.k, self.n)
        many = (self.batch,) if self.batch > 1 else ()
        shapes = tuple(f"{self.kind}[{','.join(map(str, many + d))}]" for d in (left, right))
        result = jnp.int32 if self.kind == "s8" else None

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


def row(product: Product, seconds: float) -> tuple[list[str], float]:
    """The times of a product, and XLA's over ours."""
    kernel = product.kernel()
    with jax.enable_x64(product.kind == "f64"):
        arguments = kernel.arguments()
        text = jax.jit(kernel.function).lower(*arguments).as_text("hlo")
    executable = emit_c.compile(hlo.parse(text))
    contenders: dict[str, Callable[[], Any]] = {
        "XLA": xla.Compiled(text).on(arguments),
        "ours": lambda: executable(*arguments),
    }
    contenders["peak"], operations = multiplications()
    rounds = rounds_for(lambda: [run() for run in contenders.values()], seconds, 1000)
    times = both_clocks(contenders, rounds)
    # Noise disturbs CPU time less; but it says little about threads that wait for each other.
    seconds = attrgetter("wall" if slots() > 1 else "cpu")
    peak = operations / seconds(times["peak"]) / (2 if product.kind == "f64" else 1)
    theirs, ours = times["XLA"], times["ours"]
    shares = [f"{product.flops / seconds(t) / peak:.0%}" for t in (theirs, ours)]
    ratio = theirs.wall / ours.wall
    cells = [spell_seconds(theirs.wall), shares[0], spell_seconds(ours.wall), shares[1]]
    return [product.name, *cells, f"{ratio:.2f}", f"{theirs.cpu / ours.cpu:.2f}"], ratio


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="WORDS", help="rows whose name holds them")
    parser.add_argument("--seconds", type=float, default=0.5, help="to spend on a row")
    parser.add_argument("--threads", type=int, default=2, metavar="N", help="for both sides")
    options = parser.parse_args()
    # Both thread pools ask the system how many processors they may use.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    print(f"peak: {roofline().flops_per_second / 1e9:.0f} GFLOP/s of f32\n{about_processor()}\n")
    print(_line(["", "XLA", "of peak", "ours", "of peak", "ratio", "CPU ratio"]))
    ratios: list[float] = []
    for product in products():
        if options.only in product.name:
            cells, ratio = row(product, options.seconds)
            ratios.append(ratio)
            print(_line(cells), flush=True)
    slow = sum(ratio < 0.9 for ratio in ratios)
    print(f"\n{len(ratios)} rows, geometric mean {geometric_mean(ratios):.2f}, {slow} under 0.9")
    print(about_processor())


def _line(cells: list[str]) -> str:
    return f"{cells[0]:<32}" + "".join(f"{cell:>11}" for cell in cells[1:])


if __name__ == "__main__":
    main()
