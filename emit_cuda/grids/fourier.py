"""Fourier transforms: threads of a block transform lines of numbers in shared memory.

A line of n = r s numbers is transformed in steps, one for each factor r (*Stockham*): a thread
takes r numbers that lie n / r apart into registers, multiplies them by twiddle factors, transforms
them, and puts them where the next step wants them, so that the last step has them in order. The
first step reads the operand itself, with its fused producers, and the last one writes the result.
Rows of 32 numbers are followed by a gap, so that threads ask different banks.

A line that does not fit into shared memory is a matrix: a first launch transforms its columns and
multiplies them by twiddle factors, a second one transforms its rows. A length with a prime factor
over 13 becomes a convolution (*Bluestein*): two transforms of a longer length, of which the first
one's result is multiplied by the transform of the second factor, a constant.

References
----------
Govindaraju et al., *High Performance Discrete Fourier Transforms on Graphics Processors*, 2008;
Bailey, *FFTs in External or Hierarchical Memory*, 1990; Bluestein, *A Linear Filtering Approach to
the Computation of the Discrete Fourier Transform*, 1970.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import TYPE_CHECKING

from codegen.callees import BUILTINS
from codegen.elements.types import literal
from codegen.expressions import (
    BLOCK_X,
    THREAD_X,
    Choose,
    Expr,
    Group,
    Literal,
    Name,
    Op,
    apply,
    binary,
    indexed,
    item,
)  # fmt: skip
from codegen.opcodes.axis_lines import AxisLines
from codegen.opcodes.complex_parts import ComplexParts, Pair
from codegen.opcodes.fourier_lengths import (
    chirp,
    chirp_transform,
    good_length,
    middle_factor,
    radices,
)
from codegen.opcodes.fourier_lines import GAP, ROW, LineSteps
from emit_cuda.grids.bound import MOST_THREADS
from emit_cuda.grids.stages import BARRIER, SHARED_BLOCK, SHARED_BYTES
from hlo import attributes as a
from optimizer.analysis.indexing import Sum, counter, delinear, linear

if TYPE_CHECKING:
    from collections.abc import Sequence

    from emit_cuda.grids.kernel import CudaKernel
    from emit_cuda.grids.stages import Stage
    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType

# Numbers that a thread has at once.
EACH = 8

# Functions that load and store the parts of number k of a line; both are given the line, too.
Read = Callable[[Sum, Sum], Pair]
Write = Callable[[Sum, Sum, Pair], None]


def fourier_stages(
    kernel: CudaKernel, instr: Instruction, outputs: Sequence[Name]
) -> Sequence[Stage] | None:
    """Launches that transform one dimension after the other; None where lines are too long."""
    attrs, operand = a.Fft.of(instr), instr.operands[0]
    kind = instr.shape.element_type.real
    rank, lengths = instr.shape.rank, attrs.fft_length
    if not lengths or 0 in (instr.shape.size, operand.shape.size, *lengths):
        return None
    if not all(_parts(n if radices(n) else good_length(2 * n - 1), kind) for n in lengths):
        return None
    return _Fourier(kernel, instr, outputs[0]).launches(
        dict(zip(range(rank - len(lengths), rank), lengths, strict=True))
    )


def _parts(n: int, kind: ElementType) -> tuple[int, ...]:
    """The lengths of lines that a line is transformed by: itself, or two; none if it can't be."""
    most = SHARED_BYTES // (2 * kind.bytes) * ROW // (ROW + GAP) - 1
    if radices(n) is None:
        return ()
    factors = (n,) if n <= most else (middle_factor(n), n // middle_factor(n))
    return factors if max(factors) <= most else ()


class _Fourier:
    """Writes the launches of a transform."""

    def __init__(self, kernel: CudaKernel, instr: Instruction, output: Name) -> None:
        self.kernel, self.body, self.instr, self.output = kernel, kernel.body, instr, output
        self.type = a.Fft.of(instr).fft_type
        self.is_inverse = self.type in ("IFFT", "IRFFT")
        self.kind = instr.shape.element_type.real
        self.complexes = {"f32": "c64", "f64": "c128"}[self.kind.name]
        self.numbers = ComplexParts(self.body, self.kind)
        self.found: list[Stage] = []

    def launches(self, lengths: dict[int, int]) -> list[Stage]:
        """The launches of all dimensions; of real results the last dimension comes last."""
        axes = sorted(lengths, reverse=True)
        if self.type == "IRFFT":
            axes = [*axes[1:], axes[0]]
        dims, source = self.instr.operands[0].shape.dims, None
        target, scale = self.output, 1 / prod(lengths.values()) if self.is_inverse else 1.0
        if self.type == "IRFFT" and len(axes) > 1:
            target = self.kernel.room(self.complexes, "inside", prod(dims))
        for number, axis in enumerate(axes):
            last = number == len(axes) - 1
            read = self._reader(AxisLines(dims, axis), source, lengths[axis])
            if last or self.type == "RFFT":
                dims = self.instr.shape.dims
            to = self.output if last else target
            lines = AxisLines(dims, axis)
            write = self._writer(lines, to, lengths[axis], scale if last else 1.0)
            inner = prod(dims[axis + 1 :])
            self._transform(lengths[axis], lines.count, read, write, side_by_side=inner > 1)
            source = target
        return self.found

    def _parts_of(self, value: Expr) -> Pair:
        return Op("real", (value,)), Op("imag", (value,))

    def _reader(self, lines: AxisLines, source: Name | None, n: int) -> Read:
        """Reads the operand, or an array; where only half of the numbers is there, their mirror."""
        body, operand = self.body, self.instr.operands[0]

        def whole(number: Sum, k: Sum) -> Pair:
            index = lines.index(number, k)
            if source is None:
                value = body.element(operand, index)
                if not operand.shape.element_type.is_complex:
                    return value, literal(self.kind, 0)
            else:
                value = body.let(self.complexes, "z", item(source, linear(index, lines.dims)))
            real, imaginary = self._parts_of(value)
            return (imaginary, real) if self.is_inverse else (real, imaginary)

        def half(number: Sum, k: Sum) -> Pair:
            first = binary("<=", indexed(k), n // 2)
            at = body.let("s64", "at", Choose(first, indexed(k), indexed(k * -1 + n)))
            imaginary, real = whole(number, counter(at.name, n // 2 + 1))
            # Number 0, and the middle one, are their own mirror images.
            own = binary("==", at, 0) if n % 2 else binary("==", Group(at * 2 % n), 0)
            zero = literal(self.kind, 0)
            mirrored = Choose(first, imaginary, Op("-", (Group(imaginary),)))
            return body.let(self.kind.name, "im", Choose(own, zero, mirrored)), real

        is_half = self.type == "IRFFT" and lines.axis == len(lines.dims) - 1
        return half if is_half else whole

    def _writer(self, lines: AxisLines, target: Name, n: int, scale: float) -> Write:
        """Writes numbers, or of a real result their real parts, or of a real operand's half."""
        body, last = self.body, lines.axis == len(lines.dims) - 1

        def write(number: Sum, k: Sum, value: Pair) -> None:
            if scale != 1.0:
                factor = literal(self.kind, self.kind.dtype.type(scale))
                value = value[0] * factor, value[1] * factor
            real, imaginary = reversed(value) if self.is_inverse else value
            if last and self.type == "IRFFT":
                body.assign(item(target, linear(lines.index(number, k), lines.dims)), real)
                return
            # A line of one number has no other half, and no counter.
            half = last and self.type == "RFFT" and n > 1
            with body.when(binary("<=", indexed(k), n // 2) if half else None):
                at = counter(k.names[0], n // 2 + 1) if half else k
                element = linear(lines.index(number, at), lines.dims)
                self._keep(item(target, element), (real, imaginary))

        return write

    def _transform(
        self, n: int, count: int, read: Read, write: Write, *, side_by_side: bool
    ) -> None:
        """One launch for lines that fit, else two; their arguments: see `_launch`."""
        if radices(n) is None:
            self._convolve(n, count, read, write, side_by_side=side_by_side)
            return
        factors = _parts(n, self.kind)
        if len(factors) == 1:
            self.found.append(self._launch(n, count, read, write, side_by_side=side_by_side))
            return
        rows, columns = factors
        body = self.body
        room = self.kernel.room(self.complexes, "columns", count * n)

        def read_column(number: Sum, k: Sum) -> Pair:
            of, column = delinear(number, [count, columns])
            return read(of, body.counted("k", indexed(k * columns + column), n))

        def write_column(number: Sum, k: Sum, value: Pair) -> None:
            of, column = delinear(number, [count, columns])
            by = body.let("s64", "twiddle", Group(indexed(k)) * Group(indexed(column)))
            product = self.numbers.times(value, by, self.numbers.roots(n))
            self._keep(item(room, of * n + k * columns + column), product)

        def read_row(number: Sum, k: Sum) -> Pair:
            return self._kept(room, number * columns + k)

        def write_row(number: Sum, k: Sum, value: Pair) -> None:
            of, row = delinear(number, [count, rows])
            write(of, body.counted("k", indexed(k * rows + row), n), value)

        self.found.append(
            self._launch(rows, count * columns, read_column, write_column, side_by_side=True)
        )
        self.found.append(
            self._launch(columns, count * rows, read_row, write_row, side_by_side=False)
        )

    def _convolve(
        self, n: int, count: int, read: Read, write: Write, *, side_by_side: bool
    ) -> None:
        """Transform lines by two transforms of longer ones."""
        body, longer = self.body, good_length(2 * n - 1)
        room = self.kernel.room(self.complexes, "longer", count * longer)
        zero = literal(self.kind, 0)

        def read_chirped(number: Sum, k: Sum) -> Pair:
            parts = [body.variable(self.kind.name, name, zero) for name in ("re", "im")]
            with body.when(binary("<", indexed(k), n)):
                at = counter(k.names[0], n)
                product = self.numbers.times(
                    read(number, at), indexed(at), self.numbers.table(chirp(n), "chirp")
                )
                for part, value in zip(parts, product, strict=True):
                    body.assign(part, value)
            return parts[0], parts[1]

        def write_product(number: Sum, k: Sum, value: Pair) -> None:
            table = self.numbers.table(chirp_transform(n, longer), "chirp_transform")
            conjugate = value[0], Op("-", (value[1],))
            self._keep(
                item(room, number * longer + k), self.numbers.times(conjugate, indexed(k), table)
            )

        def write_chirped(number: Sum, k: Sum, value: Pair) -> None:
            with body.when(binary("<", indexed(k), n)):
                at = counter(k.names[0], n)
                conjugate = value[0], Op("-", (value[1],))
                table = self.numbers.table(chirp(n), "chirp")
                write(number, at, self.numbers.times(conjugate, indexed(at), table))

        def read_product(number: Sum, k: Sum) -> Pair:
            return self._kept(room, number * longer + k)

        self._transform(longer, count, read_chirped, write_product, side_by_side=side_by_side)
        self._transform(longer, count, read_product, write_chirped, side_by_side=False)

    def _kept(self, room: Name, number: Sum) -> Pair:
        """The values that an earlier launch has left."""
        return self._parts_of(self.body.let(self.complexes, "z", item(room, number)))

    def _keep(self, target: Expr, value: Pair) -> None:
        self.body.assign(target, apply(BUILTINS["complex"], *value))

    def _launch(self, n: int, count: int, read: Read, write: Write, *, side_by_side: bool) -> Stage:
        """A launch that transforms lines of n numbers.

        Parameters
        ----------
        side_by_side : numbers of neighbouring lines are neighbours, so that threads are, too.
        """
        body, steps = self.body, radices(n) or [1]
        threads = min(-(-n // EACH), MOST_THREADS)
        # Lines begin in different banks.
        pitch = (n + n // ROW * GAP) | 1
        fit = SHARED_BYTES // (pitch * 2 * self.kind.bytes)
        packed = max(1, min(count, fit, SHARED_BLOCK // threads))
        with body.block() as statements:
            x = THREAD_X
            parts = (x / packed, x % packed) if side_by_side else (x % threads, x / threads)
            thread = body.let("s64", "thread", parts[0])
            own = body.let("s64", "own_line", parts[1])
            first = BLOCK_X if packed == 1 else BLOCK_X * packed + own
            line, mine = body.let("s64", "line", first), None
            if count % packed:
                # All threads of a block come to its barriers.
                mine = binary("<", line, count)
                last = Choose(mine, line, Literal(count - 1))
                line = body.let("s64", "line", last) if len(steps) > 1 else line
            per_thread = max(-(-n // r // threads) * r for r in steps)
            arrays = [
                self.kernel.shared_array(self.kind.name, f"{part}_parts", pitch * packed)
                for part in ("real", "imaginary")
                if len(steps) > 1
            ]
            held = [body.variable(self.kind.name, name, size=per_thread) for name in ("re", "im")]
            step = LineSteps(self.numbers, n, threads, (thread, own * pitch), (arrays, held))
            number = counter(line.name, count)
            done = 1
            for at, r in enumerate(steps):
                # Where nobody waits, a line's numbers may be where others are written.
                with body.when(mine if len(steps) == 1 else None):
                    step.gather(r, done, partial(read, number) if at == 0 else step.load)
                if at:
                    body.add(BARRIER)
                if at == len(steps) - 1:
                    with body.when(mine):
                        step.scatter(r, done, partial(write, number))
                else:
                    step.scatter(r, done, step.store)
                    body.add(BARRIER)
                done *= r
        return self.kernel.stage(statements, -(-count // packed), threads * packed, "transform")
