"""CPU seconds of the optimizer over programs of eight shapes, and the power of n they grow with.

python -m benchmarks.growth [--sizes 1000,4000,16000] [--only SHAPE ...] [--rows N]

Each shape is a row for the whole of `optimize`, and a row for each pass that takes a tenth of the
largest program's time or more. An exponent of 1 is linear: it is the slope between the first and
the last size that take more than 50 ms.
"""

from __future__ import annotations

import argparse
import gc
import time
from math import log
from typing import TYPE_CHECKING

import hlo
from benchmarks.measure import table
from optimizer import optimize
from optimizer.observers import Timer

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (1000, 4000, 16000)
LITTLE = 0.05  # seconds that say nothing of growth
PRODUCT = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"


def _module(lines: list[str], root: str, others: str = "") -> str:
    body = "\n".join(f"  {line}" for line in (*lines, f"ROOT {root}"))
    return f"HloModule grown\n{others}\nENTRY e {{\n{body}\n}}\n"


def chain(n: int) -> str:
    """Elementwise instructions that need the last one, and one from some steps ago."""
    lines = ["v0 = f32[64,64] parameter(0)"]
    for k in range(1, n):
        opcode = ("add", "multiply", "subtract", "maximum")[k % 4]
        other = max(k - 1 - (k * 7) % 23, 0)
        unary = f"tanh(v{k - 1})" if k % 11 == 5 else f"{opcode}(v{k - 1}, v{other})"
        lines.append(f"v{k} = f32[64,64] {unary}")
    return _module(lines, f"r = f32[64,64] negate(v{n - 1})")


def slices(n: int) -> str:
    """Parts of one array, of each a function, and all of these as one array."""
    count = n // 3
    lines = [f"x = f32[{count},32] parameter(0)"]
    for k in range(count):
        lines += [
            f"cut{k} = f32[1,32] slice(x), slice={{[{k}:{k + 1}], [0:32]}}",
            f"t{k} = f32[1,32] tanh(cut{k})",
            f"m{k} = f32[1,32] multiply(t{k}, cut{k})",
        ]
    parts = ", ".join(f"m{k}" for k in range(count))
    return _module(lines, f"r = f32[{count},32] concatenate({parts}), dimensions={{0}}")


def reductions(n: int) -> str:
    """Many sums of functions of one array, as results."""
    count = n // 3
    lines = ["x = f32[256,64] parameter(0)", "zero = f32[] constant(0)"]
    for k in range(count):
        lines += [
            f"number{k} = f32[] constant({k}.5)",
            f"spread{k} = f32[256,64] broadcast(number{k}), dimensions={{}}",
            f"m{k} = f32[256,64] multiply(x, spread{k})",
            f"cut{k} = f32[256] reduce(m{k}, zero), dimensions={{1}}, to_apply=sum",
        ]
    shapes = ", ".join(["f32[256]"] * count)
    parts = ", ".join(f"cut{k}" for k in range(count))
    return _module(lines, f"r = ({shapes}) tuple({parts})", _SUM)


def recurrence(n: int) -> str:
    """An unrolled recurrent network: a product, a slice of the input and a tanh a step."""
    count = n // 5
    lines = [
        f"x = f32[{count},8,16] parameter(0)",
        "w = f32[16,16] parameter(1)",
        "h0 = f32[8,16] parameter(2)",
    ]
    for k in range(count):
        lines += [
            f"p{k} = f32[8,16] dot(h{k}, w), {PRODUCT}",
            f"cut{k} = f32[1,8,16] slice(x), slice={{[{k}:{k + 1}], [0:8], [0:16]}}",
            f"i{k} = f32[8,16] reshape(cut{k})",
            f"a{k} = f32[8,16] add(p{k}, i{k})",
            f"h{k + 1} = f32[8,16] tanh(a{k})",
        ]
    return _module(lines, f"r = f32[8,16] negate(h{count})")


def whiles(n: int) -> str:
    """Loops of 14 instructions, one after the other, on a state of three values."""
    count = max(n // 14, 1)
    state = "(s32[], f32[128], f32[128])"
    others = []
    lines = [f"z0 = {state} parameter(0)"]
    for k in range(count):
        others.append(f"""
body{k} {{
  p = {state} parameter(0)
  i = s32[] get-tuple-element(p), index=0
  a = f32[128] get-tuple-element(p), index=1
  b = f32[128] get-tuple-element(p), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  c = f32[128] sine(a)
  d = f32[128] multiply(c, b)
  ROOT t = {state} tuple(j, d, a)
}}
condition{k} {{
  p = {state} parameter(0)
  i = s32[] get-tuple-element(p), index=0
  most = s32[] constant({k + 10})
  ROOT less = pred[] compare(i, most), direction=LT
}}""")
        lines.append(f"z{k + 1} = {state} while(z{k}), condition=condition{k}, body=body{k}")
    return _module(lines, f"r = f32[128] get-tuple-element(z{count}), index=1", "".join(others))


def calls(n: int) -> str:
    """Functions of six instructions, each called by the entry."""
    count = max(n // 7, 1)
    others = []
    lines = ["v0 = f32[64] parameter(0)"]
    for k in range(count):
        others.append(f"""
function{k} {{
  p = f32[64] parameter(0)
  c = f32[] constant({k})
  b = f32[64] broadcast(c), dimensions={{}}
  a = f32[64] add(p, b)
  s = f32[64] sine(a)
  ROOT m = f32[64] multiply(s, p)
}}""")
        lines.append(f"v{k + 1} = f32[64] call(v{k}), to_apply=function{k}")
    return _module(lines, f"r = f32[64] negate(v{count})", "".join(others))


def updates(n: int) -> str:
    """Updates of one array, and a slice of each version."""
    count = n // 4
    lines = [f"x0 = f32[{count},16] parameter(0)", "u = f32[1,16] parameter(1)"]
    lines.append("zero = s32[] constant(0)")
    for k in range(count):
        lines += [
            f"i{k} = s32[] constant({k})",
            f"cut{k} = f32[1,16] slice(x{k}), slice={{[{k}:{k + 1}], [0:16]}}",
            f"a{k} = f32[1,16] add(cut{k}, u)",
            f"x{k + 1} = f32[{count},16] dynamic-update-slice(x{k}, a{k}, i{k}, zero)",
        ]
    return _module(lines, f"r = f32[{count},16] negate(x{count})")


def families(n: int) -> str:
    """Many small programs beside each other, whose shapes all differ: no two kernels are equal."""
    count = n // 8
    lines = ["zero = f32[] constant(0)"]
    for k in range(count):
        a, b = 2 + k % 61, 3 + k // 61
        lines += [
            f"x{k} = f32[{a},{b}] parameter({2 * k})",
            f"y{k} = f32[{b},{a}] parameter({2 * k + 1})",
            f"t{k} = f32[{a},{b}] transpose(y{k}), dimensions={{1,0}}",
            f"m{k} = f32[{a},{b}] multiply(x{k}, t{k})",
            f"cut{k} = f32[{a}] reduce(m{k}, zero), dimensions={{1}}, to_apply=sum",
            f"w{k} = f32[{a},{b}] broadcast(cut{k}), dimensions={{0}}",
            f"d{k} = f32[{a},{b}] divide(m{k}, w{k})",
            f"g{k} = f32[{a}] reduce(d{k}, zero), dimensions={{1}}, to_apply=sum",
        ]
    shapes = ", ".join(f"f32[{2 + k % 61}]" for k in range(count))
    parts = ", ".join(f"g{k}" for k in range(count))
    return _module(lines, f"r = ({shapes}) tuple({parts})", _SUM)


_SUM = "sum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}"
SHAPES: dict[str, Callable[[int], str]] = {
    f.__name__: f for f in (chain, slices, reductions, recurrence, whiles, calls, updates, families)
}


def seconds(module: hlo.Module) -> dict[str, float]:
    """The CPU seconds of `optimize` as a whole, and of each pass."""
    watch = Timer()
    gc.collect()
    start = time.process_time()
    optimize(module, observers=[watch])
    return {"optimize": time.process_time() - start, **watch.seconds}


def exponent(sizes: list[int], times: list[float]) -> float | None:
    """The power of n with which times grow; None if they are too short to say."""
    pairs = [(n, t) for n, t in zip(sizes, times, strict=True) if t > LITTLE]
    if len(pairs) < 2:
        return None
    (n, t), (most, last) = pairs[0], pairs[-1]
    return log(last / t) / log(most / n)


def main() -> None:
    """Print a table a shape."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--only", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--rows", type=int, default=8)
    given = parser.parse_args()
    sizes = [int(n) for n in given.sizes.split(",")]
    for shape in given.only:
        modules = [hlo.parse(SHAPES[shape](n)) for n in sizes]
        counts = [sum(1 for _ in module.instructions()) for module in modules]
        found = [seconds(module) for module in modules]
        largest = found[-1]
        names = sorted(
            (name for name, t in largest.items() if t > largest["optimize"] / 20),
            key=lambda name: -largest[name],
        )[: given.rows]
        rows = []
        for name in names:
            times = [each.get(name, 0.0) for each in found]
            power = exponent(counts, times)
            rows.append((name, *(f"{t:.2f}" for t in times), f"{power:.2f}" if power else ""))
        print(table((shape, *(f"{n:,}" for n in counts), "exponent"), rows), flush=True)


if __name__ == "__main__":
    main()
