"""Inline PTX for the processor: some instructions become calls of functions of `cuda_on_host.h`.

    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, ...}, ..." : "=r"(d[0]), ... : ...);

    cuda_on_host::mma<32, cuda_on_host::s32, ...>(cuda_on_host::registers(a[0], ...), ..., d[0]);

Beside `mma.sync` these are `ldmatrix`, `cp.async` with its groups, `cvt` between f32 and a type of
16 bits or a pair of these, `add`, `sub` and `mul` of such pairs, and `max.NaN` and `min.NaN` of f32
and of pairs, and `rcp.approx` of f32. Other instructions are left as they are: the C++ compiler
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
    from collections.abc import Callable, Iterator, Sequence

_ASM = re.compile(r"\b(?:asm|__asm__)(?:\s+(?:volatile|__volatile__))?\s*\(")
_STRING = re.compile(r'\s*"((?:[^"\\]|\\.)*)"')
_OPERAND = re.compile(r'\s*"[^"]*"\s*\((.*)\)\s*', re.DOTALL)
_MMA = re.compile(
    r"\s*mma\.sync\.aligned\.m16n8k(\d+)\.row\.col(?:\.kind::f8f6f4)?(\.satfinite)?"
    r"\.([a-z]\w+)\.([a-z]\w+)\.([a-z]\w+)\.([a-z]\w+)\s(.*)",
    re.DOTALL,
)
_LDMATRIX = re.compile(
    r"\s*ldmatrix\.sync\.aligned\.m8n8\.x[124](\.trans)?\.shared(?:::cta)?\.b16\s*"
    r"\{([^{}]*)\}\s*,\s*\[\s*%(\d+)\s*\]\s*;?\s*"
)
_COPY = re.compile(
    r"\s*cp\.async\.c[ag]\.shared(?:::cta)?\.global(?:\.L2::\d+B)?\s*\[\s*(%\d+)\s*\]\s*,"
    r"\s*\[\s*(%\d+)\s*\]\s*,\s*(%?\d+)(?:\s*,\s*(%?\d+))?\s*;?\s*"
)
_END = re.compile(r"\s*cp\.async\.commit_group\s*;?\s*")
_WAIT = re.compile(r"\s*cp\.async\.wait_(?:group\s+(%?\d+)|all)\s*;?\s*")
_CONVERT = re.compile(
    r"\s*cvt\.(?:rn\.(bf16|f16)\.f32|f32\.(bf16|f16))\s+(%\d+)\s*,\s*(%\d+)\s*;?\s*"
)
_THREE = r"\s+(%\d+)\s*,\s*(%\d+)\s*,\s*(%\d+)\s*;?\s*"
_CONVERT_PAIR = re.compile(rf"\s*cvt\.rn\.(bf16|f16)x2\.f32{_THREE}")
_PAIRS = re.compile(rf"\s*(add|sub|mul|max|min)\.(?:rn|NaN)\.(bf16|f16)x2{_THREE}")
_RECIPROCAL = re.compile(r"\s*rcp\.approx(\.ftz)?\.f32\s+(%\d+)\s*,\s*(%\d+)\s*;?\s*")
_EXTREME = re.compile(rf"\s*(max|min)\.NaN\.f32{_THREE}")


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
    operands = [_OPERAND.fullmatch(each) for field in fields[:3] for each in field if each.strip()]
    values = [operand[1] for operand in operands if operand]
    if len(values) < len(operands):
        return ""
    for pattern, write in _CALLS:
        if match := pattern.fullmatch(instruction):
            return f"cuda_on_host::{write(match, values)}"
    return ""


def _value(operand: str, values: Sequence[str]) -> str:
    """A number of the instruction itself, or the value of its operand `%3`."""
    return values[int(operand[1:])] if operand.startswith("%") else operand


def _mma(mma: re.Match[str], values: Sequence[str]) -> str:
    numbers = [re.findall(r"%(\d+)", each) for each in re.findall(r"\{([^{}]*)\}", mma[7])]
    d, a, b, c = (", ".join(values[int(number)] for number in each) for each in numbers)
    types = ", ".join(f"cuda_on_host::{kind}" for kind in mma.groups()[2:6])
    sources = ", ".join(f"cuda_on_host::registers({each})" for each in (a, b, c))
    saturates = "true" if mma[2] else "false"
    return f"mma<{mma[1]}, {types}>({sources}, {saturates}, __LINE__, {d})"


def _ldmatrix(match: re.Match[str], values: Sequence[str]) -> str:
    registers = (values[int(number)] for number in re.findall(r"%(\d+)", match[2]))
    arguments = ", ".join((values[int(match[3])], "__LINE__", *registers))
    return f"ldmatrix<{'true' if match[1] else 'false'}>({arguments})"


def _copy(match: re.Match[str], values: Sequence[str]) -> str:
    to, source, size = (_value(each, values) for each in match.groups()[:3])
    return f"copy_async({to}, {source}, {size}, {_value(match[4] or match[3], values)})"


def _wait(match: re.Match[str], values: Sequence[str]) -> str:
    return f"wait_for_copies({_value(match[1], values)})" if match[1] else "wait_for_all_copies()"


def _convert(match: re.Match[str], values: Sequence[str]) -> str:
    to, source = (_value(each, values) for each in match.groups()[2:])
    return f"{f'to_{match[1]}' if match[1] else f'from_{match[2]}'}({to}, {source})"


def _convert_pair(match: re.Match[str], values: Sequence[str]) -> str:
    to, high, low = (_value(each, values) for each in match.groups()[1:])
    return f"to_pair<cuda_on_host::{match[1]}>({to}, {high}, {low})"


def _pairs(match: re.Match[str], values: Sequence[str]) -> str:
    to, x, y = (_value(each, values) for each in match.groups()[2:])
    return f"{match[1]}_pairs<cuda_on_host::{match[2]}>({to}, {x}, {y})"


def _extreme(match: re.Match[str], values: Sequence[str]) -> str:
    to, x, y = (_value(each, values) for each in match.groups()[1:])
    return f"{match[1]}_or_nan({to}, {x}, {y})"


def _reciprocal(match: re.Match[str], values: Sequence[str]) -> str:
    to, x = (_value(each, values) for each in match.groups()[1:])
    return f"reciprocal({to}, {x}, {'true' if match[1] else 'false'})"


# The calls, by the instruction.
_CALLS: Sequence[tuple[re.Pattern[str], Callable[[re.Match[str], Sequence[str]], str]]] = (
    (_MMA, _mma),
    (_LDMATRIX, _ldmatrix),
    (_COPY, _copy),
    (_END, lambda _match, _values: "end_copies()"),
    (_WAIT, _wait),
    (_CONVERT, _convert),
    (_CONVERT_PAIR, _convert_pair),
    (_PAIRS, _pairs),
    (_EXTREME, _extreme),
    (_RECIPROCAL, _reciprocal),
)


def _closing(text: str, at: int) -> int:
    """The place of the parenthesis that closes the one before a place."""
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
