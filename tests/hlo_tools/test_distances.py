"""The distances at which accesses meet, which legality rests on, are proved for a kernel."""

from random import Random

import pytest
from nests import nest

import hlo
from codegen.expressions import Load, Name
from codegen.schedule.dependences import OBLIGATIONS, distances
from codegen.schedule.legality import IllegalError
from codegen.schedule.loop import LoopView
from codegen.statements import Assign, For, Let

pytest.importorskip("z3")
from hlo_tools.drawing.pictures.loops import loops
from hlo_tools.proofs.distances import prove_obligations

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
