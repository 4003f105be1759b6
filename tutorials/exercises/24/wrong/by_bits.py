# message: passes_through gives a wrong result
BITS = {"pred": 1, "s8": 8, "s16": 16, "s32": 32, "s64": 64, "u8": 8, "u16": 16, "u32": 32}
BITS |= {"u64": 64, "f16": 16, "bf16": 16, "f32": 32, "f64": 64}


def passes_through(source, middle, target):
    """An s32 has 32 bits, but an f32 does not hold all of them."""
    return BITS[middle] >= BITS[source]
