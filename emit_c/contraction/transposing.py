"""Transposes of blocks that are packed, as C functions that all modules share.

A square of numbers that fits into registers is transposed by perfect shuffles. Number j of vector i
lies at index i * n + j; to interleave the first half of the vectors with the second one rotates the
bits of that index by one, and after as many times as j has bits, i and j are exchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS
from hlo.types.element_type import ELEMENT_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable

# Bits of numbers, and how many of them a vector has.
LANES = {32: 16, 64: 8}
AHEAD = 4
"""Measured: cache lines ahead that are asked for in each column, as a processor follows few of so
many on its own. Without it, or 2 or 8 lines ahead, products of 16 rows of bf16 with weights of
768 x 3072 from memory take 1.37, 1.10 and 1.17 times as long, of 128 rows 1.13, 1.01 and 1.03."""


_BITS = {FUNCTIONS["hlo_transpose", ELEMENT_TYPES[f"u{bits}"]].name: bits for bits in LANES}


def is_transpose(name: str) -> bool:
    """Whether a function is one of these."""
    return name in _BITS


def transpose_head(name: str) -> str:
    """The declaration of a function, without the semicolon or body after it.

    It writes number `from[c * from_column + r]` to `to[r * to_row + c]`.
    """
    kind = f"u{_BITS[name]}"
    return (
        f"void {name}({kind} *restrict to, const {kind} *restrict from,\n"
        "    s64 rows, s64 columns, s64 to_row, s64 from_column)"
    )


def transpose_text(name: str, storage: str = "static ") -> str:
    """The C function: squares in registers, and the remaining elements one by one."""
    kind, count = f"u{_BITS[name]}", LANES[_BITS[name]]
    attributes = f"vector_size(64), aligned({64 // count})"
    loaded = [f"v0_{k} = *(const lanes *)(at + {k} * from_column)" for k in range(count)]
    ahead = [f"__builtin_prefetch(at + {k} * from_column + {AHEAD * count});" for k in range(count)]
    stored = [f"*(lanes *)(there + {k} * to_row) = v{_stages(count)}_{k};" for k in range(count)]
    return (
        f"// Rows from columns, in squares of {count} numbers a side.\n"
        f"{storage}{transpose_head(name)} {{\n"
        f"  typedef {kind} lanes __attribute__(({attributes}));\n"
        "  s64 whole = 0;\n"
        "#if defined(__clang__) || __GNUC__ >= 12\n"
        f"  whole = rows - rows % {count};\n"
        f"  for (s64 r = 0; r < whole; r += {count}) {{\n"
        "    s64 c = 0;\n"
        f"    for (; c + {count} <= columns; c += {count}) {{\n"
        f"      const {kind} *at = from + c * from_column + r;\n"
        f"      {kind} *there = to + r * to_row + c;\n"
        f"{_lines(ahead)}{_lines(f'const lanes {one};' for one in loaded)}"
        f"{_lines(_shuffles(count))}{_lines(stored)}"
        "    }\n"
        "    for (; c < columns; c++) {\n"
        f"      for (s64 k = r; k < r + {count}; k++) {{\n"
        "        to[k * to_row + c] = from[c * from_column + k];\n"
        "      }\n"
        "    }\n"
        "  }\n"
        "#endif\n"
        "  for (s64 r = whole; r < rows; r++) {\n"
        f"    const {kind} *at = from + r;\n"
        f"    {kind} *there = to + r * to_row;\n"
        "    for (s64 left = columns; left > 0; left--, at += from_column) *there++ = *at;\n"
        "  }\n"
        "}\n"
    )


def _stages(count: int) -> int:
    return count.bit_length() - 1


def _lines(statements: Iterable[str]) -> str:
    return "".join(f"      {line}\n" for line in statements)


def _shuffles(count: int) -> list[str]:
    """The vectors of each stage from those of the one before."""
    half, lines = count // 2, list[str]()
    for stage in range(_stages(count)):
        for k in range(half):
            pair = f"v{stage}_{k}, v{stage}_{k + half}"
            for part in range(2):
                chosen = (f"{j}, {j + count}" for j in range(part * half, (part + 1) * half))
                shuffle = f"__builtin_shufflevector({pair}, {', '.join(chosen)})"
                lines.append(f"const lanes v{stage + 1}_{2 * k + part} = {shuffle};")
    return lines
