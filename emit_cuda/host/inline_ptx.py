"""Inline PTX for the processor: `mma.sync` becomes a call of its emulation in `cuda_on_host.h`.

    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, ...}, ..." : "=r"(d[0]), ... : ...);

    cuda_on_host::mma<32, cuda_on_host::s32, ...>(cuda_on_host::registers(a[0], ...), ..., d[0]);

Other instructions are left as they are: the C++ compiler refuses them.

References
----------
NVIDIA, *PTX ISA*, Warp Level Matrix Multiply-Accumulate Instructions.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_ASM = re.compile(r"\b(?:asm|__asm__)(?:\s+(?:volatile|__volatile__))?\s*\(")
_STRING = re.compile(r'\s*"((?:[^"\\]|\\.)*)"')
_OPERAND = re.compile(r'\s*"[^"]*"\s*\((.*)\)\s*', re.DOTALL)
_MMA = re.compile(
    r"\s*mma\.sync\.aligned\.m16n8k(\d+)\.row\.col(?:\.kind::f8f6f4)?(\.satfinite)?"
    r"\.([a-z]\w+)\.([a-z]\w+)\.([a-z]\w+)\.([a-z]\w+)\s(.*)",
    re.DOTALL,
)


def with_calls(text: str) -> str:
    """The file with calls in the place of `mma.sync`, each in as many lines."""
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
    mma = _MMA.match(instruction)
    fields = [list(_split(field, ",")) for field in _split(inside[at:], ":")]
    operands = [_OPERAND.fullmatch(each) for field in fields for each in field if each.strip()]
    if not mma or not all(operands):
        return ""
    values = [operand[1] for operand in operands if operand]
    numbers = [re.findall(r"%(\d+)", each) for each in re.findall(r"\{([^{}]*)\}", mma[7])]
    d, a, b, c = (", ".join(values[int(number)] for number in each) for each in numbers)
    types = ", ".join(f"cuda_on_host::{kind}" for kind in mma.groups()[2:6])
    sources = ", ".join(f"cuda_on_host::registers({each})" for each in (a, b, c))
    saturates = "true" if mma[2] else "false"
    return f"cuda_on_host::mma<{mma[1]}, {types}>({sources}, {saturates}, __LINE__, {d})"


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
