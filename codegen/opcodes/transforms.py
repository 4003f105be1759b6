"""The opcode `fft`: Fourier transforms of the last dimensions, one after the other.

Real numbers of even count are the real and imaginary parts of half as many complex ones, so that
their transform is the half of one; other real numbers are made complex.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from codegen.callees import BUILTINS, FUNCTIONS
from codegen.elements.table import WholeArray, elements
from codegen.elements.types import literal
from codegen.expressions import Cast, Choose, Expr, Group, Literal, Name, binary, indexed, item
from codegen.kinds import Pointer
from codegen.opcodes.fourier import Direction, LineLayout, LineTransform, Transforms
from codegen.opcodes.fourier_lengths import roots_of_unity
from codegen.walk import address_of
from hlo import attributes as a

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.body import Body
    from hlo.instruction import Instruction


def write_fft(body: Body, instr: Instruction, outputs: Sequence[Name]) -> int:
    """Transform one dimension after the other; gives the scratch memory that this needs."""
    attrs = a.Fft.of(instr)
    operand, rank = instr.operands[0], instr.shape.rank
    if operand.shape.size == 0 or 0 in attrs.fft_length:
        size = instr.shape.size * instr.shape.element_type.bytes
        body.call(BUILTINS["memset"], outputs[0], 0, size)
        return 0
    kind = instr.shape.element_type.real
    transforms = Transforms(body, kind)
    source: Expr = Cast(Pointer(kind.name, const=True), body.pointer(operand))
    target = body.variable(Pointer(kind.name), "to", Cast(Pointer(kind.name), outputs[0]))
    axes = list(range(rank - len(attrs.fft_length), rank))
    inverse = attrs.fft_type in ("IFFT", "IRFFT")
    scale = 1 / prod(attrs.fft_length) if inverse else 1.0
    if attrs.fft_type == "IRFFT":
        # A real result is real along the last dimension, which therefore comes last.
        if len(axes) > 1:
            inside = transforms.scratch("inside", operand.shape.size)
            source = _write_axes(
                transforms, operand.shape.dims, axes[:-1], source, inside, Direction(inverse=True)
            )
        _write_to_real(transforms, instr.shape.dims, source, target, scale)
        return transforms.bytes
    if attrs.fft_type == "RFFT":
        _write_from_real(transforms, operand.shape.dims, source, target)
        source = target
        axes.pop()
    _write_axes(transforms, instr.shape.dims, axes, source, target, Direction(inverse, scale))
    return transforms.bytes


def _write_axes(
    transforms: Transforms, dims: Sequence[int], axes: Sequence[int], source: Expr, target: Expr,
    direction: Direction,
) -> Expr:  # fmt: skip
    """Transform some dimensions of complex numbers, the last first; gives where they are then."""
    for number, axis in enumerate(reversed(axes)):
        n, inner, outer = dims[axis], prod(dims[axis + 1 :]), prod(dims[:axis])
        # Lanes along elements that lie side by side, if these fill them.
        side_by_side = inner >= min(outer, transforms.width // 2)
        line, group = (1, n * inner) if side_by_side else (n * inner, 1)
        counts = (outer, inner) if side_by_side else (inner, outer)
        begin, end = (LineLayout(pointer, inner, line, group) for pointer in (source, target))
        once = Direction(direction.inverse, direction.scale if number == 0 else 1.0)
        transforms.write(LineTransform(n, begin, end, counts, once))
        source = target
    return source


def _complexes(transforms: Transforms, dims: Sequence[int]) -> tuple[int, int, LineLayout]:
    """Room to transform the last dimension of real numbers as complex ones.

    Returns
    -------
    tuple
        how many real numbers a line has, how many lines there are, and where the complex ones are.
    """
    n, count = dims[-1], prod(dims[:-1])
    size = n if n % 2 else n // 2
    return n, count, LineLayout(transforms.scratch("complexes", count * size), 1, size, 0)


def _write_from_real(
    transforms: Transforms, dims: Sequence[int], source: Expr, target: Expr
) -> None:
    """Transform lines of real numbers to the first half of their frequencies, and one more."""
    body, kind = transforms.body, transforms.kind
    n, count, lines = _complexes(transforms, dims)
    complexes, half, half_length = lines.pointer, n // 2, n // 2 + 1
    if n % 2:
        with body.loops(["line", "k"], [count, n], parallel=True) as (line, k):
            element = indexed(line * n + k)
            body.assign(item(complexes, _twice(element)), item(Group(source), element))
            body.assign(item(complexes, _twice(element) + 1), 0)
        transforms.write(LineTransform(n, lines, lines, (1, count)))
        with body.loops(["line", "k"], [count, 2 * half_length], parallel=True) as (line, k):
            number = item(complexes, line * (2 * n) + k)
            # The sum of real numbers is real.
            value = Choose(binary("==", indexed(k), 1), Literal(0), number)
            body.assign(item(target, line * (2 * half_length) + k), value)
        return
    packed = LineLayout(source, 1, half, 0)
    transforms.write(LineTransform(half, packed, lines, (1, count)))
    roots = transforms.constant(roots_of_unity(n), "roots")
    with body.loops(["line"], [count], parallel=True) as (line,):
        ends = address_of(complexes, line * n), address_of(target, line * (2 * half_length))
        body.call(FUNCTIONS["real_parts_apart", kind], *ends, roots, half, work=8 * n)


def _write_to_real(
    transforms: Transforms, dims: Sequence[int], source: Expr, target: Expr, scale: float
) -> None:
    """Transform the first half of frequencies, and one more, back to lines of real numbers."""
    body, kind = transforms.body, transforms.kind
    n, count, lines = _complexes(transforms, dims)
    complexes, half, half_length = lines.pointer, n // 2, n // 2 + 1
    if n % 2:
        with body.loops(["line", "k"], [count, half_length], parallel=True) as (line, k):
            place, here = indexed(line * half_length + k), indexed(line * n + k)
            first = binary("==", indexed(k), 0)
            # The second half mirrors the first; number 0 is its own mirror image, so it is real.
            mirror = Choose(first, here, indexed(line * n + k * -1 + n))
            numbers = Group(source)
            real = body.let(kind.name, "real", item(numbers, _twice(place)))
            imaginary = body.let(kind.name, "imaginary", item(numbers, _twice(place) + 1))
            other = body.let("s64", "other", mirror)
            body.assign(item(complexes, Literal(2) * other), real)
            body.assign(item(complexes, Literal(2) * other + 1), -imaginary)
            body.assign(item(complexes, _twice(here)), real)
            body.assign(item(complexes, _twice(here) + 1), Choose(first, Literal(0), imaginary))
        transforms.write(LineTransform(n, lines, lines, (1, count), Direction(inverse=True)))
        with body.loops(["line", "k"], [count, n], parallel=True) as (line, k):
            element = indexed(line * n + k)
            value = item(complexes, _twice(element)) * literal(kind, scale)
            body.assign(item(target, element), value)
        return
    roots = transforms.constant(roots_of_unity(n), "roots")
    with body.loops(["line"], [count], parallel=True) as (line,):
        ends = address_of(source, line * (2 * half_length)), address_of(complexes, line * n)
        body.call(FUNCTIONS["real_parts_together", kind], *ends, roots, half, work=8 * n)
    packed, back = LineLayout(target, 1, half, 0), Direction(inverse=True, scale=scale)
    transforms.write(LineTransform(half, lines, packed, (1, count), back))


def _twice(number: Expr) -> Expr:
    """The offset of the real part of a complex number."""
    return Literal(2) * Group(number)


elements.define("fft", WholeArray(write_fft))
