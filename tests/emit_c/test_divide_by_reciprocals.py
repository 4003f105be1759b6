"""Loops in lanes multiply by the reciprocals of shared divisors, with equal results."""

import numpy as np
import pytest
from emitted import checked

import hlo


@pytest.mark.parametrize("kind", ["s64", "u64"])
@pytest.mark.parametrize("divisor", [1, 3, 77, 2**31 + 1, 2**53 + 1, 2**63 - 25])
def test_values_are_those_of_the_interpreter(kind, divisor):
    """Multiples of the divisor, their neighbours, and both ends of the range."""
    generator = np.random.default_rng(divisor % 1000)
    words = generator.integers(0, 2**64, 1000, np.uint64, endpoint=False)
    multiples = words // np.uint64(divisor) * np.uint64(divisor)
    x = np.concatenate([words >> generator.integers(0, 64, 1000).astype(np.uint64), multiples])
    x = np.concatenate([x, x - np.uint64(1), -x, np.uint64([2**63, 2**64 - 1, 0])]).view(
        {"s64": np.int64, "u64": np.uint64}[kind]
    )
    for sign in (1, -1) if kind == "s64" else (1,):
        module = hlo.parse(f"""HloModule m
ENTRY e {{
  x = {kind}[{len(x)}] parameter(0)
  c = {kind}[] constant({sign * divisor})
  y = {kind}[{len(x)}] broadcast(c), dimensions={{}}
  q = {kind}[{len(x)}] divide(x, y)
  r = {kind}[{len(x)}] remainder(x, y)
  ROOT t = ({kind}[{len(x)}], {kind}[{len(x)}]) tuple(q, r)
}}""")
        made = checked(module, optimize=True, arguments=(x,))
        assert ("divide-by-reciprocals" in made.passes) == (divisor > 1)
