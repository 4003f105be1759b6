"""A row is gone through once for each fold that waits for another one, and once for the rest."""

import hlo
from optimizer.fusion.row_passes import row_passes
from optimizer.fusion.rows import rows_of_all

SOFTMAX = """HloModule softmax
larger { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] maximum(a, b) }
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
ENTRY main {
  x = f32[8,99] parameter(0)
  least = f32[] constant(-inf)
  m = f32[8] reduce(x, least), dimensions={1}, to_apply=larger
  b = f32[8,99] broadcast(m), dimensions={0}
  c = f32[8,99] subtract(x, b)
  e = f32[8,99] exponential(c)
  zero = f32[] constant(0)
  s = f32[8] reduce(e, zero), dimensions={1}, to_apply=sum
  t = f32[8,99] broadcast(s), dimensions={0}
  ROOT d = f32[8,99] divide(e, t)
}"""


def test_softmax_takes_three_passes_and_keeps_its_exponentials():
    entry = hlo.parse(SOFTMAX).entry
    rows = rows_of_all(entry)
    assert rows is not None
    passes = row_passes(rows, entry, [entry.root])
    assert [[i.name for i in each] for each in passes.folds] == [["m"], ["s"], []]
    assert [[i.name for i in each] for each in passes.stores] == [[], [], ["d"]]
    assert [i.name for i in passes.read] == ["x"]
    kept = {i.name: (computed, passes.readers[i]) for i, computed in passes.kept.items()}
    assert kept == {"x": (0, {1}), "e": (1, {2})}
