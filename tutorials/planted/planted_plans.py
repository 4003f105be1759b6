"""Wrong ways to pack arrays into memory: each gives offsets and a size, as `heap.pack` does."""

from dataclasses import replace

from optimizer.memory.heap import aligned, pack


def all_at_zero(blocks):
    return [0] * len(blocks), max((b.size for b in blocks), default=0)


def last_moment_left_out(blocks):
    """Who ends when another one begins is thought to be gone."""
    shorter = [replace(b, spans=[(f, max(f, e - 1)) for f, e in b.spans]) for b in blocks]
    return pack(shorter)


def half_as_large(blocks):
    return pack([replace(b, size=b.size // 2) for b in blocks])[0], sum(b.size for b in blocks)


def neighbours_only(blocks):
    """Looks at the block before, and at no other."""
    offsets = []
    for n, block in enumerate(blocks):
        before = blocks[n - 1] if n else None
        free = before is None or not before.meets(block)
        offsets.append(0 if free else offsets[-1] + aligned(before.size))
    return offsets, max((o + b.size for o, b in zip(offsets, blocks, strict=True)), default=0)


def two_places(blocks):
    """Every second block gets the first place, whoever is still there."""
    largest = aligned(max((b.size for b in blocks), default=0))
    return [largest * (n % 2) for n in range(len(blocks))], 2 * largest


def first_span_only(blocks):
    """A value is thought to be needed for a moment only."""
    return pack([replace(b, spans=[(b.first, b.first)]) for b in blocks])


PLANS = {
    "all arrays at zero": all_at_zero,
    "the last moment left out": last_moment_left_out,
    "arrays half as large": half_as_large,
    "only neighbours are looked at": neighbours_only,
    "two places for all arrays": two_places,
    "needed for a moment only": first_span_only,
}
