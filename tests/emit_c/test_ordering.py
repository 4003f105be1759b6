"""Sorting by keys, by digits and by the comparator itself: all as the interpreter sorts."""

import numpy as np
import pytest
from emitted import checked

import hlo
from codegen.opcodes import sorting_alone, words
from codegen.opcodes.comparators import keys
from emit_c.executable.runtime import set_threads
from hlo.types.element_type import ELEMENT_TYPES
from interpreter.numbers.widths import float_format

SIZES = [0, 1, 2, 40, 41, 700, 5000]
PLAIN = "ROOT l = pred[] compare(a, b), direction={D}{O}"
COMPARATORS = {
    "ascending": PLAIN.replace("{D}", "LT"),
    "descending": PLAIN.replace("{D}", "GT"),
    "right before left": "ROOT l = pred[] compare(b, a), direction=LT{O}",
    "negated": "m = {T}[] negate(a)\nn = {T}[] negate(b)\n"
    "ROOT l = pred[] compare(m, n), direction=GT{O}",
    "no zero is negative": "z = {T}[] constant(0)\ne = pred[] compare(a, z), direction=EQ\n"
    "f = pred[] compare(b, z), direction=EQ\nm = {T}[] select(e, z, a)\nn = {T}[] select(f, z, b)\n"
    "ROOT l = pred[] compare(m, n), direction=LT{O}",
    "then the others": "x = pred[] compare(a, b), direction=GT{O}\n"
    "e = pred[] compare(a, b), direction=EQ{O}\ny = pred[] compare(c, d), direction=GT\n"
    "f = pred[] and(y, e)\nROOT l = pred[] or(x, f)",
    "the others where equal": "x = pred[] compare(a, b), direction=LT{O}\n"
    "e = pred[] compare(b, a), direction=EQ{O}\ny = pred[] compare(d, c), direction=LT\n"
    "ROOT l = pred[] select(e, y, x)",
}
NARROW = [t.name for t in ELEMENT_TYPES.values() if t.is_floating and t.bits <= 16]
NO_KEYS = {
    "not strict": "ROOT l = pred[] compare(a, b), direction=LE",
    "different keys": "m = f32[] negate(a)\nROOT l = pred[] compare(m, b), direction=LT",
    "a key of both": "m = f32[] add(a, b)\nROOT l = pred[] compare(m, b), direction=LT",
    "a constant": "m = f32[] constant(1)\nROOT l = pred[] compare(m, m), direction=LT",
    "another pair": "ROOT l = pred[] compare(c, d), direction=EQ",
    "and": "x = pred[] compare(a, b), direction=LT\ny = pred[] compare(c, d), direction=LT\n"
    "ROOT l = pred[] and(x, y)",
    "equal in another way": "x = pred[] compare(a, b), direction=LT\n"
    "e = pred[] compare(a, b), direction=EQ, type=TOTALORDER\n"
    "y = pred[] compare(c, d), direction=LT\nf = pred[] and(y, e)\nROOT l = pred[] or(x, f)",
}


def comparator(text, element_type, order=""):
    before = f"""before {{
a = {{T}}[] parameter(0)
b = {{T}}[] parameter(1)
c = s32[] parameter(2)
d = s32[] parameter(3)
{text}
}}
"""
    return before.replace("{T}", element_type).replace("{O}", order)


def values(element_type, shape, *, nan=True):
    """Few different numbers, so that many are equal, with all that is special about floats."""
    kind = ELEMENT_TYPES[element_type]
    generator = np.random.default_rng(3)
    if kind.kind == "pred":
        return generator.integers(0, 2, shape).astype(bool)
    if not kind.is_floating:
        info = np.iinfo(kind.dtype) if kind.bits > 4 else None
        low, high = (info.min, info.max) if info else (-8 if kind.kind == "signed" else 0, 7)
        some = np.array([low, high, 0, 1, 2, 3, high // 3, high // 2, low // 3], kind.dtype)
        return generator.choice(some, shape)
    special = [0.0, -0.0, np.inf, -np.inf, 1e-40, *([np.nan, -np.nan] if nan else [])]
    some = np.array([*special, *(generator.standard_normal(30) * 100)]).astype(kind.dtype)
    return generator.choice(some, shape)


def agree(text, *arguments, optimize=False):
    """What the C is made of, if it sorts as the interpreter does."""
    return checked(f"HloModule m\n{text}", optimize=optimize, arguments=arguments)


@pytest.mark.parametrize(
    ("name", "element_type"),
    [(name, element_type) for name in COMPARATORS for element_type in ("f32", "bf16", "s64")]
    + [(name, t) for name in ("ascending", "descending") for t in ("u8", "f64", "pred")],
)
def test_sorting_by_keys(name, element_type):
    floating = ELEMENT_TYPES[element_type].is_floating
    order = ", type=TOTALORDER" if floating else ""
    before = comparator(COMPARATORS[name], element_type, order)
    shapes = [f"{element_type}[{n},3], s32[{n},3]" for n in SIZES]
    lines, made, arguments = [], [], []
    for k, (n, shape) in enumerate(zip(SIZES, shapes, strict=True)):
        x, i = shape.rsplit(", ", 1)
        lines.append(f"x{k} = {x} parameter({2 * k})\ni{k} = {i} parameter({2 * k + 1})")
        lines.append(f"r{k} = ({shape}) sort(x{k}, i{k}), dimensions={{0}}, to_apply=before")
        made.append(f"({shape})")
        arguments += [values(element_type, (n, 3)), values("s32", (n, 3))]
    results = ", ".join(f"r{k}" for k in range(len(made)))
    lines.append(f"ROOT r = ({', '.join(made)}) tuple({results})")
    made = agree(before + "ENTRY e {\n" + "\n".join(lines) + "\n}", *arguments)
    assert made.has("radix_sort_")
    assert made.has("insertion_sort_")


@pytest.mark.parametrize("element_type", ["f32", "bf16", "f16", "s32", "u16", "s4", "pred"])
@pytest.mark.parametrize("optimize", [False, True])
def test_sorting_one_array_moves_its_elements(element_type, optimize):
    floating = ELEMENT_TYPES[element_type].is_floating
    order = ", type=TOTALORDER" if floating else ""
    before = f"""up {{
a = {{T}}[] parameter(0)
b = {{T}}[] parameter(1)
ROOT l = pred[] compare(a, b), direction=LT{order}
}}
down {{
a = {{T}}[] parameter(0)
b = {{T}}[] parameter(1)
ROOT l = pred[] compare(a, b), direction=GT{order}
}}
"""
    text = """ENTRY e {
x = {T}[3,5] parameter(0)
y = {T}[2,600] parameter(1)
s = {T}[3,5] sort(x), dimensions={0}, to_apply=up
t = {T}[2,600] sort(y), dimensions={1}, to_apply=up, is_stable=true
u = {T}[2,600] sort(y), dimensions={1}, to_apply=down
v = {T}[3,5] sort(x), dimensions={1}, to_apply=down
ROOT r = ({T}[3,5], {T}[2,600], {T}[2,600], {T}[3,5]) tuple(s, t, u, v)
}"""
    arguments = (values(element_type, (3, 5)), values(element_type, (2, 600)))
    agree((before + text).replace("{T}", element_type), *arguments, optimize=optimize)


@pytest.mark.parametrize("element_type", ["s8", "u8", "s16", "u16"])
def test_small_integers_are_counted(monkeypatch, element_type):
    monkeypatch.setattr(sorting_alone, "COUNTED", {8: 64, 16: 64})
    rows = f"{element_type}[3,100]"
    text = f"""ENTRY e {{
x = {rows} parameter(0)
s = {rows} sort(x), dimensions={{1}}, to_apply=up
t = {element_type}[100,3] transpose(x), dimensions={{1,0}}
u = {element_type}[100,3] sort(t), dimensions={{0}}, to_apply=down
ROOT r = ({rows}, {element_type}[100,3]) tuple(s, u)
}}"""
    up, down = (
        f"{name} {{\na = {{T}}[] parameter(0)\nb = {{T}}[] parameter(1)\n"
        f"ROOT l = pred[] compare(a, b), direction={direction}\n}}\n".replace("{T}", element_type)
        for name, direction in (("up", "LT"), ("down", "GT"))
    )
    assert agree(up + down + text, values(element_type, (3, 100))).has("next_counted")


@pytest.mark.parametrize("element_type", ["f32", "f64"])
def test_the_usual_order_knows_one_zero(element_type):
    before = comparator(PLAIN.replace("{D}", "GT"), element_type)
    text = f"""{before}ENTRY e {{
x = {element_type}[500] parameter(0)
i = s32[500] iota(), iota_dimension=0
ROOT r = ({element_type}[500], s32[500]) sort(x, i), dimensions={{0}}, to_apply=before
}}"""
    agree(text, values(element_type, (500,), nan=False))


@pytest.mark.parametrize("name", NO_KEYS)
def test_comparators_without_keys(name):
    text = comparator(NO_KEYS[name], "f32") + "ENTRY e {\nROOT x = f32[] parameter(0)\n}"
    module = hlo.parse(f"HloModule m\n{text}")
    before = next(c for c in module.computations if c.name == "before")
    assert keys(before) == ()


def test_any_other_comparator_is_merged_by():
    # Even numbers first, then odd ones; each kind in order.
    text = """before {
a = s32[] parameter(0)
b = s32[] parameter(1)
one = s32[] constant(1)
m = s32[] and(a, one)
n = s32[] and(b, one)
l = pred[] compare(a, b), direction=LT
k = pred[] compare(m, n), direction=LT
o = pred[] compare(n, m), direction=LT
p = pred[] not(o)
q = pred[] and(l, p)
ROOT r = pred[] or(k, q)
}
ENTRY e {
x = s32[4,90] parameter(0)
ROOT r = s32[4,90] sort(x), dimensions={1}, to_apply=before
}"""
    made = agree(text, values("s32", (4, 90)))
    assert made.has("take_right")


@pytest.mark.parametrize("element_type", ["f32", "bf16", "s8", "u32", "f64"])
@pytest.mark.parametrize("largest", ["true", "false"])
def test_topk(element_type, largest):
    text = """ENTRY e {
x = {T}[2,1000] parameter(0)
y = {T}[3,20] parameter(1)
a = ({T}[2,1], s32[2,1]) topk(x), k=1, largest={L}
b = ({T}[2,7], s32[2,7]) topk(x), k=7, largest={L}
c = ({T}[2,300], s32[2,300]) topk(x), k=300, largest={L}
d = ({T}[3,20], s32[3,20]) topk(y), k=20, largest={L}
e = ({T}[3,17], s32[3,17]) topk(y), k=17, largest={L}
ROOT r = (({T}[2,1], s32[2,1]), ({T}[2,7], s32[2,7]), ({T}[2,300], s32[2,300]),
  ({T}[3,20], s32[3,20]), ({T}[3,17], s32[3,17])) tuple(a, b, c, d, e)
}"""
    text = text.replace("{T}", element_type).replace("{L}", largest)
    agree(text, values(element_type, (2, 1000)), values(element_type, (3, 20)))


def test_topk_of_numbers_in_the_worst_order():
    text = """ENTRY e {
x = f32[5000] parameter(0)
y = f32[5000] parameter(1)
a = (f32[128], s32[128]) topk(x), k=128, largest=true
b = (f32[128], s32[128]) topk(y), k=128, largest=false
ROOT r = ((f32[128], s32[128]), (f32[128], s32[128])) tuple(a, b)
}"""
    rising, nan = np.arange(5000, dtype=np.float32), np.full(5000, np.nan, np.float32)
    agree(text, rising, nan)


def test_topk_is_kept_where_a_sort_is_cut():
    text = """before {
a = f32[] parameter(0)
b = f32[] parameter(1)
c = s32[] parameter(2)
d = s32[] parameter(3)
ROOT l = pred[] compare(a, b), direction=GT, type=TOTALORDER
}
ENTRY e {
x = f32[2,900] parameter(0)
i = s32[2,900] iota(), iota_dimension=1
s = (f32[2,900], s32[2,900]) sort(x, i), dimensions={1}, is_stable=true, to_apply=before
v = f32[2,900] get-tuple-element(s), index=0
n = s32[2,900] get-tuple-element(s), index=1
a = f32[2,9] slice(v), slice={[0:2],[0:9]}
b = s32[2,9] slice(n), slice={[0:2],[0:9]}
ROOT r = (f32[2,9], s32[2,9]) tuple(a, b)
}"""
    assert agree(text, values("f32", (2, 900)), optimize=True).has("insert_least")


def random_bits(element_type, n, span):
    """Numbers of any bits whatever, but NaN; `span` says how many of their highest bits vary."""
    dtype = ELEMENT_TYPES[element_type].dtype
    wide = np.random.default_rng(n).integers(0, 1 << 64, n, dtype=np.uint64)
    kept = wide >> np.uint64(64 - 8 * dtype.itemsize) & ~np.uint64((1 << span) - 1)
    array = kept.astype(f"u{dtype.itemsize}").view(dtype)
    with np.errstate(invalid="ignore"):
        return np.where(np.isnan(array.astype(np.float64)), dtype.type(1), array)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("span", [0, 12, 29])
@pytest.mark.parametrize("element_type", ["f32", "bf16", "s32", "u32", "s64", "f64"])
def test_a_long_row_goes_into_buckets(monkeypatch, element_type, span, threads):
    """Of one word and of many, on any number of threads."""
    monkeypatch.setattr(words, "BUCKETS", 64)
    n = 3001
    array = random_bits(element_type, n, span % (8 * ELEMENT_TYPES[element_type].bytes))
    order = ", type=TOTALORDER" if ELEMENT_TYPES[element_type].is_floating else ""
    one = comparator(PLAIN.replace("{D}", "GT"), element_type, order)
    one = one.replace("before", "one").replace(
        "c = s32[] parameter(2)\nd = s32[] parameter(3)\n", ""
    )
    two = comparator(COMPARATORS["then the others"], element_type, order)
    row, places = f"{element_type}[{n}]", f"s32[{n}]"
    text = f"""ENTRY e {{
x = {row} parameter(0)
i = {places} parameter(1)
s = {row} sort(x), dimensions={{0}}, to_apply=one, is_stable=true
p = ({row}, {places}) sort(x, i), dimensions={{0}}, to_apply=before, is_stable=true
v = {row} get-tuple-element(p), index=0
w = {places} get-tuple-element(p), index=1
ROOT t = ({row}, {places}, {row}) tuple(v, w, s)
}}"""
    before = set_threads(threads)
    try:
        made = agree(one + two + text, array, values("s32", (n,)))
    finally:
        set_threads(before)
    assert made.has("bucket_sort_u64")
    assert made.has("bucket_sort_u32") == (ELEMENT_TYPES[element_type].bits <= 32)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("direction", ["LT", "GT"])
@pytest.mark.parametrize("key", ["abs", "sign", "floor"])
def test_a_row_that_is_dear_in_memory_is_sorted_in_parts(monkeypatch, key, direction, threads):
    """Where elements differ though their keys do not; a key may have more of them than a part."""
    monkeypatch.setattr(words, "BUCKETS", 64)
    monkeypatch.setattr(sorting_alone, "IN_PARTS", 64)
    text = f"""before {{
a = f32[] parameter(0)
b = f32[] parameter(1)
ka = f32[] {key}(a)
kb = f32[] {key}(b)
ROOT l = pred[] compare(ka, kb), direction={direction}
}}
ENTRY e {{
x = f32[3001] parameter(0)
ROOT s = f32[3001] sort(x), dimensions={{0}}, to_apply=before, is_stable=true
}}"""
    generator = np.random.default_rng(5)
    array = (3 * generator.standard_normal(3001)).astype(np.float32)
    array[generator.integers(0, 3001, 900)] = 0.25
    array[generator.integers(0, 3001, 300)] = -0.0
    before = set_threads(threads)
    try:
        made = agree(text, array)
    finally:
        set_threads(before)
    assert made.has("end_of_part")


@pytest.mark.parametrize("size", [300, 100_000])
@pytest.mark.parametrize("special", [[], [-0.0, 0.0], [np.nan, -np.nan]])
def test_keys_are_sorted_alone_if_they_tell_everything(size, special):
    """JAX's order, in which zeros are equal, and NaN to NaN."""
    text = """before {
a = f32[] parameter(0)
b = f32[] parameter(1)
zero = f32[] constant(0)
one = f32[] constant(nan)
ea = pred[] compare(a, zero), direction=EQ
za = f32[] select(ea, zero, a)
na = pred[] compare(a, a), direction=NE
ka = f32[] select(na, one, za)
eb = pred[] compare(b, zero), direction=EQ
zb = f32[] select(eb, zero, b)
nb = pred[] compare(b, b), direction=NE
kb = f32[] select(nb, one, zb)
ROOT l = pred[] compare(ka, kb), direction=LT, type=TOTALORDER
}
ENTRY e {
x = f32[SIZE] parameter(0)
ROOT s = f32[SIZE] sort(x), dimensions={0}, to_apply=before, is_stable=true
}"""
    pairs = text.replace(
        "zero = f32[]", "c = s32[] parameter(2)\nd = s32[] parameter(3)\nzero = f32[]"
    )
    pairs = pairs.replace("sort(x)", "sort(x, i)").replace(
        "ROOT s = f32[SIZE]", "ROOT s = (f32[SIZE], s32[SIZE])"
    )
    pairs = pairs.replace("ROOT s", "i = s32[SIZE] iota(), iota_dimension=0\nROOT s")
    text, pairs = (t.replace("SIZE", str(size)) for t in (text, pairs))
    generator = np.random.default_rng(4)
    array = generator.standard_normal(size).astype(np.float32)
    for number in special:
        array[generator.integers(0, size, size // 9)] = number
    kind = "bucket" if size > words.BUCKETS else "radix"
    made = agree(text, array)
    assert made.has(f"{kind}_sort_u32")
    assert made.has(f"{kind}_sort_u64")
    assert agree(pairs, array).has("lost")


@pytest.mark.parametrize("direction", ["LT", "GT"])
@pytest.mark.parametrize("element_type", NARROW)
def test_narrow_floats_are_sorted_by_few_bits(element_type, direction):
    """All that a type can say, NaN of any bits among them, and each twice."""
    kind = ELEMENT_TYPES[element_type]
    count = 1 << float_format(kind.dtype).bits
    every = np.arange(count, dtype=f"u{kind.bytes}")
    array = np.random.default_rng(5).permutation(np.tile(every, 2)).view(kind.dtype)
    before = comparator(PLAIN.replace("{D}", direction), element_type, ", type=TOTALORDER")
    many = f"{element_type}[{2 * count}]"
    agree(
        f"""{before}
ENTRY e {{
  x = {many} parameter(0)
  i = s32[{2 * count}] iota(), iota_dimension=0
  ROOT s = ({many}, s32[{2 * count}]) sort(x, i), dimensions={{0}}, is_stable=true, to_apply=before
}}""",
        array,
    )
