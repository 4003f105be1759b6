# message: slice_of_slice: the value changes
from hlo.types.values import SliceDim
from optimizer.rewriting.pattern import p, q, slice_, x
from optimizer.rewriting.rule import rule


@rule(slice_(slice_(x, p), q))
def slice_of_slice(x, p, q, root):
    pairs = zip(p, q, strict=True)
    return slice_(
        x, tuple(SliceDim(a.start + b.start, a.start + b.limit, b.stride) for a, b in pairs)
    )
