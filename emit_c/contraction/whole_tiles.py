"""Register tiles of bytes, or bf16, on processors that have registers for them: Intel's AMX.

A register holds 16 rows of 16 numbers, each of them a sum of 32 bits, four bytes or two bf16. One
instruction multiplies the bytes of two registers, 16 rows by 64 steps by 16 columns, and adds to
the sums of a third, 16 times as much as one of vectors of bytes does. Two registers of numbers and
two of the kernel are multiplied into four of sums. The kernel is packed as for vectors; bytes may
have any signs. Of bf16, products of even steps and of odd ones are added up apart for 32 steps, and
subnormal numbers are zeros, as where pairs are multiplied in vectors.

Linux lets a process use these registers if it asks; where it may not, or where the compiler does
not know them, loops take the same numbers.

References
----------
Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2: TDPBSSD, TDPBF16PS,
LDTILECFG.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# The signs of tiles of bf16.
PAIRS = "BF"
# Rows of a register, numbers in a row, and vectors that a tile may have: see above.
ROWS, NUMBERS, VECTORS = 16, 16, 2
# Processors have instructions for bytes and bf16, or none.
_KNOWN = (
    "(defined(__AMX_INT8__) && defined(__AMX_BF16__)) \\\n"
    "    || (defined(__AMXINT8__) && defined(__AMXBF16__))"
)
# The numbers of a call and its arguments in Linux: arch_prctl, ARCH_REQ_XCOMP_PERM, the tiles.
_ASKING = """
// Whether this process may use registers of whole tiles, for which it asks once.
extern long syscall(long number, ...);

static int hlo_may_use_tiles(void) {
  static int known;
  int answer = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (!answer) {
    answer = syscall(158, 0x1023, 18) ? -1 : 1;
    __atomic_store_n(&known, answer, __ATOMIC_RELAXED);
  }
  return answer > 0;
}
"""


def are_whole(signs: str) -> bool:
    """Whether the signs of a tile are those of one whose registers hold whole tiles."""
    return signs.isupper()


def kind_of_sums(signs: str) -> str:
    """The C type of sums, and of the numbers that hold elements."""
    return "f32" if signs == PAIRS else "s32"


def rows_of_whole(count: int) -> int:
    """Rows of a tile, so that `count` rows are cut into the fewest tiles of about equal sizes."""
    tiles = -(-count // (2 * ROWS))
    return -(-count // tiles)


def needed_by_whole(signs: Iterable[str]) -> str:
    """The C functions that such tiles call: one for all, and one for each kind of signs."""
    loops = "".join(f"\n{_loops(each)}" for each in signs)
    refusing = "static int hlo_may_use_tiles(void) { return 0; }\n"
    return f"#if {_KNOWN}{_ASKING}#else\n{refusing}#endif\n{loops}" if loops else ""


def _loops(signs: str) -> str:
    kind, (declared, product) = kind_of_sums(signs), _product(signs)
    return (
        "// The same by loops: rows of numbers times a packed kernel.\n"
        f"static void {_loops_name(signs)}(const {kind} *each, const {kind} *shared, {kind} *to,\n"
        "    const s64 *steps, s64 to_row, s64 rows, s64 width) {\n"
        f"{declared}"
        "  for (s64 i = 0; i < rows; i++) {\n"
        "    for (s64 j = 0; j < width; j++) {\n"
        f"      {kind} sum = 0;\n"
        f"{product}"
        "      to[i * to_row + j] = sum;\n"
        "    }\n"
        "  }\n"
        "}\n"
    )


def _product(signs: str) -> tuple[str, str]:
    """Declarations of elements, and the loop that sums up their products."""
    if signs == PAIRS:
        # A bf16 is the upper half of an f32.
        bits = "a << 16, b << 16, a & 0xffff0000u, b & 0xffff0000u"
        kinds, count = ("u32", "u32"), "steps[6]"
        body = (
            "        const u32 a = x[i * steps[4] + k], b = w[k * steps[8] + j];\n"
            f"        const union {{ u32 bits[4]; f32 f[4]; }} n = {{{{{bits}}}}};\n"
            "        sum += n.f[0] * n.f[1];\n"
            "        sum += n.f[2] * n.f[3];\n"
        )
    else:
        kinds, count = tuple(f"{sign}8" for sign in signs.lower()), "steps[6] * 4"
        body = "        sum += x[i * steps[4] * 4 + k] * w[(k / 4 * steps[8] + j) * 4 + k % 4];\n"
    numbers, vectors = (
        f"  const {kind} *{name} = (const {kind} *){given};\n"
        for kind, name, given in zip(kinds, "xw", ("each", "shared"), strict=True)
    )
    return numbers + vectors, f"      for (s64 k = 0; k < {count}; k++) {{\n{body}      }}\n"


def _loops_name(signs: str) -> str:
    return f"hlo_multiply_bytes_{signs.lower()}"


def whole_tile_body(signs: str, rows: int, vectors: int, storing: str) -> str:
    """The body of a C function that computes a tile, of at most 32 rows by 2 vectors.

    Parameters
    ----------
    signs : as of `emit_c.contraction.tiles.Tile`, in capitals.
    storing : the function that stores what is no whole tile.
    """
    kind = kind_of_sums(signs)
    halves, width = [min(rows, ROWS), rows - ROWS][: 1 + (rows > ROWS)], vectors * NUMBERS
    return (
        f"  _Alignas(64) {kind} sums[{rows * width}];\n"
        "  const s64 row = steps[4], shared_step = steps[8], output_row = steps[5];\n"
        f"  const int whole = count >= {width} && !adds, may = hlo_may_use_tiles();\n"
        f"  const s64 to_row = whole ? output_row : {width};\n"
        f"#if {_KNOWN}\n"
        f"  static const u8 shapes[64] = {{{_shapes(halves, vectors)}}};\n"
        '  if (may) __asm__ volatile("ldtilecfg %0" : : "m"(shapes));\n'
        "#endif\n"
        "  for (s64 tiles = steps[0]; tiles > 0; tiles--) {\n"
        f"    {kind} *to = whole ? output : sums;\n"
        "    if (!may) {\n"
        f"      {_loops_name(signs)}(each, shared, to, steps, to_row, {rows}, {width});\n"
        "    }\n"
        f"#if {_KNOWN}\n"
        f"    else {{\n{_by_registers(signs, len(halves), vectors)}    }}\n"
        "#endif\n"
        f"    if (!whole) {storing}(sums, {rows}, output, output_row, count, adds);\n"
        "    each += steps[1], shared += steps[2], output += steps[3];\n"
        "  }\n"
        f"#if {_KNOWN}\n"
        '  if (may) __asm__ volatile("tilerelease");\n'
        "#endif\n"
    )


def _shapes(halves: Sequence[int], vectors: int) -> str:
    """The bytes that say how many rows each register has: all those rows are of 64 bytes."""
    rows = {_sum(half, v): n for half, n in enumerate(halves) for v in range(vectors)}
    rows |= {_number(half): n for half, n in enumerate(halves)}
    rows |= {_shared(v): NUMBERS for v in range(vectors)}
    widths = ", ".join(f"[{16 + 2 * register}] = 64" for register in sorted(rows))
    return f"1, {widths}, " + ", ".join(f"[{48 + r}] = {n}" for r, n in sorted(rows.items()))


def _sum(half: int, vector: int) -> int:
    return 2 * half + vector


def _number(half: int) -> int:
    return 4 + half


def _shared(vector: int) -> int:
    return 6 + vector


def _by_registers(signs: str, halves: int, vectors: int) -> str:
    """The statements that multiply by registers of whole tiles, and store them."""
    each = [(half, v) for half in range(halves) for v in range(vectors)]
    zeros = " ".join(f"tilezero %tmm{_sum(*one)};" for one in each)
    multiply = "tdpbf16ps" if signs == PAIRS else f"tdpb{signs.lower()}d"
    loads = [f"tileloadd {64 * v}(%1,%3), %%tmm{_shared(v)};" for v in range(vectors)]
    steps: list[str] = []
    for half, v in each:
        steps += [loads[v]] if half == 0 else []
        steps += [f"tileloadd (%{(0, 4)[half]},%2), %%tmm{_number(half)};"] if v == 0 else []
        steps += [f"{multiply} %%tmm{_shared(v)}, %%tmm{_number(half)}, %%tmm{_sum(half, v)};"]
    stores = " ".join(
        f"tilestored %%tmm{_sum(half, v)}, {64 * v}(%{(0, 2)[half]},%1);" for half, v in each
    )
    lines = [
        f'__asm__ volatile("{zeros}");',
        f"const {kind_of_sums(signs)} *x = each, *w = shared;",
        f"for (s64 k = steps[6] / {NUMBERS}; k > 0; k--) {{",
        "  __asm__ volatile(",
        *(f'    "{step}"' for step in steps),
        f'    : : "r"(x), "r"(w), "r"(row * 4), "r"(shared_step * 4), "r"(x + row * {ROWS})',
        '    : "memory");',
        f"  x += {NUMBERS}, w += shared_step * {NUMBERS};",
        "}",
        f'__asm__ volatile("{stores}"',
        f'  : : "r"(to), "r"(to_row * 4), "r"(to + to_row * {ROWS}) : "memory");',
    ]
    return "".join(f"      {line}\n" for line in lines)
