"""What XLA's reader takes and refuses at the edges of the language, and so does this one.

Measured with jaxlib 0.10.2, which reads and prints these texts.
"""

import pytest

import hlo


def entry(*lines: str, before: str = "") -> str:
    body = "\n  ".join(lines)
    return f"HloModule m\n\n{before}ENTRY e {{\n  {body}\n}}\n"


@pytest.mark.parametrize("operands", ["f32[], x, x", "f32[], %x, %x", "f32[] %x, f32[], %x"])
def test_a_shape_and_a_comma_may_stand_before_an_operand(operands: str) -> None:
    text = entry("%x = f32[] parameter(0)", f"ROOT %a = f32[] add({operands})")
    assert "ROOT %a = f32[] add(%x, %x)" in str(hlo.parse(text))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (
            'HloModule m, debug_attributes={a="b"}\n\nENTRY e {\n  p = f32[] parameter(0)\n}\n',
            "debug",
        ),
        (
            entry(
                "x = f32[] parameter(0)",
                "ROOT n = f32[] negate(x), branch_computations={b}",
                before="b {\n  ROOT p = f32[] parameter(0)\n}\n\n",
            ),
            "branch_computations",
        ),
    ],
)
def test_attributes_that_are_none_here_are_refused(text: str, word: str) -> None:
    with pytest.raises(hlo.HloError, match=word) as caught:
        hlo.parse(text)
    assert caught.value.code == "HLO005"


@pytest.mark.parametrize(
    ("shape", "literal", "printed"),
    [
        ("f32[2,0]", "{{},{}}", "{ {}, {} }"),
        ("f32[2,3,0]", "{{{},{},{}},{{},{},{}}}", "{ { {}, {}, {} }, { {}, {}, {} } }"),
    ],
)
def test_empty_inner_dimensions(shape: str, literal: str, printed: str) -> None:
    text = str(hlo.parse(entry(f"ROOT n = {shape} constant({literal})")))
    assert f"constant({printed})" in text
    assert str(hlo.parse(text)) == text


def test_statistics_stand_behind_frontend_attributes_which_keep_their_groups() -> None:
    written = (
        'frontend_attributes={a="b",_scheduling_group_id="3"}, '
        "statistics={visualizing_index=0, stat-0=33}"
    )
    text = entry("x = f32[4] parameter(0)", f"ROOT n = f32[4] negate(x), {written}")
    assert (
        'frontend_attributes={_scheduling_group_id="3",a="b"}, '
        "statistics={visualizing_index=0,stat-0=33}"
    ) in str(hlo.parse(text))


def test_a_scan_may_have_a_computation_whose_value_is_no_tuple() -> None:
    step = (
        "f {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n\n"
    )
    lines = ("x = f32[5] parameter(0)", "z = f32[] constant(0)")
    scan = "ROOT n = {} scan(x, z), dimensions={{0}}, num_carries=1, to_apply=f"
    module = hlo.parse(entry(*lines, scan.format("f32[]"), before=step))
    hlo.verify(module)
    assert str(hlo.parse(str(module))) == str(module)
    wrong = hlo.parse(entry(*lines, scan.format("(f32[5], f32[])"), before=step))
    with pytest.raises(hlo.HloError) as caught:
        hlo.verify(wrong)
    assert caught.value.code == "HLO030"


@pytest.mark.parametrize("size", [1, 2])
def test_no_dimension_is_stretched(size: int) -> None:
    """Not even one of size 1: that is for StableHLO, where it becomes a reshape and a broadcast."""
    text = entry(f"x = f32[{size}] parameter(0)", "ROOT n = f32[5] broadcast(x), dimensions={0}")
    with pytest.raises(hlo.HloError) as caught:
        hlo.verify(hlo.parse(text))
    assert caught.value.code == "HLO029"


CALLED_LATE = entry(
    "p = f32[] parameter(0)",
    "ROOT w = f32[] while(p), condition=goes_on, body=outer",
    before="""goes_on {
  p = f32[] parameter(0)
  ROOT f = pred[] constant(false)
}

inner {
  p = f32[] parameter(0)
  ROOT n = f32[] negate(p)
}

outer {
  p = f32[] parameter(0)
  ROOT w = f32[] while(p), condition=goes_on, body=inner
}

""",
)


def test_computations_stand_before_those_that_call_them() -> None:
    """XLA prints `goes_on` after `outer`, and can't read that text."""
    text = str(hlo.parse(CALLED_LATE))
    assert text.index("%goes_on (") < text.index("%outer (")
    assert str(hlo.parse(text)) == text


def test_computations_keep_their_order_when_printed_again() -> None:
    text = entry(
        "x = f32[4] parameter(0)",
        'k = f32[4] call(x), to_apply=h, frontend_attributes={inlineable="false"}',
        "s = f32[4] all-reduce(k), replica_groups={}, to_apply=sum",
        "ROOT q = f32[4] call(s), to_apply=g",
        before="""sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

g {
  p = f32[4] parameter(0)
  ROOT r = f32[4] all-reduce(p), replica_groups={}, to_apply=sum
}

h {
  p = f32[4] parameter(0)
  ROOT n = f32[4] negate(p)
}

""",
    )
    printed = str(hlo.parse(text))
    assert str(hlo.parse(printed)) == printed


def test_what_an_async_start_wraps_keeps_its_opcode() -> None:
    """XLA prints `all-gather-start`, which it reads as another opcode."""
    text = entry(
        "p = f32[8] parameter(0)",
        "s = ((f32[8]), f32[8], u32[]) async-start(p), calls=g",
        "ROOT d = f32[8] async-done(s)",
        before="g {\n  p = f32[8] parameter(0)\n"
        "  ROOT a = f32[8] all-gather(p), dimensions={0}, replica_groups={{0},{1}}\n}\n\n",
    )
    printed = str(hlo.parse(text))
    assert "async-start(%p" in printed
    assert str(hlo.parse(printed)) == printed


def test_what_an_async_start_calls_keeps_operands_that_it_does_not_use() -> None:
    """XLA prints `custom-call-start(p, q)`, which it reads as a call of both."""
    text = entry(
        "p = f32[8] parameter(0)",
        "q = f32[8] parameter(1)",
        "s = ((f32[8], f32[8]), f32[8], u32[]) async-start(p, q), calls=g",
        "ROOT d = f32[8] async-done(s)",
        before="g {\n  p = f32[8] parameter(0)\n  q = f32[8] parameter(1)\n"
        '  ROOT c = f32[8] custom-call(p), custom_call_target="f"\n}\n\n',
    )
    printed = str(hlo.parse(text))
    assert "custom-call(%p)" in printed
    assert str(hlo.parse(printed)) == printed


def test_quotes_in_a_recovery_module_stay_escaped() -> None:
    """XLA prints them plain, and can't read that text."""
    inner = (
        'HloModule r, frontend_attributes={f=\\"b\\"}\n\nENTRY %e (p: f32[]) -> f32[] {\n'
        "  ROOT %p = f32[] parameter(0)\n}\n"
    )
    header = f'HloModule m, origin_recovery_table={{\n  {{"a"}} : {{"b"}},\n  "\n{inner}  "\n}}\n\n'
    printed = str(hlo.parse(header + entry("ROOT p = f32[] parameter(0)").partition("\n\n")[2]))
    assert 'f=\\"b\\"' in printed
    assert str(hlo.parse(printed)) == printed


@pytest.mark.parametrize(
    ("literal", "printed"), [("-0", "-0"), ("-0.0", "-0"), ("(nan, 1)", "(nan, 1)")]
)
def test_literals_keep_what_they_say(literal: str, printed: str) -> None:
    """XLA prints -0, which it reads as +0, and gives a complex NaN both parts."""
    shape = "c64[]" if "(" in literal else "f32[]"
    assert f"constant({printed})" in str(hlo.parse(entry(f"ROOT c = {shape} constant({literal})")))
