"""Sums of products of bytes, four in every lane, by the processor's own instructions."""

from __future__ import annotations

# By lanes: when there is an instruction, and its name for gcc and for clang.
_INSTRUCTIONS = {
    16: ("defined(__AVX512VNNI__)", "vpdpbusd_v16si", "vpdpbusd512"),
    8: (
        "defined(__AVXVNNI__) || (defined(__AVX512VNNI__) && defined(__AVX512VL__))",
        "vpdpbusd_v8si",
        "vpdpbusd256",
    ),
}


def add_bytes_name(lanes: int) -> str:
    """The C macro for vectors of so many sums."""
    return f"hlo_add_bytes_{lanes}"


def add_bytes(lanes: int) -> str:
    """The C macro that adds products of unsigned and signed bytes to sums.

    Where the compiler knows of no instruction for that, they are multiplied one by one. Sums wrap
    around.

    References
    ----------
    Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2: VPDPBUSD.
    """
    name, quads, products = add_bytes_name(lanes), f"hlo_quads_{lanes}", f"hlo_products_{lanes}"
    condition, of_gcc, of_clang = _INSTRUCTIONS[lanes]
    given = f"\\\n  ({quads})(sum), ({quads})(x), ({quads})(y))"
    added = " + ".join(f"{products}(x, y, {8 * k})" for k in range(4))
    return (
        "// To the sum in each lane, four unsigned bytes of x times four signed ones of y.\n"
        f"typedef s32 {quads} __attribute__((vector_size({4 * lanes})));\n"
        f"#if ({condition}) && defined(__clang__)\n"
        f"#define {name}(sum, x, y) ({quads})__builtin_ia32_{of_clang}({given}\n"
        f"#elif {condition}\n"
        f"#define {name}(sum, x, y) ({quads})__builtin_ia32_{of_gcc}({given}\n"
        "#else\n"
        f"#define {products}(x, y, k) \\\n"
        f"  (({quads})(x) >> k & 255) * (({quads})(y) << (24 - k) >> 24)\n"
        f"#define {name}(sum, x, y) (({quads})(sum) \\\n  + {added})\n"
        "#endif\n"
    )
