"""Left sides of rules about movement, contraction and reduction that can't be guessed."""

from random import Random
from typing import Any

import hlo
from hlo.instruction import Module
from hlo_tools.generate.operands import need
from hlo_tools.generate.reduce_samplers import SAMPLERS
from hlo_tools.generate.samplers import sampler

__all__ = ["SAMPLERS"]


def entry(*lines: str) -> Module:
    """A module of one computation, whose last line is the root."""
    *before, root = lines
    return hlo.parse("\n".join(["HloModule m", "ENTRY main {", *before, f"ROOT {root}", "}"]))


def some_type(random: Random) -> str:
    return random.choice(("f32", "s8", "pred", "c64", "bf16", "u4"))


@sampler("concatenate_of_concatenate")
def _nested_concatenate(random: Random, _values: Any) -> Module:
    t, m, n, rows = some_type(random), *(random.randint(0, 3) for _ in range(3))
    return entry(
        f"x = {t}[{rows},{m}] parameter(0)",
        f"y = {t}[{rows},{n}] parameter(1)",
        f"xy = {t}[{rows},{m + n}] concatenate(x, y), dimensions={{1}}",
        f"r = {t}[{rows},{2 * m + n}] concatenate(xy, x), dimensions={{1}}",
    )


@sampler("concatenate_of_adjacent_slices")
def _adjacent_slices(random: Random, _values: Any) -> Module:
    t, n = some_type(random), random.randint(1, 6)
    i = random.randint(0, n)
    j = random.randint(i, n)
    k = random.randint(j, n)
    return entry(
        f"x = {t}[{n},2] parameter(0)",
        f"a = {t}[{j - i},2] slice(x), slice={{[{i}:{j}], [0:2]}}",
        f"b = {t}[{k - j},2] slice(x), slice={{[{j}:{k}], [0:2]}}",
        f"y = {t}[3,2] parameter(1)",
        f"r = {t}[{k - i + 3},2] concatenate(a, b, y), dimensions={{0}}",
    )


@sampler("concatenate_of_the_same")
def _the_same(random: Random, _values: Any) -> Module:
    t, count, rows = some_type(random), random.randint(2, 4), random.randint(0, 3)
    xs = ", ".join(["x"] * count)
    return entry(
        f"x = {t}[{rows},1] parameter(0)",
        f"r = {t}[{rows},{count}] concatenate({xs}), dimensions={{1}}",
    )


@sampler("concatenate_of_broadcasts")
def _broadcasts(random: Random, _values: Any) -> Module:
    t, n = some_type(random), random.randint(0, 3)
    i, j = (random.randint(0, 3) for _ in range(2))
    return entry(
        f"x = {t}[{n}] parameter(0)",
        f"a = {t}[{n},{i}] broadcast(x), dimensions={{0}}",
        f"b = {t}[{n},{j}] broadcast(x), dimensions={{0}}",
        f"r = {t}[{n},{i + j}] concatenate(a, b), dimensions={{1}}",
    )


@sampler("concatenate_with_broadcast")
def _with_broadcast(random: Random, _values: Any) -> Module:
    t, n = some_type(random), random.randint(0, 3)
    i, j = (random.randint(0, 3) for _ in range(2))
    order = random.choice(("a, y", "y, a"))
    return entry(
        f"x = {t}[] parameter(0)",
        f"y = {t}[{n},{i}] parameter(1)",
        f"a = {t}[{n},{j}] broadcast(x), dimensions={{}}",
        f"r = {t}[{n},{i + j}] concatenate({order}), dimensions={{1}}",
    )


def some_slice(random: Random, size: int) -> tuple[str, int]:
    """The text of a slice of one dimension, and how many elements it takes."""
    start = random.randint(0, size)
    limit, stride = random.randint(start, size), random.randint(1, 3)
    need(limit > start)
    return f"[{start}:{limit}:{stride}]", -(-(limit - start) // stride)


@sampler("slice_of_update")
def _slice_of_update(random: Random, _values: Any) -> Module:
    t, m, n = some_type(random), random.randint(1, 3), random.randint(3, 6)
    (rows, i), (columns, j) = some_slice(random, m), some_slice(random, n)
    u, at = random.randint(0, n), random.randint(-1, n)
    return entry(
        f"x = {t}[{m},{n}] parameter(0)",
        f"y = {t}[{m},{u}] parameter(1)",
        f"k = s32[] constant({at})",
        "z = s32[] constant(0)",
        f"a = {t}[{m},{n}] dynamic-update-slice(x, y, z, k)",
        f"r = {t}[{i},{j}] slice(a), slice={{{rows}, {columns}}}",
    )
