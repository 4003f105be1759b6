"""What transformations of loops take for granted is proved for a kernel, one by one."""

from collections import Counter
from functools import partial
from random import Random

import pytest
from nests import nest
from primitives import PRIMITIVES, staged, tiled, tiled_in_guards, tiled_stores

import hlo
from codegen.expressions import Literal, Load, Name, binary
from codegen.schedule.dependences import distances
from codegen.schedule.legality import IllegalError
from codegen.schedule.loop import LoopView
from codegen.schedule.obligations import (
    OBLIGATIONS,
    AnyOrder,
    Part,
    SameIterations,
    SameValue,
    Staged,
    StagedElement,
)
from codegen.schedule.order import vectorize
from codegen.schedule.trace import attempt, listening
from codegen.statements import Assign, For, Let

pytest.importorskip("z3")
from hlo_tools.drawing.pictures.loops import compared, loops
from hlo_tools.proofs.obligations import prove_obligations
from hlo_tools.trace.kernels import KernelState

i, n = Name("i"), Name("n")


def asked(loop):
    """All that is taken for granted of the accesses in a loop."""
    view = LoopView(loop)
    token = OBLIGATIONS.set([])
    for one in view.accesses:
        for other in view.accesses:
            distances(view, one, other)
    found = OBLIGATIONS.get()
    OBLIGATIONS.reset(token)
    return found


def test_of_random_loops():
    random = Random(0)
    lines = [line for _ in range(10) for line in prove_obligations(asked(nest(random.choice)))]
    assert len(lines) > 80
    assert all(line.startswith("proved: ") for line in lines)


@pytest.mark.parametrize(
    ("stored", "loaded", "said"),
    [
        (i * 10 + n, i * 10 + n, ["in one iteration only"]),
        (i * 2, i * 2 - 6, ["3 iterations apart"]),
        (i * 2, i * 2 + 1, ["in no two iterations"]),
        (i * 2, i % 4, []),  # linear forms know nothing of it, so nothing is taken for granted
    ],
)
def test_of_indices(stored, loaded, said):
    store = Assign(Load(Name("y"), stored), Load(Name("x"), i))
    obligations = asked(For("i", 9, (store, Let("f32", "v", Load(Name("y"), loaded)))))
    both = [o for o in obligations if o.one.is_write and not o.other.is_write]
    assert [line.partition(" meet ")[2] for line in prove_obligations(both)] == said


def test_a_wrong_answer_is_refuted():
    """The load comes two iterations after the store, and is said to come in the same one."""
    store = Assign(Load(Name("y"), i + 2), Load(Name("x"), i))
    loop = For("i", 9, (store, Let("f32", "v", Load(Name("y"), i))))
    wrong = [each._replace(distances=range(1)) for each in asked(loop) if each.one.is_write]
    with pytest.raises(IllegalError, match=r"the store to y\[i \+ 2\] in iteration \d meets"):
        list(prove_obligations(wrong))


@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_of_each_primitive(primitive):
    """All that primitives say of random loops is proved; but which array has a value, they know."""
    random, lines = Random(0), []
    loops, _ = PRIMITIVES[primitive]
    for _ in range(12):
        with listening() as heard:
            attempt(partial(primitive, random.choice, loops(random.choice)))
        lines += [line for step in heard for line in prove_obligations(step.obligations)]
    words = Counter(line.partition(":")[0] for line in lines)
    assert words["proved"] > 0
    allowed = (
        {"proved", "not proved"}
        if primitive in (staged, tiled, tiled_in_guards, tiled_stores)
        else {"proved"}
    )
    assert words.keys() <= allowed


K = Name("k")
NINE = For("i", 9, ())


@pytest.mark.parametrize(
    ("parts", "how", "wrong"),
    [
        # Two blocks of four, and nothing of the ninth iteration.
        ([Part((For("i", 8, ()),), {"i": i}, {"i": i})], "in order", True),
        ([Part((For("i", 10, ()),), {"i": i}, {"i": i})], "in order", True),
        ([Part((For("k", 9, ()),), {"i": 8 - K}, {"k": 8 - i})], "in order", True),
        ([Part((For("k", 9, ()),), {"i": 8 - K}, {"k": 8 - i})], "once", False),
        ([Part((NINE,), {"i": i}, {"i": i}), Part((), {"i": Literal(8)})], "once", True),
        ([Part((NINE,), {"i": i}, {"i": i}), Part((), {"i": Literal(8)})], "again", False),
        ([Part((For("i", 10, ()),), {"i": i}, {"i": i}, binary("<", i, 9))], "in order", False),
    ],
)
def test_of_iterations(parts, how, wrong):
    obligation = SameIterations((NINE,), tuple(parts), how)
    if wrong:
        with pytest.raises(IllegalError, match="not each iteration over i is done"):
            list(prove_obligations([obligation]))
    else:
        (line,) = prove_obligations([obligation])
        assert line.startswith("proved: each iteration over i is done")


ROW, COLUMN = Name("row"), Name("column")
TILE = {"row": range(8), "column": range(0, 8, 2)}
SIDES = {"row": ROW, "column": COLUMN}


@pytest.mark.parametrize(
    ("pitch", "stores", "is_there"),
    [
        (9, SIDES, True),
        (7, SIDES, True),  # the last column is number 6
        (6, SIDES, False),  # the last column of a row is the first one of the next
        (9, {"row": ROW, "column": COLUMN + 2}, False),
    ],
)
def test_of_staged_elements(pitch, stores, is_there):
    """Rows of a tile, of which every second column is there."""
    element = StagedElement(ROW * pitch + COLUMN, (ROW, COLUMN), TILE)
    obligation = Staged("tile", element, element, stores)
    if is_there:
        (line,) = prove_obligations([obligation])
        assert line.startswith("proved: tile[")
    else:
        with pytest.raises(IllegalError, match=r"not tile\["):
            list(prove_obligations([obligation]))


@pytest.mark.parametrize(
    ("operation", "kind", "start", "word"),
    [
        ("+", "s32", 0, "proved"),
        ("*", "u64", 1, "proved"),
        ("max", "s8", -128, "proved"),
        ("max", "s8", 0, "not decided"),
        ("^", "pred", 0, "proved"),
        ("sum_of_floats", "f32", 0, "promised"),
        ("first", "s64", None, "not proved"),
    ],
)
def test_of_orders(operation, kind, start, word):
    """Sums of floats are rounded: HLO lets reductions add in any order, and no solver would."""
    asked = AnyOrder(operation, kind, None if start is None else Literal(start))
    (line,) = prove_obligations([asked])
    assert line.partition(":")[0] == word


def test_of_values():
    """What an element is, is not known, but that no iteration changes it."""
    loop = LoopView(For("i", 9, (Assign(Load(Name("y"), i), Load(Name("x"), n)),)))
    same, other = Load(Name("x"), n + 2), Load(Name("y"), n)
    lines = list(prove_obligations([SameValue(loop, same), SameValue(loop, other)]))
    assert lines == [
        "proved: x[n + 2] is the same in each iteration over i",
        "not decided: y[n] is the same in each iteration over i",
    ]


def test_what_a_loop_promises_is_told():
    """Of places that are loaded, only the author of the loop knows that no two are the same."""
    store = Assign(Load(Name("y"), Load(Name("places"), i)), Load(Name("x"), i))
    with listening() as heard:
        vectorize(For("i", 9, (store,), parallel=True))
    access = "the store to y[places[i]]"
    (line,) = prove_obligations(heard[0].obligations)
    assert line == f"promised: {access} and {access} meet in one iteration only"


LOOKUP = """ENTRY e {
  table = u8[1000] parameter(0)
  places = s32[22] parameter(1)
  ROOT found = u8[22] gather(table, places), offset_dims={},
    collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}
}"""


def test_a_kernel_shows_what_is_proved():
    shown = loops(hlo.parse(LOOKUP), until="split-lookups", prove=True)
    store = "the store to looked_up[k_1]"
    assert f"//   proved: {store} and {store} meet in one iteration only\n" in shown
    assert "//   proved: each iteration over k_1 is done once\n" in shown
    assert shown.count("//   run: it leaves the same memory as before\n") == 1


def test_a_pass_that_changes_memory_is_refuted():
    """Its loops are run on one input, whether it applies primitives or not."""
    store = Assign(Load(Name("y"), i), Load(Name("x"), i))
    before, after = (
        KernelState("k", "pass", "", None, (), statements=(For("i", size, (store,)),))
        for size in (9, 8)
    )
    assert compared(before, before) == "run: it leaves the same memory as before"
    with pytest.raises(IllegalError, match="pass changes what the kernel of k leaves"):
        compared(before, after)
