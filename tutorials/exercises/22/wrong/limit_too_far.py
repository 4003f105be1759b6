# message: slice_of_slice
from hlo.types.values import SliceDim
from optimizer.rewriting.pattern import p, q, slice_, x
from optimizer.rewriting.rule import rule


@rule(slice_(slice_(x, p), q))
def slice_of_slice(x, p, q, root):
    made = []
    for a, b in zip(p, q, strict=True):
        start, stride = a.start + b.start * a.stride, a.stride * b.stride
        made.append(SliceDim(start, a.start + b.limit * a.stride, stride))
    return slice_(x, tuple(made))
