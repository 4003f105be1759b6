"""Runs of one program may draw other random numbers, for callers whose generator goes on."""

import numpy as np

import emit_c
import hlo
import interpreter


def test_runs_draw_from_the_part_of_the_sequence_that_they_are_told() -> None:
    """Part 0 is the interpreter's; a program without random numbers is not disturbed."""
    module = hlo.parse("""ENTRY e {
        a = f32[] constant(0)
        b = f32[] constant(1)
        ROOT y = f32[4] rng(a, b), distribution=rng_uniform
    }""")
    draw = emit_c.compile(module)
    first = draw()
    np.testing.assert_array_equal(first, interpreter.evaluate(module))
    draw.draw_from(1)
    second = draw()
    assert (first != second).all()
    np.testing.assert_array_equal(draw(), second)
    draw.draw_from(0)
    np.testing.assert_array_equal(draw(), first)
    negate = emit_c.compile(
        hlo.parse("ENTRY e { x = f32[] parameter(0)  ROOT y = f32[] negate(x) }")
    )
    negate.draw_from(3)
    assert negate(np.float32(2)) == -2
