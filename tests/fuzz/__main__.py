"""A fuzzer: mutated HLO texts are read, and mutated modules run three ways.

    python -m tests.fuzz --texts 1000000
    python -m tests.fuzz --modules 50000 --sanitize
    python -m tests.fuzz --modules 100 --first 1234 --seed 7     these cases again
    python -m tests.fuzz --modules 5000 --xla
    python -m tests.fuzz --modules 5000 --platform cuda-host

Each mistake is written once to the folder of findings, as a text with its story above, and shrunk.
The interpreter's values are compared with those of the optimized module and of its C; with
--sanitize the C is watched by AddressSanitizer and UndefinedBehaviorSanitizer. With --platform
cuda-host it is CUDA in the place of C, run on the processor, which --sanitize watches by our own
checks. With --xla also jaxlib's XLA is asked, which may flush subnormal numbers. The exit status
is 1 if anything was found.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from tests.fuzz.cases import Attempt, Run, count_mistake
from tests.fuzz.corpus import corpus
from tests.fuzz.findings import Findings
from tests.fuzz.mistakes import CUDA, C
from tests.fuzz.shrink import smaller
from tests.fuzz.stablehlo import texts
from tests.fuzz.workers import Counts, Found, Worker, watch

# Without the checks that take the compiler most of its time, and find no more than addresses do;
# addresses are checked by calls, which are compiled twice as fast as code in place.
FLAGS = (
    "-fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=undefined "
    "-fno-sanitize=null,object-size,pointer-overflow "
    "--param=asan-instrumentation-with-call-threshold=0"
)
EVERY = 15  # seconds between reports


def parsed_arguments(words: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--texts", type=int, metavar="N", help="read so many mutated texts")
    kind.add_argument("--modules", type=int, metavar="N", help="run so many mutated modules")
    parser.add_argument("--stablehlo", action="store_true", help="of StableHLO instead of HLO")
    parser.add_argument("--seconds", type=float, metavar="S", help="stop after so long")
    parser.add_argument("--seed", default="0", help="of everything (default 0)")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="number of the first")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--sanitize", action="store_true", help="watch the C's memory and sums")
    parser.add_argument("--xla", action="store_true", help="ask jaxlib's XLA, too")
    parser.add_argument("--platform", choices=("c", "cuda-host"), default="c", help="of the code")
    parser.add_argument("--out", type=Path, default=Path(".fuzz"), help="folder of findings")
    parser.add_argument("--no-shrink", action="store_true", help="leave findings as they are")
    arguments = parser.parse_args(words)
    if arguments.xla and arguments.sanitize:
        parser.error("XLA does not run under sanitizers")
    return arguments


def main() -> int:
    """Run, report, and keep what was found."""
    arguments = parsed_arguments()
    in_c = arguments.platform == "c"
    if arguments.sanitize and in_c and "PYHLO_FUZZ_SANITIZED" not in os.environ:
        restart_with_sanitizers()
    counts, findings = fuzz(arguments)
    print(findings.report())
    return 1 if counts["crashes"] or findings.counts else 0


def fuzz(arguments: argparse.Namespace) -> tuple[dict[str, int], Findings]:
    """One run: its counts, and what it has found."""
    gentle = arguments.modules is not None
    number = arguments.modules if gentle else arguments.texts
    third = "xla" if arguments.xla else ""
    platform = C if arguments.platform == "c" else replace(CUDA, checked=arguments.sanitize)
    run = Run(
        arguments.seed, gentle, arguments.first + number, arguments.stablehlo, third, platform
    )
    # What every process reads is there before they part.
    corpus().tokens, corpus().attributes, corpus().lines, corpus().shapes
    if arguments.stablehlo:
        texts()
    findings = Findings(arguments.out)
    counts = Counts(arguments.workers + 1)
    start, told = time.monotonic(), [time.monotonic()]

    def work(at, step, counts, tell) -> None:
        Attempt(run, at, step, counts, tell).all()

    def take(found: Found) -> None:
        path = findings.add(found.kind, found.place, found.message, found.text, found.seed)
        if path:
            print(f"{path}: {found.message.splitlines()[-1][:200]}", flush=True)

    def lost(numbers: list[int], kind: str, said: str) -> None:
        if len(numbers) > 1:
            print(f"{kind} of {len(numbers)} modules together; each is tried by itself", flush=True)
            return
        counts.row = arguments.workers
        count_mistake(counts, kind)
        take(Found(kind, place_of(said), said, run.text(numbers[0]), f"{run.seed}/{numbers[0]}"))

    def tick() -> bool:
        now = time.monotonic()
        if now - told[0] > EVERY:
            told[0] = now
            print(summary(counts.total(), now - start), flush=True)
        return arguments.seconds is None or now - start < arguments.seconds

    workers = [
        Worker(row, arguments.first + row, arguments.workers, counts, work)
        for row in range(arguments.workers)
    ]
    watch(workers, take, lost, tick)
    total = counts.total()
    print(summary(total, time.monotonic() - start))
    findings.save(total)
    if not arguments.no_shrink:
        smaller(findings, run)
    return total, findings


def summary(total: dict[str, int], seconds: float) -> str:
    """The counts that are not 0, and the speed."""
    told = ", ".join(f"{name} {number:,}" for name, number in total.items() if number)
    return f"{seconds:.0f} s, {total['texts'] / max(seconds, 1e-9):.0f} texts/s: {told}"


def place_of(said: str) -> str:
    """Where a process ended, as sanitizers say it."""
    for line in said.splitlines():
        if "runtime error: " in line:
            words = line.partition("runtime error: ")[2]
            return "".join(c for c in words if not c.isdigit())
        if "SUMMARY: AddressSanitizer" in line:
            _, _, what, *_, function = line.split()
            return f"{what} in {function}"
    return said.splitlines()[0]


def restart_with_sanitizers() -> None:
    """Start again in a process that has loaded the sanitizers before everything else."""
    libraries = [
        subprocess.run(
            ["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    environment = {
        "PYHLO_FUZZ_SANITIZED": "1",
        "CC": f"gcc {FLAGS}",
        "LD_PRELOAD": ":".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:hard_rss_limit_mb=4000",
        "UBSAN_OPTIONS": "print_stacktrace=0",
        "OPENBLAS_NUM_THREADS": "1",
    }
    words = [sys.executable, "-m", "tests.fuzz", *sys.argv[1:]]
    os.execve(sys.executable, words, os.environ | environment)


if __name__ == "__main__":
    sys.exit(main())
