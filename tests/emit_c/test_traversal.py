"""Loops that are divided, cut and tiled write the elements that plain ones would."""

import itertools
import math

import numpy as np
import pytest
from emitted import checked
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies.compiled import check, entry

import emit_c
import hlo
from codegen.statements import Assign, If, Let, base
from codegen.walk import names_of
from hlo.types.element_type import ELEMENT_TYPES

DIVISIONS = {"/", "%", ">>", "&"}


def agree(lines, *arguments):
    """Whether C gives what the interpreter gives."""
    check(entry("\n".join(lines)), optimize=True, arguments=arguments)


def made_of(lines, *arguments):
    """What the C is made of, if it does."""
    return checked(entry("\n".join(lines)), optimize=True, arguments=arguments)


def numbers(dims, element_type=np.float32):
    return np.asarray(np.random.default_rng(2).standard_normal(dims)).astype(element_type)


def spelled(dims):
    return ",".join(map(str, dims))


@pytest.mark.parametrize("dims", [(33, 20), (1, 17), (3, 600), (600, 3), (16, 48), (2, 2)])
def test_transposes_of_matrices(dims):
    given_, made = spelled(dims), spelled(dims[::-1])
    made = made_of(
        [
            f"x = f32[{given_}] parameter(0)",
            f"t = f32[{made}] transpose(x), dimensions={{1,0}}",
            f"y = f32[{made}] parameter(1)",
            f"s = f32[{made}] add(t, y)",
            f"n = f32[{made}] negate(t)",
            f"ROOT r = (f32[{made}], f32[{made}]) tuple(s, n)",
        ],
        numbers(dims),
        numbers(dims[::-1]),
    )
    # Rows of three are written out: three rows are read side by side, and one is written.
    assert made.has("_tile") == (min(dims) > 1 and max(dims) > 16 and dims[0] > 4)


@pytest.mark.parametrize("dims", [(33, 20, 2), (16, 40, 3), (100, 17, 4), (20, 12, 2), (20, 20, 5)])
def test_transposes_of_short_rows(dims):
    given_, made = spelled(dims), spelled((dims[1], dims[0], dims[2]))
    made = made_of(
        [
            f"x = f32[{given_}] parameter(0)",
            f"y = f32[{made}] parameter(1)",
            f"t = f32[{made}] transpose(x), dimensions={{1,0,2}}",
            "zero = f32[] constant(0)",
            f"p = f32[{dims[1]},{dims[0]},{dims[2] + 1}] pad(t, zero), padding=0_0x0_0x1_0",
            f"s = f32[{made}] add(t, y)",
            f"ROOT r = (f32[{made}], f32[{dims[1]},{dims[0]},{dims[2] + 1}]) tuple(s, p)",
        ],
        numbers(dims),
        numbers((dims[1], dims[0], dims[2])),
    )
    assert made.has("_tile") == (min(dims[:2]) >= 16 and dims[2] < 5)


def test_neighbouring_dimensions_share_a_loop():
    made = made_of(
        [
            "x = f32[3,20,1,8,8] parameter(0)",
            "y = f32[20] parameter(1)",
            "b = f32[3,20,1,8,8] broadcast(y), dimensions={1}",
            "ROOT r = f32[3,20,1,8,8] add(x, b)",
        ],
        numbers((3, 20, 1, 8, 8)),
        numbers((20,)),
    )
    assert [loop.stop for loop in made.loops] == [3, 20, 64]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_transposes_of_three_dimensions(order):
    dims = (5, 40, 18)
    made = spelled(dims[d] for d in order)
    agree(
        [
            f"x = bf16[{spelled(dims)}] parameter(0)",
            f"ROOT t = bf16[{made}] transpose(x), dimensions={{{spelled(order)}}}",
        ],
        numbers(dims, ELEMENT_TYPES["bf16"].dtype),
    )


def test_padding_and_parts_get_loops_without_conditions():
    made = made_of(
        [
            "x = f32[9,30] parameter(0)",
            "z = f32[] constant(7)",
            "p = f32[12,33] pad(x, z), padding=1_2x3_0",
            "y = f32[12,30] parameter(1)",
            "c = f32[12,63] concatenate(p, y), dimensions={1}",
            "ROOT n = f32[12,63] negate(c)",
        ],
        numbers((9, 30)),
        numbers((12, 30)),
    )
    assert not made.has_choices


def test_padding_of_many_dimensions_leaves_no_conditions():
    """Beside the array, in any dimension, nothing is cut any more: 9 pieces, not 81."""
    made = made_of(
        [
            "x = f32[3,4,5,6] parameter(0)",
            "z = f32[] constant(1)",
            "p = f32[5,6,7,9] pad(x, z), padding=1_1x1_1x1_1x1_2",
            "ROOT n = f32[5,6,7,9] negate(p)",
        ],
        numbers((3, 4, 5, 6)),
    )
    assert not made.has_choices
    stores = [s for s in made.nested if isinstance(s, Assign) and base(s.target) == "n"]
    assert len(stores) == 9


def test_the_innermost_loops_are_cut_first():
    """Three parts in each of four dimensions are 81 pieces, which are too many."""
    dims = [5, 6, 7, 9]
    lines = ["z = f32[] constant(1)"]
    for k in range(4):
        shape = ",".join(str(n - 3 * (d == k)) for d, n in enumerate(dims))
        padding = "x".join("1_2" if d == k else "0_0" for d in range(4))
        lines.append(f"x{k} = f32[{shape}] parameter({k})")
        lines.append(f"p{k} = f32[5,6,7,9] pad(x{k}, z), padding={padding}")
    lines += ["a = f32[5,6,7,9] add(p0, p1)", "b = f32[5,6,7,9] add(p2, p3)"]
    arrays = [numbers(tuple(n - 3 * (d == k) for d, n in enumerate(dims))) for k in range(4)]
    made = made_of([*lines, "ROOT n = f32[5,6,7,9] multiply(a, b)"], *arrays)
    asked = [
        set(names_of(tree))
        for s in made.nested
        for tree in ([s.condition] if isinstance(s, If) else [s.value] if is_limit(s) else [])
        if not (isinstance(s, If) and "i3" in names_of(tree) and "limit" in str(tree))
    ]
    assert asked
    assert all("i0" in names and "i3" not in names for names in asked)


def is_limit(statement):
    return isinstance(statement, Let) and statement.name.startswith("limit")


def test_a_split_counter_divides_nothing():
    made = made_of(
        [
            "x = f32[6,100] parameter(0)",
            "y = f32[6,20] parameter(1)",
            "b = f32[6,20,5] broadcast(y), dimensions={0,1}",
            "s = f32[6,100] reshape(b)",
            "ROOT a = f32[6,100] add(x, s)",
        ],
        numbers((6, 100)),
        numbers((6, 20)),
    )
    assert made.operators.isdisjoint(DIVISIONS)


@pytest.mark.parametrize("order", ["d, r", "r, d", "d, r, d"])
def test_a_counter_of_one_part_is_split(order):
    """The part has 8 times 24 elements, and the whole a number that 24 does not divide."""
    width = 192 + 2 * order.count("d")
    made = made_of(
        [
            "a = f32[16,8,10] parameter(0)",
            "b = f32[8,14,16] parameter(1)",
            "t = f32[16,8,14] transpose(b), dimensions={2,0,1}",
            "c = f32[16,8,24] concatenate(a, t), dimensions={2}",
            "r = f32[16,192] reshape(c)",
            "d = f32[16,2] parameter(2)",
            f"e = f32[16,{width}] concatenate({order}), dimensions={{1}}",
            f"ROOT n = f32[16,{width}] negate(e)",
        ],
        numbers((16, 8, 10)),
        numbers((8, 14, 16)),
        numbers((16, 2)),
    )
    assert made.operators.isdisjoint(DIVISIONS)
    assert not made.has_choices


def test_copies_keep_every_bit():
    bits = np.arange(1 << 16, dtype=np.uint16).reshape(256, 256)
    module = hlo.parse("""HloModule m
ENTRY e {
x = bf16[256,256] parameter(0)
y = bf16[256,256] reverse(x), dimensions={0}
ROOT t = bf16[256,256] transpose(y), dimensions={1,0}
}""")
    got = emit_c.compile(module)(bits.view(ELEMENT_TYPES["bf16"].dtype))
    assert (got.view(np.uint16) == bits[::-1].T).all()


@pytest.mark.parametrize("count", [100, 300])
def test_many_parts_are_cut(count):
    """Each has few statements, but choices between them would be one inside the other."""
    parts = [f"x{k} = f32[2,3] parameter({k})" for k in range(count)]
    names = ", ".join(f"x{k}" for k in range(count))
    made = made_of(
        [*parts, f"ROOT c = f32[{2 * count},3] concatenate({names}), dimensions={{0}}"],
        *(numbers((2, 3)) + k for k in range(count)),
    )
    assert not made.has_choices


# ------------------------------------------------------------------ chains of movements


def transposed(draw, dims):
    order = draw(st.permutations(range(len(dims))))
    made = tuple(dims[d] for d in order)
    return made, f"transpose({{0}}), dimensions={{{{{spelled(order)}}}}}"


def reshaped(draw, dims):
    size = math.prod(dims)
    factors = [d for d in (1, 2, 3, 4, 5, 6, 8, 20) if size and size % d == 0]
    first = draw(st.sampled_from(factors or [1]))
    made = draw(st.sampled_from([(size,), (first, size // first), (size // first, first)]))
    return made, "reshape({0})"


def reversed_(draw, dims):
    some = draw(st.sets(st.sampled_from(range(len(dims))), min_size=1))
    return dims, f"reverse({{0}}), dimensions={{{{{spelled(sorted(some))}}}}}"


def padded(draw, dims):
    sides = [(draw(st.integers(-1, 4)), draw(st.integers(-1, 4)), draw(st.integers(0, 2)))
             for _ in dims]  # fmt: skip
    made = tuple(
        low + high + n + max(n - 1, 0) * inner
        for n, (low, high, inner) in zip(dims, sides, strict=True)
    )
    if min(made) < 0 or math.prod(made) > 5000:
        return dims, "negate({0})"
    spelled_out = "x".join("_".join(map(str, side)) for side in sides)
    return made, f"pad({{0}}, z), padding={spelled_out}"


def sliced(draw, dims):
    parts, made = [], []
    for n in dims:
        start = draw(st.integers(0, n))
        stop, stride = draw(st.integers(start, n)), draw(st.integers(1, 3))
        parts.append(f"[{start}:{stop}:{stride}]")
        made.append(-(-(stop - start) // stride))
    return tuple(made), f"slice({{0}}), slice={{{{{','.join(parts)}}}}}"


def joined(draw, dims):
    d, times = draw(st.integers(0, len(dims) - 1)), draw(st.integers(2, 3))
    made = (*dims[:d], dims[d] * times, *dims[d + 1 :])
    if math.prod(made) > 5000:
        return dims, "negate({0})"
    return made, f"concatenate({', '.join(['{0}'] * times)}), dimensions={{{{{d}}}}}"


def spread(draw, dims):
    d, n = draw(st.integers(0, len(dims))), draw(st.integers(1, 3))
    made = (*dims[:d], n, *dims[d:])
    if math.prod(made) > 5000:
        return dims, "negate({0})"
    kept = [k + (k >= d) for k in range(len(dims))]
    return made, f"broadcast({{0}}), dimensions={{{{{spelled(kept)}}}}}"


STEPS = (transposed, reshaped, reversed_, padded, sliced, joined, spread)


@settings(max_examples=25)
@given(st.data())
def test_chains_of_movements(data):
    dims = start = tuple(data.draw(st.lists(st.sampled_from([1, 2, 5, 17, 24]), min_size=1,
                                            max_size=3)))  # fmt: skip
    lines = [f"x0 = s32[{spelled(start)}] parameter(0)", "z = s32[] constant(-1)"]
    for k in range(data.draw(st.integers(1, 5))):
        dims, how = data.draw(st.sampled_from(STEPS))(data.draw, dims)
        lines.append(f"x{k + 1} = s32[{spelled(dims)}] {how.format(f'x{k}')}")
    shape = f"s32[{spelled(dims)}]"
    lines += [f"y = {shape} parameter(1)", f"ROOT r = {shape} add(x{len(lines) - 2}, y)"]
    x = np.arange(math.prod(start), dtype=np.int32).reshape(start)
    agree(lines, x, np.full(dims, 1000, np.int32))


def test_the_turns_of_a_short_loop_become_one_kernel():
    text = """HloModule m
more {
p = (s32[], f32[20000]) parameter(0)
i = s32[] get-tuple-element(p), index=0
n = s32[] constant(5)
ROOT l = pred[] compare(i, n), direction=LT
}
iteration {
p = (s32[], f32[20000]) parameter(0)
i = s32[] get-tuple-element(p), index=0
x = f32[20000] get-tuple-element(p), index=1
one = s32[] constant(1)
j = s32[] add(i, one)
s = f32[20000] multiply(x, x)
y = f32[20000] subtract(s, x)
ROOT t = (s32[], f32[20000]) tuple(j, y)
}
ENTRY e {
z = s32[] constant(0)
x = f32[20000] parameter(0)
s = (s32[], f32[20000]) tuple(z, x)
w = (s32[], f32[20000]) while(s), condition=more, body=iteration
ROOT y = f32[20000] get-tuple-element(w), index=1
}"""
    module, x = hlo.parse(text), numbers((20000,)) / 4
    made = checked(module, optimize=True, arguments=(x,))
    assert [loop.simd for loop in made.loops] == [True]


@pytest.mark.parametrize("kind", ["f32", "s8", "f64", "bf16", "c64", "pred"])
def test_transposes_of_short_rows_of_any_type(kind):
    x = numbers((20, 17, 3)).astype(ELEMENT_TYPES[kind].dtype)
    agree(
        [
            f"x = {kind}[20,17,3] parameter(0)",
            f"ROOT t = {kind}[17,20,3] transpose(x), dimensions={{1,0,2}}",
        ],
        x,
    )
