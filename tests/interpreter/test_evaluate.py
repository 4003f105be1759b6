"""The engine: order, depth, memory, arguments, errors."""

import gc
import weakref

import numpy as np
import pytest

import interpreter
from hlo.errors.error import HloError
from hlo.read.parse import parse
from interpreter.engine.memory import peak_bytes
from interpreter.engine.observe import ValueRecorder


def module(body: str, before: str = "", header: str = "") -> object:
    return parse(f"HloModule m{header}\n\n{before}\n\nENTRY main {{\n{body}\n}}\n")


ADD = module("""
  x = f32[2] parameter(0)
  y = f32[2] parameter(1)
  ROOT sum = f32[2] add(x, y)""")


def test_evaluates_a_module() -> None:
    got = interpreter.evaluate(ADD, np.array([1, 2], np.float32), np.array([10, 20], np.float32))
    np.testing.assert_array_equal(got, np.array([11, 22], np.float32))
    assert got.dtype == np.float32


def test_takes_python_numbers_and_lists() -> None:
    np.testing.assert_array_equal(interpreter.evaluate(ADD, [1, 2.5], (0, 1)), [1, 3.5])


def test_a_scalar_result_is_an_array() -> None:
    got = interpreter.evaluate(module("x = s8[] parameter(0)\nROOT y = s8[] add(x, x)"), 100)
    assert isinstance(got, np.ndarray)
    assert (got.dtype, got.shape, int(got)) == (np.int8, (), -56)


def test_tuples_tokens_and_plumbing() -> None:
    got = interpreter.evaluate(
        module("""
  x = (f32[], (s32[2], token[])) parameter(0)
  inner = (s32[2], token[]) get-tuple-element(x), index=1
  ints = s32[2] get-tuple-element(inner), index=0
  tok = token[] get-tuple-element(inner), index=1
  all = token[] after-all(tok, tok)
  dependent = s32[2] add-dependency(ints, all)
  barrier = s32[2] opt-barrier(dependent)
  started = (s32[2], s32[2], u32[]) copy-start(barrier)
  copied = s32[2] copy-done(started)
  ROOT result = (s32[2], token[]) tuple(copied, all)"""),
        (1.0, ([3, 4], None)),
    )
    assert got[1] is None
    np.testing.assert_array_equal(got[0], [3, 4])


def test_a_parameter_may_stand_anywhere() -> None:
    got = interpreter.evaluate(
        module("b = f32[] parameter(1)\na = f32[] parameter(0)\nROOT d = f32[] subtract(a, b)"),
        *(5.0, 3.0),
    )
    assert got == 2


def test_a_chain_of_ten_thousand_instructions() -> None:
    lines = ["x0 = s32[] parameter(0)"]
    lines += [f"x{i} = s32[] add(x{i - 1}, x0)" for i in range(1, 10_000)]
    assert interpreter.evaluate(module("\n".join(lines)), 1) == 10_000


def test_computations_nested_a_hundred_deep() -> None:
    names = ["g0 { ROOT x = s32[] parameter(0) }"]
    names += [
        f"g{i} {{\n p = s32[] parameter(0)\n ROOT r = s32[] call(p), to_apply=g{i - 1}\n}}"
        for i in range(1, 100)
    ]
    body = "x = s32[] parameter(0)\nROOT r = s32[] call(x), to_apply=g99"
    assert interpreter.evaluate(module(body, "\n".join(names)), 7) == 7


def test_values_are_freed_after_their_last_use() -> None:
    seen: list[weakref.ref[np.ndarray]] = []
    alive: list[int] = []

    def observe(event: interpreter.Evaluation) -> None:
        if event.instr.opcode == "negate":
            gc.collect()
            alive.append(sum(ref() is not None for ref in seen))
            seen.append(weakref.ref(event.value))

    lines = ["x0 = f32[4] parameter(0)"]
    lines += [f"x{i} = f32[4] negate(x{i - 1})" for i in range(1, 20)]
    gc.freeze()  # what other tests left is not looked through again and again
    try:
        interpreter.evaluate(module("\n".join(lines)), np.zeros(4, np.float32), observe=observe)
    finally:
        gc.unfreeze()
    assert max(alive) <= 1


def test_peak_bytes_counts_what_lives_together() -> None:
    lines = ["x0 = f32[250] parameter(0)"]
    lines += [f"x{i} = f32[250] negate(x{i - 1})" for i in range(1, 20)]
    assert peak_bytes(module("\n".join(lines))) == 2000


def test_peak_bytes_counts_called_computations_on_top() -> None:
    got = peak_bytes(
        module(
            """
  x = f32[10] parameter(0)
  a = f32[10] negate(x)
  b = f32[10] fusion(x), kind=kLoop, calls=fused
  ROOT c = f32[10] add(a, b)""",
            "fused {\n p = f32[10] parameter(0)\n ROOT n = f32[10] negate(p)\n}",
        )
    )
    assert got == 80


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (([1, 2],), "HLO110"),
        (([1, 2], [1, 2], [1, 2]), "HLO110"),
        (([1, 2, 3], [1, 2]), "HLO111"),
        ((1.0, [1, 2]), "HLO111"),
        ((np.zeros(2), [1, 2]), "HLO112"),
        ((np.zeros(2, np.int32), [1, 2]), "HLO112"),
        (([1j, 2], [1, 2]), "HLO112"),
        ((["a", "b"], [1, 2]), "HLO112"),
    ],
)
def test_arguments_are_checked(arguments: tuple[object, ...], code: str) -> None:
    with pytest.raises(HloError) as caught:
        interpreter.evaluate(ADD, *arguments)
    assert caught.value.code == code
    assert caught.value.span is not None


@pytest.mark.parametrize("argument", [300, -1, 1.5])
def test_a_python_number_must_fit_an_integer_type(argument: float) -> None:
    with pytest.raises(HloError, match="instead of u8"):
        interpreter.evaluate(module("ROOT x = u8[] parameter(0)"), argument)


def test_a_tuple_argument_must_have_all_elements() -> None:
    with pytest.raises(HloError, match="1 element instead of a tuple of 2"):
        interpreter.evaluate(module("ROOT x = (u8[], u8[]) parameter(0)"), (1,))


def test_a_dynamic_dimension_may_be_smaller_but_not_larger() -> None:
    identity = module("ROOT x = f32[<=3] parameter(0)")
    assert interpreter.evaluate(identity, [1.0, 2.0]).shape == (2,)
    with pytest.raises(HloError, match="instead of"):
        interpreter.evaluate(identity, [1.0, 2.0, 3.0, 4.0])


def test_a_module_too_large_for_memory_is_refused() -> None:
    huge = module("x = f32[] parameter(0)\nROOT y = f64[4000000,4000000] iota(), iota_dimension=0")
    with pytest.raises(HloError, match="128,000,000,000,000 bytes") as caught:
        interpreter.evaluate(huge, 1.0)
    assert caught.value.code == "HLO113"
    assert "%y" in caught.value.notes[0]


def test_an_opcode_without_a_function_is_named() -> None:
    add = interpreter.evaluates["add"]
    with interpreter.evaluates.replaced("add", add):
        del interpreter.evaluates.entries["add"]
        with pytest.raises(HloError, match="cannot evaluate add") as caught:
            interpreter.evaluate(ADD, [1, 2], [1, 2])
        interpreter.evaluates.define("add", add)
    assert caught.value.code == "HLO100"
    assert caught.value.span.line == 9


def test_errors_say_where_they_arose() -> None:
    def broken(*_: object) -> None:
        raise HloError("HLO100", "broken")

    def mistaken(*_: object) -> None:
        raise ValueError("a mistake")

    with interpreter.evaluates.replaced("add", broken), pytest.raises(HloError) as caught:
        interpreter.evaluate(ADD, [1, 2], [1, 2])
    assert caught.value.span.line == 9
    with (
        interpreter.evaluates.replaced("add", mistaken),
        pytest.raises(ValueError, match="mistake") as mistake,
    ):
        interpreter.evaluate(ADD, [1, 2], [1, 2])
    assert "%sum" in mistake.value.__notes__[0]


def test_a_replaced_function_is_used() -> None:
    with interpreter.evaluates.replaced("add", lambda _instr, _attrs, x, y: x * y):
        np.testing.assert_array_equal(interpreter.evaluate(ADD, [2, 3], [4, 5]), [8, 15])


COUNT = module(
    """
  start = s32[] constant(0)
  ROOT end = s32[] while(start), condition=below, body=step""",
    """
below {
  i = s32[] parameter(0)
  three = s32[] constant(3)
  ROOT less = pred[] compare(i, three), direction=LT
}

step {
  j = s32[] parameter(0)
  one = s32[] constant(1)
  ROOT next = s32[] add(j, one)
}""",
)


def test_a_recorder_keeps_every_value_of_every_iteration(tmp_path: object) -> None:
    recorder = ValueRecorder()
    assert interpreter.evaluate(COUNT, observe=recorder) == 3
    values = recorder.values
    assert [int(values[f"device 0/main/step[{i}]/next"]) for i in range(3)] == [1, 2, 3]
    assert [bool(values[f"device 0/main/below[{i}]/less"]) for i in range(4)] == [1, 1, 1, 0]
    assert list(values)[-1] == "device 0/main/end"
    recorder.save(tmp_path / "values.npz")
    with np.load(tmp_path / "values.npz") as saved:
        assert saved["device 0/main/step[2]/next"] == 3


def test_a_recorder_saves_tuples_and_types_that_numpy_lacks(tmp_path: object) -> None:
    recorder = ValueRecorder()
    lines = "x = bf16[2] parameter(0)\nROOT t = (bf16[2], bf16[2]) tuple(x, x)"
    interpreter.evaluate(module(lines), [1.0, -1.0], observe=recorder)
    recorder.save(tmp_path / "values.npz")
    with np.load(tmp_path / "values.npz") as saved:
        np.testing.assert_array_equal(saved["bfloat16:device 0/main/t.1"], [0x3F80, 0xBF80])


@pytest.mark.parametrize("element_type", ["f32", "s64", "pred", "s4", "c128", "bf16", "f8e5m2"])
def test_an_elided_constant_is_made_up_of_its_type(element_type: str) -> None:
    got = interpreter.evaluate(module(f"ROOT c = {element_type}[3,3] constant({{...}})"))
    again = interpreter.evaluate(module(f"ROOT c = {element_type}[3,3] constant({{...}})"))
    assert got.shape == (3, 3)
    assert got.tobytes() == again.tobytes()


def test_an_elided_constant_counts_in_its_bytes() -> None:
    got = interpreter.evaluate(module("ROOT c = s32[5] constant({...})"))
    np.testing.assert_array_equal(got, range(5))


def test_elided_constants_count_on_so_that_no_two_are_equal() -> None:
    text = "a = s32[2] constant({...})\nb = (s8[5], s32[2]) constant({...})\n"
    a, (_, b), c = interpreter.evaluate(
        module(f"{text}c = s32[2] constant({{...}})\nROOT r = tuple(a, b, c)")
    )
    assert (a.tolist(), b.tolist(), c.tolist()) == ([0, 1], [3, 4], [5, 6])


def test_what_is_no_array_is_named() -> None:
    module = parse("HloModule m\nENTRY e { ROOT x = f32[2] parameter(0) }")
    with pytest.raises(HloError, match=r"%x: NoneType instead of f32\[2\]") as caught:
        interpreter.evaluate(module, None)
    assert not caught.value.notes
