"""Copies that are started and ended: their operands are read from memory, or made in it."""

import pytest
from strategies.compiled import check, entry

OPERANDS = {
    "constant": "c = s32[2] constant({6, 0})",
    "iota": "c = s32[2] iota(), iota_dimension=0",
    "broadcast": "k = s32[] constant(3)\nc = s32[2] broadcast(k), dimensions={}",
    "computed": "n = s32[2] negate(x)\nc = s32[2] add(n, x)",
    "parameter": "c = s32[2] bitcast(x)",
}


@pytest.mark.parametrize("operand", OPERANDS.values(), ids=OPERANDS)
def test_the_copy_has_the_operand_s_elements(operand):
    check(entry(f"""x = s32[2] parameter(0)
{operand}
start = (s32[2], s32[2], u32[]) copy-start(c)
other = s32[2] multiply(x, x)
done = s32[2] copy-done(start)
ROOT r = (s32[2], s32[2]) tuple(done, other)"""))  # fmt: skip
