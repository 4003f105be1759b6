# message: peak gives a wrong result
def peak(blocks):
    """The last moment belongs to a span."""
    ends = [first for b in blocks for first, _ in b.spans]
    return max(
        (sum(b.size for b in blocks if any(f <= t < e for f, e in b.spans)) for t in ends),
        default=0,
    )
