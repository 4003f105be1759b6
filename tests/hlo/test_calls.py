"""A front end tells of each program which calls ran it, and why it was compiled."""

from hlo.frontends.calls import By, CallArgument, Calls


def arguments(**texts: str) -> dict[str, CallArgument]:
    """The shape of `x`, the constant value of `axis`, a Python value of `mode`."""
    by = {"x": By.SHAPE, "axis": By.VALUE, "mode": By.PYTHON}
    return {name: CallArgument(by[name], text) for name, text in texts.items()}


def test_programs_are_compared_with_the_nearest_before() -> None:
    """The third call differs from the first in one argument, and from the second in two."""
    calls = Calls("loss")
    for given in (
        arguments(x="f32[1,10]", axis="0", mode="1"),
        arguments(x="f32[1,100]", axis="0", mode="1"),
        arguments(x="f32[1,10]", axis="1", mode="1"),
        arguments(x="f32[1,10]", axis="1"),
    ):
        calls.begin()
        calls.compiled(given).calls.append(calls.number)
    for number in (5, 6, 8):
        calls.programs[0].calls.append(number)
    calls.number = 8
    assert (
        calls.explain()
        == """\
loss: 8 calls, 4 programs
program  computes  calls      why
1        values    1, 5-6, 8  first call: x is f32[1,10]; axis must be constant and is 0; mode is 1
2        values    2          compiled again: x is f32[1,100] and was f32[1,10]
3        values    3          compiled again: axis must be constant, is 1 and was 0
4        values    4          compiled again: mode is gone
compiled again for each change of its shape and element type: x
compiled again for each change of its value, which must be constant: axis
compiled again for each change of its value, a Python object: mode"""
    )


def test_a_gradient_is_no_recompilation_of_the_values() -> None:
    calls = Calls("loss")
    calls.begin()
    for role in ("values", "gradient"):
        calls.compiled({}, role).calls.append(calls.number)
    assert [program.why for program in calls.programs] == ["first call", "first call"]
    assert "loss: 1 call, 2 programs" in calls.explain()


def test_a_second_trace_for_the_same_signature_is_told() -> None:
    """A function is traced again for another object, whose text is the same."""
    calls = Calls("method")
    calls.compiled({})
    assert calls.compiled({}).why == "compiled again: the function was traced again"
