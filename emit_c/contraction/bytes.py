"""Sums of products of bytes, four in every lane, by the processor's own instructions; or of bf16.

Of bf16 there are two in every lane. They are added one after the other, as f32, and subnormal
numbers are zeros.
"""

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


def add_pairs_name(lanes: int) -> str:
    """The C macro for vectors of so many sums of pairs of bf16."""
    return f"hlo_add_pairs_{lanes}"


def add_pairs(lanes: int) -> str:
    """The C macro that adds two products of bf16 to the f32 in each lane.

    Where the compiler knows of no instruction for that, they are multiplied one by one.

    References
    ----------
    Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2: VDPBF16PS.
    """
    name, sums, words = add_pairs_name(lanes), f"hlo_sums_{lanes}", f"hlo_words_{lanes}"
    given = "(sum), (hlo_pairs)(x), (hlo_pairs)(y))"
    return (
        "// To the f32 in each lane, two bf16 of x times two of y.\n"
        f"typedef f32 {sums} __attribute__((vector_size({4 * lanes})));\n"
        f"typedef s32 {words} __attribute__((vector_size({4 * lanes})));\n"
        f"#if defined(__AVX512BF16__) && {lanes} == 16\n"
        "// Its operands have another type in each compiler.\n"
        "#if defined(__clang__) && __clang_major__ < 16\n"
        "typedef s32 hlo_pairs __attribute__((vector_size(64)));\n"
        "#elif !defined(__clang__) && __GNUC__ < 13\n"
        "typedef s16 hlo_pairs __attribute__((vector_size(64)));\n"
        "#else\n"
        "typedef __bf16 hlo_pairs __attribute__((vector_size(64)));\n"
        "#endif\n"
        "#ifdef __clang__\n"
        f"#define {name}(sum, x, y) __builtin_ia32_dpbf16ps_512({given}\n"
        "#else\n"
        f"#define {name}(sum, x, y) __builtin_ia32_dpbf16ps_v16sf({given}\n"
        "#endif\n"
        "#else\n"
        f"#define {name}(sum, x, y) ((sum) \\\n"
        f"  + ({sums})(({words})(x) & ~0xffff) * ({sums})(({words})(y) & ~0xffff) \\\n"
        f"  + ({sums})(({words})(x) << 16) * ({sums})(({words})(y) << 16))\n"
        "#endif\n"
    )
