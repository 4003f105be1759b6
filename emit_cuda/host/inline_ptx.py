"""Inline PTX for the processor: some instructions become calls of functions of `cuda/`.

    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, ...}, ..." : "=r"(d[0]), ... : ...);

    cuda_on_host::mma<32, cuda_on_host::s32, ...>(cuda_on_host::registers(a[0], ...), ..., d[0]);

Beside `mma.sync` these are `ldmatrix`; `cp.async` with its groups; `cvt` between f32 and a type of
16 bits, or a pair of these; `add`, `sub` and `mul` of such pairs; `max.NaN` and `min.NaN` of f32
and of pairs; and `rcp.approx` of f32. Other instructions are left as they are: the C++ compiler
refuses them.

References
----------
NVIDIA, *PTX ISA*, Warp Level Matrix Multiply-Accumulate Instructions; `ldmatrix`; `cp.async`;
`cvt`; `max`; Half Precision Floating Point Instructions.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_ASM = re.compile(r"\b(?:asm|__asm__)(?:\s+(?:volatile|__volatile__))?\s*\(")
_STRING = re.compile(r'\s*"((?:[^"\\]|\\.)*)"')
_OPERAND = re.compile(r'\s*"[^"]*"\s*\((.*)\)\s*', re.DOTALL)
_BLANK = r"(?:\s|\\[nt])"
_BLANKS = re.compile(rf"{_BLANK}*([,{{}}\[\]]){_BLANK}*|{_BLANK}+")
_VALUE = re.compile(r"%(\d+)")
# Of instructions without needless blanks: registers in braces, one register, two or three of them,
# and a register or a number.
_LIST, _ONE, _ANY = r"\{([^{}]*)\}", r"(%\d+)", r"(%?\d+)"
_TWO, _THREE = f" {_ONE},{_ONE}", f" {_ONE},{_ONE},{_ONE}"
_TYPE = r"\.([a-z]\w+)"
_COPY = rf"cp\.async\.c[ag]\.shared(?:::cta)?\.global(?:\.L2::\d+B)?\[{_ONE}\],\[{_ONE}\],{_ANY}"
_MMA = (
    r"mma\.sync\.aligned\.m16n8k(\d+)\.row\.col(?:\.kind::f8f6f4)?(\.satfinite)?"
    + _TYPE * 4
    + ",".join([_LIST] * 4)
)
_CALL_OF_MMA = (
    r"mma<\1, cuda_on_host::\3, cuda_on_host::\4, cuda_on_host::\5, cuda_on_host::\6>("
    r"cuda_on_host::registers(\8), cuda_on_host::registers(\9), cuda_on_host::registers(\10), "
    r'sizeof "\2" > 1, __LINE__, \7)'
)
_LDMATRIX = (
    r"ldmatrix\.sync\.aligned\.m8n8\.x[124](\.trans)?\.shared(?:::cta)?\.b16"
    rf"{_LIST},\[{_ONE}\]"
)
_PAIRS = rf"(add|sub|mul|max|min)\.(?:rn|NaN)\.(bf16|f16)x2{_THREE}"
# Instructions, and the call for each; a suffix that may be missing is a truth value by its length.
_CALLS = [
    (re.compile(instruction), call)
    for instruction, call in (
        (_MMA, _CALL_OF_MMA),
        (_LDMATRIX, r'ldmatrix<(sizeof "\1" > 1)>(\3, __LINE__, \2)'),
        (_COPY, r"copy_async(\1, \2, \3, \3)"),
        (f"{_COPY},{_ANY}", r"copy_async(\1, \2, \3, \4)"),
        (r"cp\.async\.commit_group", "end_copies()"),
        (rf"cp\.async\.wait_group {_ANY}", r"wait_for_copies(\1)"),
        (r"cp\.async\.wait_all", "wait_for_all_copies()"),
        (rf"cvt\.rn\.(bf16|f16)\.f32{_TWO}", r"to_\1(\2, \3)"),
        (rf"cvt\.f32\.(bf16|f16){_TWO}", r"from_\1(\2, \3)"),
        (rf"cvt\.rn\.(bf16|f16)x2\.f32{_THREE}", r"to_pair<cuda_on_host::\1>(\2, \3, \4)"),
        (_PAIRS, r"\1_pairs<cuda_on_host::\2>(\3, \4, \5)"),
        (rf"(max|min)\.NaN\.f32{_THREE}", r"\1_or_nan(\2, \3, \4)"),
        (rf"rcp\.approx(\.ftz)?\.f32{_TWO}", r'reciprocal(\2, \3, sizeof "\1" > 1)'),
    )
]


def with_calls(text: str) -> str:
    """The file with calls in the place of these instructions, each in as many lines."""
    pieces, end = list[str](), 0
    for match in _ASM.finditer(text):
        stop = _closing(text, match.end())
        call = _call(text[match.end() : stop])
        if call and match.start() >= end:
            lines = text.count("\n", match.start(), stop)
            pieces += [text[end : match.start()], call, "\n" * lines]
            end = stop + 1
    return "".join([*pieces, text[end:]])


def _call(inside: str) -> str:
    """The call for the text between an `asm`'s parentheses; empty for another instruction."""
    instruction, at = "", 0
    while string := _STRING.match(inside, at):
        instruction, at = instruction + string[1], string.end()
    fields = [list(_split(field, ",")) for field in _split(inside[at:], ":")]
    # The fourth field tells what else the instruction changes.
    operands = [_OPERAND.fullmatch(word) for field in fields[:3] for word in field if word.strip()]
    values = [word[1] for word in operands if word]
    if len(values) < len(operands):
        return ""
    instruction = _BLANKS.sub(lambda blanks: blanks[1] or " ", instruction).strip(" ;")
    for pattern, call in _CALLS:
        if match := pattern.fullmatch(instruction):
            return "cuda_on_host::" + _VALUE.sub(lambda n: values[int(n[1])], match.expand(call))
    return ""


def _closing(text: str, at: int) -> int:
    """The position of the parenthesis that closes the one before a position."""
    depth = 1
    for part in re.compile(r'"(?:[^"\\]|\\.)*"|[()]').finditer(text, at):
        depth += {"(": 1, ")": -1}.get(part[0], 0)
        if not depth:
            return part.start()
    return len(text)


def _split(text: str, mark: str) -> Iterator[str]:
    """The parts between marks that are in no brackets and no string."""
    depth, start = 0, 0
    for part in re.finditer(rf'"(?:[^"\\]|\\.)*"|[()\[\]{mark}]', text):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(part[0], 0)
        if part[0] == mark and not depth:
            yield text[start : part.start()]
            start = part.end()
    yield text[start:]
