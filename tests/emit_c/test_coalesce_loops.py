"""Two loops of a fold become one; C gives the same values."""

import numpy as np
import pytest
from strategies.compiled import ADD, MAX
from written import Assign, For

import emit_c
import hlo
import interpreter
from codegen import statements
from codegen.expressions import Index, Load, Name
from codegen.printer import text
from emit_c.kernels.coalesce_loops import coalesce_loops
from hlo.types.element_type import ELEMENT_TYPES
from interpreter.numbers.compare import BITS, ROUNDING, compare
from optimizer.analysis.indexing import counter


def rows(
    width: int, distance: int, *, extra: statements.Statement | None = None, **inner: object
) -> For:
    """The maximum of rows of some width, so far apart."""
    number = counter("i", 90) * distance + counter("j", width) + counter("k", 5) + 2
    folded = statements.Assign(Name("most"), Load(Name("x"), Index(number)))
    inside = For("j", width, (folded, *([extra] if extra else [])), simd=True,
                 **{"reductions": (("max", "most"),), **inner})  # fmt: skip
    return For("i", 90, (inside,))


def test_rows_become_one_loop():
    assert (
        text(coalesce_loops([rows(7, 7)]))
        == """\
  #pragma omp simd reduction(max : most)
  for (s64 i = 0; i < 630; i++) {
    most = x[i + k + 2];
  }
"""
    )


def test_rows_around_columns_become_one_loop():
    columns = counter("i", 90) * 21 + counter("j", 7) * 3 + counter("c", 3)
    folded = statements.Assign(Load(Name("sums"), Name("c")), Load(Name("x"), Index(columns)))
    lanes = For("c", 3, (folded,), simd=True)
    nest = For("i", 90, (For("j", 7, (lanes,)),), reductions=(("max", "sums"),))
    made = text(coalesce_loops([nest]))
    assert "for (s64 i = 0; i < 630; i++) {" in made
    assert "sums[c] = x[i * 3 + c];" in made


@pytest.mark.parametrize(
    "nest",
    [
        rows(7, 9),
        rows(70, 70),
        rows(7, 7, extra=Assign("y[j]", "most")),
        rows(7, 7, reductions=()),
    ],
    ids=["rows apart", "long rows", "a counter alone", "no fold"],
)
def test_others_stay(nest):
    assert text(coalesce_loops([nest])) == text([nest])


@pytest.mark.parametrize("dims", ["40,7", "9,40,3", "5,6,7", "300,17", "3,70,2"])
@pytest.mark.parametrize("kept", ["", "0", "1", "2"])
@pytest.mark.parametrize("kind", ["f32", "u8", "bf16", "c64"])
def test_values(dims, kept, kind):
    sizes = [int(n) for n in dims.split(",")]
    folded = [d for d in range(len(sizes)) if str(d) != kept]
    result = ",".join(str(n) for d, n in enumerate(sizes) if d not in folded)
    folds = "add" if kind == "c64" else "max"
    module = hlo.parse(f"""HloModule folds
{(ADD + MAX).replace("{T}", kind) if kind != "c64" else ADD.replace("{T}", kind)}
ENTRY e {{
  x = {kind}[{dims}] parameter(0)
  z = {kind}[] parameter(1)
  y = {kind}[{dims}] add(x, x)
  s = {kind}[{result}] reduce(x, z), dimensions={{{",".join(map(str, folded))}}}, to_apply=add
  m = {kind}[{result}] reduce(y, z), dimensions={{{",".join(map(str, folded))}}}, to_apply={folds}
  ROOT r = ({kind}[{result}], {kind}[{result}]) tuple(s, m)
}}""")
    x = np.random.default_rng(1).integers(0, 9, sizes).astype(ELEMENT_TYPES[kind].dtype)
    z = np.ones((), x.dtype)
    strength = BITS if kind == "u8" else ROUNDING
    assert (
        compare(emit_c.compile(module)(x, z), interpreter.evaluate(module, x, z), strength) is None
    )
