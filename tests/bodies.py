"""Modules of two parameters and zeros, of which a test writes the rest."""

import hlo
from optimizer import Log, parse_pipeline

PARAMETERS = """
HloModule test
ENTRY main {
  x = f32[2,3] parameter(0)
  y = f32[2,3] parameter(1)
  zero = f32[] constant(0)
  zeros = f32[2,3] broadcast(zero), dimensions={}
"""


def module(body):
    """The module whose entry ends with these lines."""
    return hlo.parse(f"{PARAMETERS}{body}\n}}")


def root(body):
    """Its root."""
    return module(body).entry.root


def simplified(text, body, **options):
    """It after a pipeline."""
    return parse_pipeline(text).run(module(body), Log(**options))


# Two parameters, and zeros.
LEAVES = [i for i in module("ROOT t = f32[2,3] add(x, zeros)").entry.instructions if i.shape.dims]
LEAVES = LEAVES[:-1]
