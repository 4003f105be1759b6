"""Who runs a text without its large constants is told that the numbers are made up."""

import warnings

import pytest

import emit_c
import interpreter
from hlo.read.parse import parse
from interpreter.engine.elided import ElidedConstantWarning

ELIDED = """HloModule m
ENTRY e {
  c = f32[4] constant({...})
  ROOT n = f32[4] negate(c)
}"""


@pytest.mark.parametrize("run", [interpreter.evaluate, lambda m: emit_c.compile(m)()])
def test_numbers_that_are_made_up_are_told_of_once(run):
    module = parse(ELIDED)
    with pytest.warns(ElidedConstantWarning, match=r"c, line 3,.*xla_dump_large_constants"):
        run(module)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(module)
