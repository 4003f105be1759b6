"""Wrong C of opcodes: (name, opcode, what takes the place of the project's own)."""

from codegen.elements.table import Element, Scalar
from codegen.expressions import Choose, Literal, binary
from codegen.opcodes.movement import chosen
from emit_c.table import emits_c
from optimizer.analysis.indexing import Within


def reverse_off_by_one(body, instr, index):
    dims = instr.shape.dims
    turned = (
        i * -1 + max(dims[d] - 2, 0) if d in instr.attrs.dimensions else i
        for d, i in enumerate(index)
    )
    return body.element(instr.operands[0], tuple(turned))


def reverse_of_all(body, instr, index):
    dims = instr.shape.dims
    return body.element(
        instr.operands[0], tuple(i * -1 + (dims[d] - 1) for d, i in enumerate(index))
    )


def transpose_of_squares(body, instr, index):
    operand = instr.operands[0]
    if operand.shape.dims == instr.shape.dims:
        return body.element(operand, index)
    return ORIGINAL["transpose"].write(body, instr, index)


def slice_without_stride(body, instr, index):
    pairs = zip(index, instr.attrs.slice, strict=True)
    return body.element(instr.operands[0], tuple(i + s.start for i, s in pairs))


def slice_from_zero(body, instr, index):
    pairs = zip(index, instr.attrs.slice, strict=True)
    return body.element(instr.operands[0], tuple(i * s.stride for i, s in pairs))


def pad_on_the_other_side(body, instr, index):
    operand, padding = instr.operands
    spans = zip(index, operand.shape.dims, instr.attrs.padding, strict=True)
    inside = [
        Within(i + -p.high, 0, (n - 1) * (p.interior + 1) + 1, p.interior + 1) for i, n, p in spans
    ]
    pairs = zip(index, instr.attrs.padding, strict=True)
    source = tuple((i + -p.high) // (p.interior + 1) for i, p in pairs)
    return chosen(body, instr, [(body.holds(inside), operand, source), (None, padding, ())])


def concatenate_not_shifted(body, instr, index):
    d, start, cases = instr.attrs.dimensions[0], 0, []
    for operand in instr.operands:
        end = start + operand.shape.dims[d]
        here = (*index[:d], index[d] % max(operand.shape.dims[d], 1), *index[d + 1 :])
        cases.append((body.holds([Within(index[d], start, end)]), operand, here))
        start = end
    return chosen(body, instr, cases[::-1])


def broadcast_first_element(body, instr, index):
    return body.element(instr.operands[0], tuple(index[d] * 0 for d in instr.attrs.dimensions))


def sign_of_integers(instr, x):
    return binary(">", x, 0) - binary("<", x, 0)


def abs_by_comparison(instr, x):
    return Choose(binary("<", x, 0), -x, x)


def maximum_without_nan(instr, x, y):
    return Choose(binary(">", x, y), x, y)


def minimum_without_nan(instr, x, y):
    return Choose(binary("<", x, y), x, y)


def clamp_without_low(instr, low, x, high):
    return Choose(binary("<", x, high), x, high)


def select_swapped(instr, condition, on_true, on_false):
    return Choose(condition, on_false, on_true)


def negate_as_difference(instr, x):
    return Literal(0) - x


def floor_as_truncation(instr, x):
    return ORIGINAL["ceil"].write(instr, x)


def subtract_swapped(instr, x, y):
    return y - x


def is_finite_of_nan(instr, x):
    return binary("==", x, x)


ORIGINAL = {opcode: emits_c[opcode] for opcode in ("ceil", "transpose")}
KERNELS = [
    ("reverse off by one, in C", "reverse", Element(reverse_off_by_one)),
    ("reverse of all dimensions, in C", "reverse", Element(reverse_of_all)),
    ("transpose of squares left out, in C", "transpose", Element(transpose_of_squares)),
    ("slice without its stride, in C", "slice", Element(slice_without_stride)),
    ("slice from zero, in C", "slice", Element(slice_from_zero)),
    ("pad on the other side, in C", "pad", Element(pad_on_the_other_side)),
    ("concatenate not shifted, in C", "concatenate", Element(concatenate_not_shifted)),
    ("broadcast of the first element, in C", "broadcast", Element(broadcast_first_element)),
    ("sign of integers for floats, in C", "sign", Scalar(sign_of_integers)),
    ("abs by a comparison, in C", "abs", Scalar(abs_by_comparison)),
    ("maximum without NaN, in C", "maximum", Scalar(maximum_without_nan)),
    ("minimum without NaN, in C", "minimum", Scalar(minimum_without_nan)),
    ("clamp without the lower bound, in C", "clamp", Scalar(clamp_without_low)),
    ("select swapped, in C", "select", Scalar(select_swapped)),
    ("negate as a difference, in C", "negate", Scalar(negate_as_difference)),
    ("ceil for floor, in C", "floor", Scalar(floor_as_truncation)),
    ("subtract swapped, in C", "subtract", Scalar(subtract_swapped)),
    ("NaN is finite, in C", "is-finite", Scalar(is_finite_of_nan)),
]
