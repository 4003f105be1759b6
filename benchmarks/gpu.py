"""One command for a machine with a GPU: tests, compute-sanitizer, and times beside XLA's.

    python -m benchmarks.gpu                  # all of it
    python -m benchmarks.gpu --stand-in       # the same on this processor, with small arrays
    python -m benchmarks.gpu --only model     # what a model of the GPU says; needs no GPU
    python -m benchmarks.gpu --only model --xla-dump DIR   # beside what XLA's GPU pipeline made

XLA is JAX's: pip install 'jax[cuda13]'. Without it, its column stays empty. The stand-in's times
say nothing of a GPU.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import geometric_mean, median
from typing import TYPE_CHECKING, Any

import numpy as np

import emit_cuda
import hlo
import interpreter
import optimizer
from benchmarks import gpu_dumps
from codegen.program.steps import LibraryCall, flat
from emit_cuda.gpu import GpuDevice, missing
from emit_cuda.launches import estimates
from optimizer.gpu.device import rates_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from hlo.instruction import Module

ROOT = Path(__file__).parents[1]
STAND_IN = ROOT / "tests" / "emit_cuda" / "stand_in"
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
PARTS = ("tests", "sanitizer", "benchmark", "kernels", "programs", "model")
# Of values, as a part of the largest one.
TOLERANCE = 2e-2
WARM_UPS, ROUNDS, IN_A_ROUND, MOST_SECONDS = 3, 20, 10, 0.1
# Rows and columns that the interpreter takes no long time for.
SMALL = 256
FOLDS = """most { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT m = f32[] maximum(a, b) }
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
"""


def cases(n: int) -> dict[str, str]:
    """Modules on arrays of n x n."""
    x = f"f32[{n},{n}]"
    softmax = f"""x = {x} parameter(0)  low = f32[] constant(-inf)  zero = f32[] constant(0)
  m = f32[{n}] reduce(x, low), dimensions={{1}}, to_apply=most
  ms = {x} broadcast(m), dimensions={{0}}  d = {x} subtract(x, ms)  e = {x} exponential(d)
  s = f32[{n}] reduce(e, zero), dimensions={{1}}, to_apply=sum
  ss = {x} broadcast(s), dimensions={{0}}  ROOT y = {x} divide(e, ss)"""
    two = f"x = {x} parameter(0)  y = {x} parameter(1)"
    # XLA would compute products of f32 in TF32.
    dims = "lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision={highest,highest}"
    bodies = {
        "add": f"{two}  ROOT s = {x} add(x, y)",
        "exp(x) * y": f"{two}  e = {x} exponential(x)  ROOT s = {x} multiply(e, y)",
        "sum of rows": f"x = {x} parameter(0)  zero = f32[] constant(0)  "
        f"ROOT s = f32[{n}] reduce(x, zero), dimensions={{1}}, to_apply=sum",
        "sum of columns": f"x = {x} parameter(0)  zero = f32[] constant(0)  "
        f"ROOT s = f32[{n}] reduce(x, zero), dimensions={{0}}, to_apply=sum",
        "transpose": f"x = {x} parameter(0)  ROOT t = {x} transpose(x), dimensions={{1,0}}",
        "softmax": softmax,
        "product f32": f"{two}  ROOT d = {x} dot(x, y), {dims}",
        "product bf16": f"{two}  ROOT d = {x} dot(x, y), {dims}".replace("f32", "bf16"),
    }
    made = {name: f"HloModule m\n{FOLDS}ENTRY e {{ {body} }}" for name, body in bodies.items()}
    for path in sorted((ROOT / "tests" / "models").glob("*.hlo")):
        if path.stem in ("attention", "layer_norm", "mlp_train_step", "softmax_layer"):
            made[path.stem.replace("_", " ")] = path.read_text()
    return made


def given(module: Module) -> list[Any]:
    """Small random numbers for the parameters."""
    random = np.random.default_rng(0)
    shapes = [p.shape for p in module.entry.parameters]
    return [(random.integers(0, 5, s.dims) / 4).astype(s.element_type.dtype) for s in shapes]


def seconds(run: Callable[[], Any], wait: Callable[[], Any]) -> float:
    """The median of some rounds; in each, calls follow each other, and the last one is awaited.

    Of slow calls there are fewer.
    """
    for _ in range(WARM_UPS):
        run()
    wait()
    start = time.perf_counter()
    run()
    wait()
    calls = max(MOST_SECONDS / (time.perf_counter() - start), 3)
    in_a_round = min(IN_A_ROUND, int(calls / 3))
    times: list[float] = []
    for _ in range(min(ROUNDS, int(calls / in_a_round))):
        start = time.perf_counter()
        for _ in range(in_a_round):
            run()
        wait()
        times.append((time.perf_counter() - start) / in_a_round)
    return median(times)


def copied(device: GpuDevice, size: int = 1 << 30) -> float:
    """Bytes a second that a copy of a large array reads and writes together."""
    source, target = device.allocate(size), device.allocate(size)
    device.fill(source, 1, size)
    times = [device.timed(lambda: device.copy(target, source, size), 0) for _ in range(ROUNDS)]
    device.free(source)
    device.free(target)
    return 2 * size / median(times)


def modules(n: int) -> Iterator[tuple[str, str, Sequence[Any]]]:
    """Names, texts and arguments of `cases`."""
    for name, text in cases(n).items():
        yield name, text, given(hlo.parse(text))


def large(kind: str, rows: str) -> Iterator[tuple[str, str, Sequence[Any]]]:
    """The `kernels` or `programs`, which JAX writes as HLO, whose names match an expression."""
    yield from getattr(importlib.import_module(f"benchmarks.gpu_{kind}"), kind)(rows)


def benchmark(
    device: GpuDevice, rows: Iterable[tuple[str, str, Sequence[Any]]], check_by_hand: bool = False
) -> None:
    """A line for each module: bytes, times of kernels alone, with libraries, and of XLA."""
    most = copied(device)
    print(f"\n{device.name}; a copy moves {most / 1e9:.0f} GB/s\n")
    print("| module | MB | kernels us | GB/s | of copy | with libraries us | XLA us | XLA / ours |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    ratios: list[float] = []
    for name, text, arguments in rows:
        module = hlo.parse(text)
        moved = sum(p.shape.unpacked_bytes for p in module.entry.parameters)
        moved += sum(s.unpacked_bytes for _, s in module.entry.root.shape.leaves() if s.is_array)
        theirs, wanted = _xla(text, arguments)
        if wanted is None and check_by_hand:
            wanted = _leaves(interpreter.evaluate(module, *arguments))
        times = [
            _ours(executable, arguments, wanted or ())
            for executable in _executables(module, device)
        ]
        ratios += [theirs / min(times)] if theirs else []
        print(
            f"| {name} | {moved / 1e6:.1f} | {times[0] * 1e6:.1f} | {moved / times[0] / 1e9:.0f} | "
            f"{moved / times[0] / most:.2f} | "
            f"{f'{times[1] * 1e6:.1f}' if len(times) > 1 else '-'} | "
            f"{f'{theirs * 1e6:.1f}' if theirs else '-'} | "
            f"{f'{ratios[-1]:.2f}' if theirs else '-'} |",
            flush=True,
        )
    if ratios:
        print(f"\ngeometric mean of {len(ratios)}: {geometric_mean(ratios):.2f}")


def _executables(module: Module, device: GpuDevice) -> list[emit_cuda.CudaExecutable]:
    """Of kernels alone; and with libraries, where these compute something."""
    made = [emit_cuda.compile(module, device, libraries=each) for each in (False, True)]
    calls = any(isinstance(step, LibraryCall) for step in flat(made[1].program.steps))
    return made if calls else made[:1]


def _ours(
    executable: emit_cuda.CudaExecutable, given: Sequence[Any], wanted: Sequence[Any]
) -> float:
    """PyHLO's seconds, after a look at the values."""
    first = executable.on_device(*given)
    for value, want in zip(_leaves(first), wanted, strict=False):
        _look_at(np.asarray(value), np.asarray(want))
    there = [executable.device_array(each) for each in given]
    return seconds(lambda: executable.on_device(*there), executable.device.synchronize)


def _look_at(value: Any, wanted: Any) -> None:
    """Say so where values are not as wanted: whole numbers exactly, others nearly."""
    if wanted.dtype.kind in "biu":
        wrong = np.count_nonzero(value != wanted)
    else:
        kind = np.complex64 if wanted.dtype.kind == "c" else np.float32
        value, wanted = value.astype(kind, copy=False), wanted.astype(kind, copy=False)
        most = np.abs(wanted).max(initial=0, where=np.isfinite(wanted))
        far = np.abs(value - wanted) > TOLERANCE * most
        wrong = np.count_nonzero(far) + np.count_nonzero(np.isnan(value) != np.isnan(wanted))
    if wrong:
        print(f"WRONG: {wrong} of {wanted.size} elements of {wanted.dtype}{list(wanted.shape)}")


def _leaves(value: Any) -> Sequence[Any]:
    return value if isinstance(value, tuple) else (value,)


def _xla(text: str, arguments: Sequence[Any]) -> tuple[float | None, Sequence[Any] | None]:
    """XLA's seconds on the same GPU, and its values; None where JAX has none."""
    try:
        import jax  # noqa: PLC0415

        from benchmarks.xla import Compiled  # noqa: PLC0415

        jax.devices("cuda")
    except (ImportError, RuntimeError):
        return None, None
    compiled = Compiled(text, "cuda")
    ask = compiled.asked(arguments)
    return seconds(ask, compiled.wait), [np.asarray(each) for each in ask()]


def model(n: int) -> None:
    """A line for each module and GPU: launches, bytes, the least time, how full the GPU is."""
    print(f"\nBy the model, arrays of {n} x {n}; not fused: a kernel for each instruction\n")
    print("| module | launches | MB | MB not fused | least us H100 | B200 | warps | coalesced |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, text in cases(n).items():
        module = hlo.parse(text)
        program = emit_cuda.emit(optimizer.prepare(emit_cuda.optimized(module), "gpu"))
        plain = estimates(emit_cuda.emit(optimizer.prepare(module, "gpu")), rates_of("H100"))
        rows, later = (estimates(program, rates_of(gpu)) for gpu in ("H100", "B200"))
        full = [row.occupancy.share for row in rows if row.occupancy]
        known = [a for row in rows for a in row.accesses if a.requests and not a.shared]
        requests = sum(a.requests or 0 for a in known)
        good = sum(min(a.least, a.requests or 0) for a in known) / max(requests, 1)
        print(
            f"| {name} | {len(rows)} | {sum(row.bytes for row in rows) / 1e6:.1f} | "
            f"{sum(row.bytes for row in plain) / 1e6:.1f} | "
            f"{sum(row.seconds for row in rows) * 1e6:.1f} | "
            f"{sum(row.seconds for row in later) * 1e6:.1f} | "
            f"{f'{min(full):.0%}' if full else '-'} | {good:.0%} |",
            flush=True,
        )


def tests(*, stand_in: bool) -> int:
    """The tests of the runtime, and those of all kinds of kernels; whether some failed."""
    folder = ROOT / "tests" / "emit_cuda"
    if stand_in:
        chosen = [str(folder / "test_gpu.py")]
        environment = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
    else:
        chosen = [str(folder), "-m", "not slow", "-n", "8"]
        environment = {**os.environ, "PYHLO_TESTS_ON_GPU": "1"}
    command = [sys.executable, "-m", "pytest", "-q", *chosen]
    return subprocess.run(command, check=False, cwd=ROOT, env=environment).returncode != 0


def sanitizer(where: str) -> int:
    """compute-sanitizer's four tools on the script of tests; how many of them complain.

    The one of CUDA 13.0 ends at the first graph with a conditional node, and names no access.
    """
    tool = shutil.which("compute-sanitizer")
    if not tool:
        print("\ncompute-sanitizer is missing: it is a part of NVIDIA's toolkit")
        return 0
    failed = 0
    for name in TOOLS:
        script = [sys.executable, str(STAND_IN / "script.py"), where, "without-conditionals"]
        done = subprocess.run(
            [tool, "--tool", name, "--error-exitcode", "9", *script], check=False, cwd=ROOT
        )
        print(f"{name}: {'no mistake' if not done.returncode else 'mistakes found'}")
        failed += done.returncode != 0
    return failed


def times(chosen: Sequence[str], arguments: argparse.Namespace) -> int:
    """The tables of times, on the GPU or its stand-in; whether there is neither."""
    if reason := missing():
        print(f"\nno benchmark: {reason}")
        return 1
    options = {}
    if arguments.stand_in:
        sys.path.insert(0, str(STAND_IN))
        options = {"compiler": importlib.import_module("script").on_the_processor}
    device = GpuDevice(**options)
    if "benchmark" in chosen:
        n = arguments.size or (64 if arguments.stand_in else 8192)
        benchmark(device, modules(n), check_by_hand=n <= SMALL)
    for kind in ("kernels", "programs"):
        if kind in chosen and not arguments.stand_in:
            benchmark(device, large(kind, arguments.rows))
    device.close()
    return 0


def main() -> int:
    """Do the parts that are asked for."""
    raw = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--stand-in", action="store_true", help="on this processor")
    parser.add_argument("--only", choices=PARTS, action="append", help="may be given again")
    parser.add_argument("--xla-dump", type=Path, help="a folder that XLA wrote on a GPU machine")
    parser.add_argument("--rows", default="", help="only those whose names match this")
    parser.add_argument("--size", type=int, help="rows and columns of the arrays")
    arguments = parser.parse_args()
    chosen = arguments.only or PARTS
    # JAX would take most of the GPU's memory at once.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    if arguments.stand_in and "STAND_IN_DRIVER" not in os.environ:
        return _again_with_the_stand_in()
    where, failed = "stand-in" if arguments.stand_in else "gpu", 0
    if "tests" in chosen:
        failed += tests(stand_in=arguments.stand_in)
    if "sanitizer" in chosen:
        failed += sanitizer(where)
    if {"benchmark", "kernels", "programs"} & set(chosen):
        failed += times(chosen, arguments)
    if "model" in chosen:
        model(arguments.size or 4096)
        texts = gpu_dumps.pairs(arguments.xla_dump) if arguments.xla_dump else gpu_dumps.stored()
        failed += gpu_dumps.compare(texts)
    return failed


def _again_with_the_stand_in() -> int:
    """Run the program once more, in a process whose driver is the stand-in."""
    spec = importlib.util.spec_from_file_location("build", STAND_IN / "build.py")
    assert spec
    assert spec.loader
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    with tempfile.TemporaryDirectory() as folder:
        build.stand_in(Path(folder))
        environment = {**os.environ, "LD_LIBRARY_PATH": folder, "STAND_IN_DRIVER": "1"}
        command = [sys.executable, "-m", "benchmarks.gpu", *sys.argv[1:]]
        return subprocess.run(command, check=False, cwd=ROOT, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
