# message: leaves 2 slice instructions where 1 would do
from hlo.types.values import SliceDim
from optimizer.rewriting.pattern import p, q, slice_, x
from optimizer.rewriting.rule import rule


@rule(slice_(slice_(x, p), q))
def slice_of_slice(x, p, q, root):
    if any(d.stride != 1 for d in (*p, *q)):
        return None
    pairs = zip(p, q, strict=True)
    return slice_(x, tuple(SliceDim(a.start + b.start, a.start + b.limit) for a, b in pairs))
