"""Any text gives a module or an HloError with a position: no other exception, hang, huge array."""

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies.edits import TEXTS, garbled

import hlo


def check(text: str) -> None:
    """Read a text and print what it means, or see that the error points into it."""
    try:
        module = hlo.parse(text)
    except hlo.HloError as caught:
        error = caught
    else:
        assert str(module)
        assert module.to_string(print_large_constants=False)
        return
    assert error.span is not None
    assert 0 <= error.span.start <= len(text)
    assert str(error)


@settings(max_examples=400, derandomize=True)
@given(garbled(TEXTS, 4))
def test_garbled_texts(text: str) -> None:
    check(text)


@settings(max_examples=200, derandomize=True)
@given(st.text(st.sampled_from("abfst01234 %{}()[],=\"'<>:#*/.-_\n"), max_size=60))
def test_noise(text: str) -> None:
    check(text)
    check(f"ENTRY e {{ a = f32[2] parameter(0){text} }}")
    check(f"ENTRY e {{ a = {text} parameter(0) }}")


def entry(*lines: str) -> str:
    return "ENTRY e {\n" + "\n".join(lines) + "\n}\n"


P = "p = f32[8] parameter(0)"
DIGITS = "9" * 5_000
DEEP = 30_000
# Longer than Python's stack is deep.
CHAIN = "g0 { p0 = f32[] parameter(0) }\n" + "".join(
    f"g{i} {{ p{i} = f32[] parameter(0) r{i} = f32[] call(p{i}), to_apply=g{i - 1} }}\n"
    for i in range(1, 1_200)
)
HOSTILE = {
    "nested operands": entry(P, "r = f32[8] " + "negate(" * DEEP + "p" + ")" * DEEP),
    "nested tuple shapes": entry("p = " + "(" * DEEP + "f32[]" + ")" * DEEP + " parameter(0)"),
    "nested literal": entry("p = f32[] constant(" + "{" * DEEP + "1" + "}" * DEEP + ")"),
    "nested JSON": entry(P + ", backend_config=" + '{"a":' * DEEP + "1" + "}" * DEEP),
    "nested frontend attributes": entry(P + ", frontend_attributes=" + "{a=" * DEEP + "}" * DEEP),
    "nested inline computations": entry(P, "r = f32[8] call(p), to_apply=" + "{a = " * DEEP),
    "brackets as deep as may be": entry("p = " + "(" * 99 + "f32[]" + ")" * 99 + " parameter(0)"),
    "operands as deep as may be": entry(P, "r = f32[8] " + "negate(" * 99 + "p" + ")" * 99),
    "only brackets": "(" * DEEP,
    "only comments": "/*" * DEEP,
    "many roots": entry(*["ROOT a = f32[] parameter(0)"] * 1_000),
    "long chain of calls": CHAIN,
    "long chain on a thread": CHAIN + "ENTRY e { x = f32[] parameter(0) "
    'r = ((f32[]), f32[]) async-start(x), async_execution_thread="t", calls=g1199 }',
    "huge elided literal": entry("p = f32[100000000000] constant({...})"),
    "huger elided literal": entry("p = f32[100000000000,100000000000] constant({...})"),
    "huge literal without numbers": entry("p = f32[100000000000] constant({})"),
    "huge literal with one number": entry("p = f32[1000000000] constant(1)"),
    "huge empty literal": entry("p = f32[0,1000000000] constant({})"),
    "huge literal of empty rows": entry("p = f32[1000000000,0] constant({})"),
    "literal of many dimensions": entry(f"p = f32[{','.join('1' * 70)}] constant({{...}})"),
    "huge shape": entry("p = f32[9223372036854775807,9223372036854775807] parameter(0)"),
    "huge iota of devices": entry(P + ", sharding={devices=[1000000000,1000]<=[1000000000000]}"),
    "huge transposed devices": entry(
        P + ", sharding={devices=[2,3,1000000]<=[1000,6000]T(1,0) "
        "last_tile_dims={replicated, manual}}"
    ),
    "huge replica groups": entry(
        P,
        "r = f32[8] all-to-all(p), dimensions={0}, "
        "replica_groups=[1000000,1000000]<=[1000000000000]",
    ),
    "huge mesh": entry(P + ', sharding={mesh["a"=1000000,"b"=1000000], [{"a"}]}'),
    "huge padding": entry(
        P, "z = f32[] constant(0)", f"r = pad(p, z), padding={2**63 - 1}_{2**63 - 1}"
    ),
    "digits in a parameter": entry(f"p = f32[] parameter({DIGITS})"),
    "digits in a shape": entry(f"p = f32[{DIGITS}] parameter(0)"),
    "digits in a layout": entry(f"p = f32[2]{{{DIGITS}}} parameter(0)"),
    "digits in an integer": entry(f"p = s32[] constant({DIGITS})"),
    "digits in a float": entry(f"p = f32[] constant({DIGITS})"),
    "digits in a NaN": entry(f"p = f32[] constant(nan(0x{DIGITS}))"),
    "digits in a name": entry(f"a.{DIGITS} = f32[] parameter(0)"),
    "digits in a window": entry(P, f"r = f32[8] reduce-window(p, p), window={{size={DIGITS}}}"),
    "digits in metadata": entry(P + f", metadata={{stack_frame_id={DIGITS}}}"),
    "digits in an element": entry("p = (f32[]) parameter(0)", f"r = f32[] negate(p#{DIGITS})"),
    "digits in a table": f'HloModule m\nFileNames\n{DIGITS} "a"\n' + entry(P),
    "digits in the header": f"HloModule m, replica_count={DIGITS}\n" + entry(P),
    "frames that call each other": 'HloModule m\nFileNames\n1 "a"\nFunctionNames\n1 "f"\n'
    "FileLocations\n1 {file_name_id=1 function_name_id=1 line=1}\nStackFrames\n"
    "1 {file_location_id=1 parent_frame_id=3}\n2 {file_location_id=1 parent_frame_id=2}\n"
    + entry(P + ", metadata={stack_frame_id=1}"),
    "half a character": entry(P + ', metadata={op_name="\ud800"}'),
    "bytes that are no UTF-8": entry(P + ', metadata={op_name="\udc80\\200"}'),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text(text: str) -> None:
    tracemalloc.start()
    try:
        check(text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000 + 200 * len(text)
