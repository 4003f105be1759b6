"""Left sides of rules about gathers, windows, sorts, collectives, layouts and constants."""

from random import Random
from typing import Any

import hlo
from hlo.instruction import Module
from hlo_tools.generate.movement_samplers import entry, some_type
from hlo_tools.generate.reduce_samplers import SAMPLERS, Folding
from hlo_tools.generate.samplers import sampler

__all__ = ["SAMPLERS"]


@sampler("gather_of_whole")
def _gather_of_whole(random: Random, _values: Any) -> Module:
    t, n, count = some_type(random), random.randint(1, 3), random.randint(0, 3)
    shape, offset = random.choice(((f"{count},{n}", 1), (f"{n},{count}", 0)))
    one = random.choice((1, 1, 1, 0))
    dims = f"offset_dims={{{offset}}}, collapsed_slice_dims={{0}}, start_index_map={{0,1}}"
    dims = f"{dims}, index_vector_dim=1, slice_sizes={{{one},{n}}}"
    return entry(
        f"x = {t}[{one},{n}] parameter(0)",
        f"i = s32[{count},2] parameter(1)",
        f"r = {t}[{shape}] gather(x, i), {dims}",
    )


@sampler("gather_of_broadcast")
def _gather_of_broadcast(random: Random, _values: Any) -> Module:
    t, count = some_type(random), random.randint(0, 3)
    dims = "offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1"
    return entry(
        f"s = {t}[] parameter(0)",
        f"x = {t}[3,2] broadcast(s), dimensions={{}}",
        f"i = s32[{count},1] parameter(1)",
        f"r = {t}[{count},2] gather(x, i), {dims}, slice_sizes={{1,2}}",
    )


@sampler("gather_at_constant")
def _gather_at_constant(random: Random, _values: Any) -> Module:
    t, i, j = some_type(random), random.randint(-2, 4), random.randint(-2, 4)
    one, taken = random.choice((("1,2", "1,2"), ("2", "2")))
    index = f"{{ {i}, {j} }}" if one == "2" else f"{{ {{ {i}, {j} }} }}"
    offset = "1" if one == "1,2" else "0"
    vector = "1" if one == "1,2" else "0"
    dims = "collapsed_slice_dims={0}, start_index_map={0,1}"
    dims = f"offset_dims={{{offset}}}, {dims}, index_vector_dim={vector}"
    return entry(
        f"x = {t}[3,4] parameter(0)",
        f"i = s32[{one}] constant({index})",
        f"r = {t}[{taken}] gather(x, i), {dims}, slice_sizes={{1,2}}",
    )


@sampler("scatter(x, y, z) => x")
def _scatter_of_nothing(random: Random, _values: Any) -> Module:
    t = random.choice(("f32", "s8", "u4"))
    dims = "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}"
    return hlo.parse(
        f"HloModule m\nop {{\na = {t}[] parameter(0)\nb = {t}[] parameter(1)\n"
        f"ROOT s = {t}[] add(a, b)\n}}\nENTRY main {{\nx = {t}[3,2] parameter(0)\n"
        f"i = s32[0,1] parameter(1)\nu = {t}[0,2] parameter(2)\n"
        f"ROOT r = {t}[3,2] scatter(x, i, u), {dims}, index_vector_dim=1, to_apply=op\n}}"
    )


@sampler("sum_with_scattered")
def _sum_with_scattered(random: Random, _values: Any) -> Module:
    t, zero = random.choice((("f32", "0"), ("f32", "-0"), ("s8", "0")))
    dims = "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}"
    return hlo.parse(
        f"HloModule m\nop {{\na = {t}[] parameter(0)\nb = {t}[] parameter(1)\n"
        f"ROOT s = {t}[] add(a, b)\n}}\nENTRY main {{\nx = {t}[3] parameter(0)\n"
        f"zero = {t}[] constant({zero})\nzeros = {t}[3] broadcast(zero), dimensions={{}}\n"
        f"i = s32[5,1] constant({{ {{0}}, {{0}}, {{0}}, {{2}}, {{2}} }})\nu = {t}[5] parameter(1)\n"
        f"y = {t}[3] scatter(zeros, i, u), {dims}, index_vector_dim=1, to_apply=op\n"
        f"ROOT r = {t}[3] add(x, y)\n}}"
    )


def windows(random: Random, rounds: bool, **window: str) -> Module:
    text = Folding(random, rounds)
    text.add("x", (4, 3), "parameter(0)")
    return windowed(text, "x", (4, 3), **window)


def windowed(text: Folding, operand: str, dims: tuple[int, ...], **window: str) -> Module:
    """The module whose root moves a window over an operand."""
    spelled = " ".join(f"{key}={value}" for key, value in window.items())
    size = [int(n) for n in window["size"].split("x")]
    stride = [int(n) for n in window.get("stride", "1x1").split("x")]
    ends = [e.split("_") for e in window.get("pad", "0_0x0_0").split("x")]
    left = tuple(
        (n + int(e[0]) + int(e[1]) - w) // s + 1
        for n, w, s, e in zip(dims, size, stride, ends, strict=True)
    )
    text.add("r", left, f"reduce-window({operand}, init), window={{{spelled}}}, to_apply=op")
    return text.module()


@sampler("reduce_window(x, y, window=p, to_apply=f) => x")
def _trivial_window(random: Random, _values: Any) -> Module:
    return windows(random, False, size="1x1")


@sampler("sum of windows of one element")
def _trivial_sum(random: Random, _values: Any) -> Module:
    return windows(random, True, size="1x1")


@sampler("window_of_one")
def _window_of_one(random: Random, _values: Any) -> Module:
    return windows(random, False, size="1x1", stride=random.choice(("1x2", "2x1", "3x3")))


@sampler("sum_of_window_of_one")
def _sum_of_window_of_one(random: Random, _values: Any) -> Module:
    return windows(random, True, size="1x1", stride=random.choice(("1x2", "2x1", "3x3")))


@sampler("window_of_everything")
def _window_of_everything(random: Random, _values: Any) -> Module:
    return windows(random, False, size=random.choice(("4x3", "1x3", "4x1")))


@sampler("reduce_window(x, y, window=p, to_apply=f) => broadcast(y, dimensions=())")
def _window_of_nothing(random: Random, _values: Any) -> Module:
    text = Folding(random, rounds=False)
    text.add("x", (0, 3), "parameter(0)")
    return windowed(text, "x", (0, 3), size="1x2", pad=random.choice(("0_0x0_0", "2_1x0_0")))


@sampler("window_over_pad")
def _window_over_pad(random: Random, _values: Any) -> Module:
    text = Folding(random, rounds=False)
    low, high, interior = (random.randint(0, 2) for _ in range(3))
    dims = (4, 3 + 2 * interior + low + high)
    text.add("x", (4, 3), "parameter(0)")
    text.add("a", dims, f"pad(x, init), padding=0_0x{low}_{high}_{interior}")
    return windowed(text, "a", dims, size="2x2", pad=random.choice(("0_0x0_0", "1_0x0_1")))


def convolving(*lines: str, window: str, spatial: int) -> Module:
    labels = "dim_labels=b0f_0io->b0f"
    root = f"r = f32[2,{spatial},1] convolution(lhs, rhs), window={{{window}}}, {labels}"
    return entry(*lines, root)


@sampler("convolution(x, y) => 0")
def _convolution_of_nothing(_random: Random, _values: Any) -> Module:
    lines = ("lhs = f32[2,5,0] parameter(0)", "rhs = f32[2,0,1] parameter(1)")
    return convolving(*lines, window="size=2", spatial=4)


@sampler("convolution_of_pad")
def _convolution_of_pad(random: Random, _values: Any) -> Module:
    low, high, interior = (random.randint(0, 2) for _ in range(3))
    size = 4 + 3 * interior + low + high
    return convolving(
        "x = f32[2,4,3] parameter(0)",
        f"zero = f32[] constant({random.choice(('0', '-0'))})",
        f"lhs = f32[2,{size},3] pad(x, zero), padding=0_0x{low}_{high}_{interior}x0_0",
        "rhs = f32[2,3,1] parameter(1)",
        window="size=2 pad=1_0",
        spatial=size,
    )


@sampler("convolution_by_pad")
def _convolution_by_pad(random: Random, _values: Any) -> Module:
    interior = random.randint(1, 2)
    size = 3 + 2 * interior
    return convolving(
        "lhs = f32[2,9,3] parameter(0)",
        "x = f32[3,3,1] parameter(1)",
        "zero = f32[] constant(0)",
        f"rhs = f32[{size},3,1] pad(x, zero), padding=0_0_{interior}x0_0x0_0",
        window=f"size={size}",
        spatial=9 - size + 1,
    )


@sampler("sort_of_one")
def _sort_of_one(random: Random, _values: Any) -> Module:
    t, n, count = random.choice(("f32", "s8")), random.randint(0, 3), random.randint(0, 1)
    shape = f"{t}[{n},{count}]"
    parameters = "\n".join(f"{name} = {t}[] parameter({i})" for i, name in enumerate("abcd"))
    two = random.random() < 0.5
    dims = "dimensions={1}, to_apply=less"
    x = f"x = {shape} parameter(0)"
    y = f"y = {shape} parameter(1)"
    root = f"({shape}, {shape}) sort(x, y), {dims}" if two else f"{shape} sort(x), {dims}"
    if not two:
        parameters = "\n".join(parameters.split("\n")[:2])
    return hlo.parse(
        f"HloModule m\nless {{\n{parameters}\nROOT r = pred[] compare(a, b), direction=LT\n}}\n"
        f"ENTRY main {{\n{x}\n{y}\nROOT s = {root}\n}}"
    )


@sampler("map_of_trivial")
def _map_of_trivial(random: Random, _values: Any) -> Module:
    t = random.choice(("f32", "s8"))
    root = random.choice(("a = {}[] parameter(0)", "b = {}[] parameter(1)", "c = {}[] constant(3)"))
    lines = [f"a = {t}[] parameter(0)", f"b = {t}[] parameter(1)"]
    lines = [line for line in lines if line != root.format(t)]
    body = "\n".join([*lines, f"ROOT {root.format(t)}"])
    return hlo.parse(
        f"HloModule m\nf {{\n{body}\n}}\nENTRY main {{\nx = {t}[3] parameter(0)\n"
        f"y = {t}[3] parameter(1)\nROOT r = {t}[3] map(x, y), dimensions={{0}}, to_apply=f\n}}"
    )


@sampler("collective_of_one")
def _collective_of_one(random: Random, _values: Any) -> Module:
    root = random.choice(
        (
            "f32[3,2] all-reduce(x), replica_groups={{0}}, to_apply=op",
            "f32[3,2] all-gather(x), replica_groups={{0}}, dimensions={1}",
            "f32[3,2] reduce-scatter(x), replica_groups={{0}}, dimensions={0}, to_apply=op",
            "f32[3,2] all-to-all(x), replica_groups={{0}}, dimensions={0}",
            "f32[3,2] collective-broadcast(x), replica_groups={{0}}",
            "(f32[3,2], f32[3,2]) all-reduce(x, x), replica_groups={{0}}, to_apply=op",
        )
    )
    return hlo.parse(
        "HloModule m\nop {\na = f32[] parameter(0)\nb = f32[] parameter(1)\n"
        "ROOT s = f32[] add(a, b)\n}\nENTRY main {\nx = f32[3,2] parameter(0)\n"
        f"ROOT r = {root}\n}}"
    )


@sampler("conditional_on_converted")
def _conditional_on_converted(_random: Random, _values: Any) -> Module:
    return hlo.parse(
        "HloModule m\nf {\na = f32[] parameter(0)\nROOT r = f32[] negate(a)\n}\n"
        "g {\na = f32[] parameter(0)\nROOT r = f32[] sine(a)\n}\n"
        "ENTRY main {\np = pred[] parameter(0)\ni = s32[] convert(p)\n"
        "x = f32[] parameter(1)\ny = f32[] parameter(2)\n"
        "ROOT r = f32[] conditional(i, x, y), branch_computations={f, g}\n}"
    )


@sampler("constant_of_equal_elements")
def _constant_of_equal_elements(random: Random, _values: Any) -> Module:
    constants = ("f32[3] constant({-0, -0, -0})", "s4[2,1] constant({{-3}, {-3}})")
    others = (
        "pred[2] constant({1, 1})",
        "f32[2] constant({nan, nan})",
        "c64[2] constant({(0,-0), (0,-0)})",
    )
    return entry(f"r = {random.choice(constants + others)}")


@sampler("constant_of_a_count")
def _constant_of_a_count(random: Random, _values: Any) -> Module:
    return entry(f"r = {random.choice(('f32[3]', 's4[3]', 'bf16[3]'))} constant({{0, 1, 2}})")


@sampler("iota_of_one")
def _iota_of_one(random: Random, _values: Any) -> Module:
    return entry(f"r = {random.choice(('f32', 's4', 'c64'))}[3,1,2] iota(), iota_dimension=1")


@sampler("size_of_static_dimension")
def _size_of_static_dimension(random: Random, _values: Any) -> Module:
    d = random.randint(0, 1)
    return entry(
        "x = f32[3,<=4] parameter(0)" if not d else "x = f32[<=3,4] parameter(0)",
        f"r = s32[] get-dimension-size(x), dimensions={{{d}}}",
    )


@sampler("size of all there is")
def _size_of_all_there_is(random: Random, _values: Any) -> Module:
    d = random.randint(0, 1)
    return entry(
        "x = f32[3,4] parameter(0)",
        f"n = s32[] constant({(3, 4)[d]})",
        f"r = f32[3,4] set-dimension-size(x, n), dimensions={{{d}}}",
    )


@sampler("size that was set")
def _size_that_was_set(random: Random, _values: Any) -> Module:
    d = random.randint(0, 1)
    return _size_of_set(random, d, d)


@sampler("size beside one that was set")
def _size_beside_one_that_was_set(random: Random, _values: Any) -> Module:
    d = random.randint(0, 1)
    return _size_of_set(random, d, 1 - d)


def _size_of_set(random: Random, changed: int, queried: int) -> Module:
    return entry(
        "x = f32[3,<=4] parameter(0)",
        f"n = s32[] constant({random.randint(0, 3)})",
        f"s = f32[{('<=3', '3')[changed]},<=4] set-dimension-size(x, n), dimensions={{{changed}}}",
        f"r = s32[] get-dimension-size(s), dimensions={{{queried}}}",
    )


@sampler("a:=bitcast(x) => x")
def _bitcast(random: Random, _values: Any) -> Module:
    layout = random.choice(("{1,0}", "{0,1}"))
    return entry(f"x = f32[3,2]{layout} parameter(0)", f"r = f32[3,2]{layout} bitcast(x)")


@sampler("bitcast(bitcast(x)) => bitcast(x)")
def _bitcasts(random: Random, _values: Any) -> Module:
    layouts = [random.choice(("{1,0}", "{0,1}")) for _ in range(3)]
    return entry(
        f"x = f32[3,2]{layouts[0]} parameter(0)",
        f"y = f32[2,3]{layouts[1]} bitcast(x)",
        f"r = f32[6,1]{layouts[2]} bitcast(y)",
    )


@sampler("operation_on_broadcasts")
def _operation_on_broadcasts(random: Random, _values: Any) -> Module:
    unary = ("negate", "exponential", "tanh", "sine", "rsqrt", "logistic", "log-plus-one", "cbrt")
    binary = ("add", "multiply", "divide", "maximum", "atan2", "power", "remainder")
    opcode = random.choice(unary + binary + ("select", "clamp"))
    t = random.choice(("f32", "f16", "f64", "s8")) if opcode in binary[:4] else "f32"
    spread = [f"{t}[4,9] broadcast(x), dimensions={{0}}", f"{t}[4,9] broadcast(s), dimensions={{}}"]
    operands = "p, a, b" if opcode == "select" else "a, b, c" if opcode == "clamp" else "a, b"
    return entry(
        f"x = {t}[4] parameter(0)",
        f"s = {t}[] parameter(1)",
        "t = pred[] parameter(2)",
        "p = pred[4,9] broadcast(t), dimensions={}",
        f"a = {spread[0]}",
        f"b = {random.choice(spread)}",
        f"c = {random.choice(spread)}",
        f"r = {t}[4,9] {opcode}({'a' if opcode in unary else operands})",
    )
