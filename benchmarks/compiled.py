"""Compiled C beside XLA CPU and NumPy: time to run, to compile, to call, and how it grows.

python -m benchmarks.compiled [kernels|models|programs|forms|compile|calls|growth ...]
    [--only WORDS] [--texts FILE ...] [--threads N] [--seconds S] [--busy]

`--texts` takes HLO texts of your own for `models` and `compile`; an .npz of the same name or
inputs.npz beside one is taken as its inputs if it fits, else they are random. `--busy` measures
beside a process that keeps a processor busy, so that the system takes helpers off.

Ratios are XLA's time over ours, so more than 1 says that ours is faster; "1 thread" is ours with
`threads=1`, and "threads" the time of ours over that. Both run after a run of XLA, so that they
find caches equally cold. CPU time counts all threads, and noise on the machine disturbs it less;
but a kernel that books the time of other threads only at ticks of its clock makes it worthless for
rows of less than some 20 ms that use several.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import emit_c
import hlo
from benchmarks import networks, xla
from benchmarks.apart import APART, FILES
from benchmarks.forms import forms
from benchmarks.kernels import Kernel, kernels
from benchmarks.measure import (
    Times,
    both_clocks,
    busy_processor,
    geometric_mean,
    rounds_for,
    spell_seconds,
)
from benchmarks.processor import about_processor
from benchmarks.programs import PROGRAMS
from hlo.errors.error import HloError
from hlo_tools.options.inputs import make_inputs
from interpreter.engine.arguments import checked_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from hlo.instruction import Module

HEAD = ("", "XLA", "NumPy", "ours", "1 thread", "ratio", "CPU ratio", "to NumPy", "threads")
SECONDS = 1.0  # to spend on a row
TRIED = 40  # calls, after which one thread and all of them have been tried
LOW, COSTLY = 0.9, 1.03  # a row's ratio to XLA, and to one thread, that nobody should see


class Work(NamedTuple):
    """Something to measure: an HLO text, and its arguments."""

    name: str
    text: str
    arguments: Sequence[Any]
    by_hand: Callable[..., Any] | None = None


# ------------------------------------------------------------------ what is measured


def kernel_works() -> Iterator[Work]:
    """The kernels of `benchmarks.kernels`."""
    yield from _traced(kernels())


def program_works() -> Iterator[Work]:
    """Detection, sequences, science, simulations and graphs: loops with small kernels."""
    for name in ("detection", "sequences", "science", "simulations", "graphs"):
        import_module(f"benchmarks.{name}")
    yield from _traced(PROGRAMS)


def form_works() -> Iterator[Work]:
    """The kernels of `benchmarks.forms`."""
    yield from _traced(forms())


def apart_works() -> Iterator[Work]:
    """The programs of `benchmarks.apart`."""
    for name in FILES:
        import_module(f"benchmarks.apart.{name}")
    yield from _traced(APART)


def _traced(kernels: Mapping[str, Kernel]) -> Iterator[Work]:
    """Functions as JAX writes them."""
    for name, kernel in kernels.items():
        with jax.enable_x64(any(shape.startswith(("f64", "s64")) for shape in kernel.shapes)):
            arguments = kernel.arguments()
            text = jax.jit(kernel.function, keep_unused=True).lower(*arguments).as_text("hlo")
        yield Work(name, text, arguments, kernel.by_hand)


def model_works(texts: Sequence[str]) -> Iterator[Work]:
    """The networks of `benchmarks.networks`, and texts of the user's."""
    made = {"ResNet-50": networks.resnet_50(224), "BERT-base": networks.bert_base(128)}
    for name, (function, arguments) in made.items():
        text = jax.jit(function).lower(*arguments).as_text("hlo")
        yield Work(name, text, jax.tree.leaves(arguments))
    for path in map(Path, texts):
        text = path.read_text()
        yield Work(f"{path.parent.name}/{path.stem}", text, _inputs(hlo.parse(text), path))


def _inputs(module: Module, path: Path) -> Sequence[Any]:
    """From the file beside a text, if it fits the module's parameters; else random."""
    for beside in (path.with_suffix(".npz"), path.with_name("inputs.npz"), None):
        given = [str(beside)] if beside and beside.exists() else []
        if beside is None or given:
            options = argparse.Namespace(replicas=None, input=given, fill=None, seed=0)
            with suppress(HloError):
                arguments = make_inputs(module, options)[0]
                checked_arguments(module.entry, arguments)
                # Random numbers without signs: some of them are variances.
                return arguments if given else jax.tree.map(np.abs, arguments)
    raise AssertionError("random inputs fit")


def growth_works() -> Iterator[Work]:
    """A few kernels at sizes from 1e3 to 1e8."""
    for power in range(3, 9):
        size = 10**power
        side = round(size**0.5)
        flat, square = f"f32[{size}]", f"f32[{side},{side}]"
        rows = {
            "exp": Kernel(jnp.exp, (flat,)),
            "sum(x+y*z)": Kernel(lambda x, y, z: (x + y * z).sum(), (flat,) * 3),
            "softmax": Kernel(jax.nn.softmax, (square,)),
            "dot": Kernel(jnp.dot, (square,) * 2),
            "sort": Kernel(jnp.sort, (flat,)),
        }
        for name, kernel in rows.items():
            if name == "dot" and side > 4000:
                continue  # 2e12 operations: minutes
            arguments = kernel.arguments()
            text = jax.jit(kernel.function).lower(*arguments).as_text("hlo")
            yield Work(f"{name} 1e{power}", text, arguments)


# ------------------------------------------------------------------ measuring


class Ratios(NamedTuple):
    """XLA's time over ours, and ours with a choice of threads over that on one."""

    to_xla: float
    threads: float


def run_row(work: Work, seconds: float) -> tuple[list[str], Ratios]:
    """The times of one module, and the ratios of what one waits.

    Raises
    ------
    Exception
        what a contender raises that cannot take the module.
    """
    module = hlo.parse(work.text)
    arguments = work.arguments
    executable, alone = (emit_c.compile(module, threads=n) for n in (None, 1))
    # XLA takes the memory of donated arguments away, so that they could be used only once.
    header = replace(module.header, input_output_alias=(), buffer_donor=())
    text = work.text if header == module.header else str(replace(module, header=header))
    run_xla = xla.Compiled(text).on(arguments)
    contenders: dict[str, Callable[[], Any]] = {
        "XLA": run_xla,
        "ours": lambda: executable(*arguments),
        "XLA again": run_xla,
        "1 thread": lambda: alone(*arguments),
    }
    _check(contenders["ours"](), contenders["XLA"]())
    # Calls choose how many threads they take by trials, of which the first come soon.
    both_clocks(contenders, rounds_for(contenders["ours"], seconds / 4, TRIED))
    times = _times(contenders, seconds)
    ours, theirs, hand = times["ours"], times["XLA"], None
    if work.by_hand:
        # By itself, for the threads of its BLAS stay busy for a while when there is nothing to do.
        hand = _times({"NumPy": partial(work.by_hand, *arguments)}, seconds / 2)["NumPy"]
    ratio = theirs.wall / ours.wall
    return [
        work.name,
        spell_seconds(theirs.wall),
        spell_seconds(hand.wall) if hand else "",
        spell_seconds(ours.wall),
        spell_seconds(times["1 thread"].wall),
        f"{ratio:.2f}",
        f"{theirs.cpu / ours.cpu:.2f}",
        f"{hand.wall / ours.wall:.2f}" if hand else "",
        f"{ours.wall / times['1 thread'].wall:.2f}",
    ], Ratios(ratio, ours.wall / times["1 thread"].wall)


def _times(contenders: dict[str, Callable[[], Any]], seconds: float) -> dict[str, Times]:
    """The times of contenders that run in turn."""
    rounds = rounds_for(lambda: [run() for run in contenders.values()], seconds, 1000)
    return both_clocks(contenders, rounds)


def _check(ours: Any, theirs: Any) -> None:
    """That both compute the same, but for rounding, the order of sums, and subnormal numbers.

    XLA takes these for 0, wherever they come up: a sum of some of them is 0 there, and not here.
    """
    for pair in zip(jax.tree.leaves(ours), theirs, strict=True):
        mine, other = (np.asarray(a, np.result_type(a.dtype, np.float32)) for a in pair)
        scale = np.abs(other, where=np.isfinite(other), out=np.zeros(other.shape)).max(initial=0)
        nothing = 1e-2 * float(scale) + 1000 * float(np.finfo(other.dtype).tiny)
        np.testing.assert_allclose(mine, other, rtol=1e-2, atol=nothing)


def run_table(works: Iterator[Work], only: str, seconds: float, *, rows: bool = True) -> None:
    """Rows as they come, where they may be seen, and the geometric means of their ratios."""
    ratios: list[Ratios] = []
    if rows:
        print(_line(HEAD))
    for work in works:
        if only and only not in work.name:
            continue
        try:
            row, ratio = run_row(work, seconds)
        except Exception as error:  # a benchmark goes on with the next row, and says so
            print(f"{work.name}: {type(error).__name__}: {str(error).splitlines()[0]}")
            continue
        ratios.append(ratio)
        if rows:
            print(_line(row), flush=True)
    if ratios:
        slow = sum(r.to_xla < LOW for r in ratios)
        mean = geometric_mean([r.to_xla for r in ratios])
        print(f"\n{len(ratios)} rows, geometric mean {mean:.2f}, {slow} under {LOW};", end=" ")
        costly = sum(r.threads > COSTLY for r in ratios)
        mean = geometric_mean([r.threads for r in ratios])
        print(f"time to that of one thread {mean:.2f}, {costly} over {COSTLY}\n")


def compile_table(texts: Sequence[str], only: str) -> None:
    """Seconds from text to a program that can be called.

    The first program on a machine also has the runtime and its register tiles compiled, which
    XLA's wheel brings along compiled. Cold is where these are there, but nothing of the module;
    cached is where the module was compiled before.
    """
    print(_line(("", "XLA", "first", "cold", "cached", "ratio", "CPU ratio")))
    ratios: list[float] = []
    for work in model_works(texts):
        if only and only not in work.name:
            continue
        try:
            theirs = xla.Compiled(work.text)
            module = hlo.parse(work.text)
            with _empty_cache() as cache:
                first, made = _timed(partial(emit_c.compile, module))
                made.library.unlink()
                del made
                # Modules with very large constants are not kept there.
                shutil.rmtree(cache / "built", ignore_errors=True)
                for file in (cache / "libraries").glob("*.o"):
                    file.unlink(missing_ok=True)
                (cold, _), (cached, _) = (_timed(partial(emit_c.compile, module)) for _ in range(2))
        except Exception as error:  # as in run_table
            print(f"{work.name}: {type(error).__name__}: {str(error).splitlines()[0][:120]}")
            continue
        ratios.append(theirs.seconds / cold[0])
        seconds = (theirs.seconds, first[0], cold[0], cached[0])
        spelled = [spell_seconds(s) for s in seconds]
        cpu = f"{theirs.cpu_seconds / cold[1]:.2f}"
        print(_line([work.name, *spelled, f"{ratios[-1]:.2f}", cpu]), flush=True)
    if ratios:
        print(f"\ngeometric mean {geometric_mean(ratios):.2f}\n")


@contextmanager
def _empty_cache() -> Iterator[Path]:
    """A cache of PyHLO's for a while; another thread may still write there when it ends."""
    before = os.environ.get("XDG_CACHE_HOME")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        try:
            yield Path(folder, "pyhlo")
        finally:
            del os.environ["XDG_CACHE_HOME"]
            if before is not None:
                os.environ["XDG_CACHE_HOME"] = before


def _timed(run: Callable[[], Any]) -> tuple[tuple[float, float], Any]:
    """Seconds, and CPU seconds with those of the compiler's processes; and what was made."""
    wall, cpu = time.perf_counter(), sum(os.times()[:4])
    made = run()
    return (time.perf_counter() - wall, sum(os.times()[:4]) - cpu), made


def call_table() -> None:
    """The cost of a call that computes next to nothing."""
    x = np.ones((4, 4), np.float32)
    jitted = jax.jit(jax.numpy.add)
    text = jitted.lower(x, x).as_text("hlo")
    executable = emit_c.compile(hlo.parse(text))
    scaled = emit_c.compile(hlo.parse(jax.jit(lambda a, b: a * b).lower(x, x[0, 0]).as_text("hlo")))
    there, number = jax.device_put(x), x[0, 0]
    contenders: dict[str, Callable[[], Any]] = {
        "XLA, executable": xla.Compiled(text).on([x, x]),
        "XLA, jax.jit": lambda: jax.block_until_ready(jitted(there, there)),
        "ours": lambda: executable(x, x),
        "ours, NumPy scalar": lambda: scaled(x, number),
        "ours, Python number": lambda: scaled(x, 1.0),
        "NumPy": lambda: x + x,
    }
    print("a sum of 4x4 numbers, or a multiple of them, the best of 5 times 10,000 calls:")
    for name, run in contenders.items():
        best = min(_timed(lambda run=run: [run() for _ in range(10_000)])[0][0] for _ in range(5))
        print(f"  {name:<20} {spell_seconds(best / 10_000)} ({best / 10_000 * 1e9:.0f} ns)")
    print()


def _line(cells: Sequence[str]) -> str:
    return f"{cells[0]:<48.48}" + "".join(f"{cell:>11}" for cell in cells[1:])


def main() -> None:
    """Measure what is asked for, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    tables = ("kernels", "models", "programs", "forms", "compile", "calls", "growth")
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(tables))
    parser.add_argument("--only", default="", metavar="WORDS", help="rows whose name holds them")
    parser.add_argument("--texts", nargs="+", default=[], metavar="FILE", help="HLO of your own")
    parser.add_argument("--threads", type=int, metavar="N", help="for both sides (default 2)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="to spend on a row")
    parser.add_argument("--busy", action="store_true", help="beside a busy process")
    options = parser.parse_args()
    threads: int = options.threads or 2
    # Both thread pools ask the system how many processors they may use.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    only, seconds, texts = options.only, options.seconds, options.texts
    runs: dict[str, Callable[[], None]] = {
        "kernels": lambda: run_table(kernel_works(), only, seconds),
        "models": lambda: run_table(model_works(texts), only, seconds),
        "programs": lambda: run_table(program_works(), only, seconds),
        "forms": lambda: run_table(form_works(), only, seconds),
        "apart": lambda: run_table(apart_works(), only, seconds, rows=False),
        "compile": lambda: compile_table(texts, only),
        "calls": call_table,
        "growth": lambda: run_table(growth_works(), only, seconds),
    }
    unknown = [name for name in options.tables if name not in runs]
    if unknown:
        sys.exit(f"there is no table {unknown[0]!r}; there are {', '.join(tables)}")
    beside = ", beside a busy process" if options.busy else ""
    for name in options.tables or tables:
        print(f"{name}, {threads} threads{beside}\n{about_processor()}\n")
        with busy_processor() if options.busy else nullcontext():
            runs[name]()


if __name__ == "__main__":
    main()
