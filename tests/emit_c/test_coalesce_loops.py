"""Two loops of a fold become one; C gives the same values."""

import numpy as np
import pytest
from strategies.compiled import ADD, MAX

import emit_c
import hlo
import interpreter
from hlo.types.element_type import ELEMENT_TYPES
from interpreter.numbers.compare import BITS, ROUNDING, compare


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
