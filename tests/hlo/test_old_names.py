"""Texts of XLA from 2017 to 2022: each word that XLA has removed is refused with today's word."""

import pytest

import hlo
from hlo.opcode import OPCODES
from hlo.read import old_names

MODULE = """HloModule m

less {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LT
}}

ENTRY e {{
  a = f32[4] parameter(0)
  ROOT c = f32[4] {}
}}
"""


def refused(line: str) -> hlo.HloError:
    with pytest.raises(hlo.HloError) as caught:
        hlo.parse(MODULE.format(line))
    return caught.value


def test_no_word_of_today_is_in_the_table() -> None:
    assert not old_names.OPCODES.keys() & OPCODES.keys()
    assert {opcode for opcode, _ in old_names.ATTRIBUTES} - {"", "HloModule"} <= OPCODES.keys()


@pytest.mark.parametrize("opcode", old_names.OPCODES)
def test_an_opcode_that_is_gone_has_a_hint(opcode: str) -> None:
    error = refused(f"{opcode}(a)")
    assert (error.code, error.message) == ("HLO007", f"there is no opcode `{opcode}`")
    assert [note[:19] for note in error.notes] == ["XLA has removed it;"]


@pytest.mark.parametrize(("opcode", "key"), old_names.ATTRIBUTES)
def test_an_attribute_that_is_gone_has_a_hint(opcode: str, key: str) -> None:
    if opcode == "HloModule":
        with pytest.raises(hlo.HloError) as caught:
            hlo.parse(f"HloModule m, {key}={{}}\nENTRY e {{ ROOT x = f32[] parameter(0) }}")
        error = caught.value
    else:
        error = refused(f"{opcode or 'negate'}(a), {key}={{1}}")
    assert error.code == "HLO005"
    assert [note[:19] for note in error.notes] == ["XLA has removed it;"]


SAID = {
    "less-than(a, a)": "XLA has removed it; today it is `compare(a, b), direction=LT`",
    "tuple-select(a, a, a)":
        "XLA has removed it; today it is a select of each element, and a tuple of these",
    "trace(a)": "XLA has removed it; `hlo run --trace` shows values",
    "gather(a, a), output_window_dims={0}": "XLA has removed it; today it is `offset_dims`",
    "all-reduce(a), barrier=\"\"": "XLA has removed it; it can be left out",
    "sort(a), dimensions={0}":
        "sorts of 2018 rose by the first operand: to_apply=less, compare(a, b), direction=LT",
    "constant(f32[4] {1, 2, 3, 4})":
        "XLA has removed the shape in front of the numbers: it is that of the constant",
}  # fmt: skip


@pytest.mark.parametrize("line", SAID)
def test_the_hint_is_a_sentence(line: str) -> None:
    assert refused(line).notes == (SAID[line],)


def test_what_xla_still_reads_is_read() -> None:
    """A colon after the module's name, and all starts of a slice in one array."""
    module = hlo.parse("""HloModule m:

    ENTRY %e (x: f32[4,4], i: s32[2]) -> f32[1,4] {
      %x = f32[4,4]{1,0} parameter(0)
      %i = s32[2]{0} parameter(1)
      ROOT %d = f32[1,4]{1,0} dynamic-slice(%x, %i), dynamic_slice_sizes={1,4}
    }""")
    hlo.verify(module)
    assert module.name == "m"
