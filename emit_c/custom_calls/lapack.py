"""Calls of LAPACK: the matrices of a batch, one after the other, in LAPACK's column-major order.

LAPACK works in place, so each operand is copied into the scratch memory first, and from there to
the results. Small matrices are shared among threads, of which each has scratch memory of its own;
larger ones are computed on one thread, and the largest on those of OpenBLAS. The functions
themselves are those that the interpreter calls, in the shared library of the `scipy-openblas32`
wheel; see `emit_c.code.foreign` for how the C file finds them.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

from codegen.callees import BUILTINS, FUNCTIONS, Callee
from codegen.elements.memory import pointer_into
from codegen.expressions import Cast, Expr, Group, Name, Struct, apply, as_expr, item, letter
from codegen.kinds import Array, Pointer, wide
from codegen.printer import spelled
from codegen.walk import address_of
from emit_c.code.constants import CConstants
from emit_c.code.foreign import SET_THREADS
from emit_c.contraction.transposing import LANES
from hlo.types.element_type import ELEMENT_TYPES
from interpreter.custom_calls.lapack import COLUMN_MAJOR, LETTERS
from interpreter.custom_calls.options import config
from interpreter.custom_calls.signatures import letter_of
from optimizer.analysis.indexing import Sum, linear
from optimizer.memory.heap import aligned

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from codegen.custom_calls.table import Write
    from codegen.elements.body import Body
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape
    from optimizer.analysis.indexing import Index

    # Calls LAPACK for one matrix of each operand; gives one of each result, or an expression.
    Routine = Callable[..., "Sequence[Matrix | Expr]"]
    Options = Mapping[str, Any]

# A value that is not read.
_IGNORE = Callee("ignore", None, "(void)")
SMALL_MATRIX = 64 * 64
"""Chosen: elements of matrices of which each thread takes some."""
LARGE_SYSTEM, LARGE_MATRIX = 128 * 128, 1024 * 1024
"""Measured: elements of a triangular system, and of a matrix to be factored, for which OpenBLAS has
threads of its own. On two, a system of 128 takes 0.63 and of 512 0.42 of the time, but a QR
factorization of 128 2.5 times as long, and none of 512 less; and beside other work on the machine
a small one waits for milliseconds."""
LAPACK_CALL, LAPACK_ELEMENT = 1 << 13, 1 << 9
"""Measured, in units of work: a call of LAPACK for the smallest matrix takes 0.04 us (LU) to 1.4
(SVD), and an element of a larger one 5 ns (Cholesky, LU), 20 (QR) or 100 (SVD)."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix in column-major order, or a vector, in the scratch memory.

    Attributes
    ----------
    dims : (rows, columns), or (elements,).
    """

    name: Name
    kind: str
    dims: tuple[int, ...]

    @property
    def leading(self) -> int:
        """The leading dimension: the number of rows, as LAPACK wants it."""
        return max(1, self.dims[0])


@dataclass(frozen=True, slots=True)
class Letter:
    """An expression for a letter that LAPACK takes as an option."""

    value: Expr


class LapackCall:
    """One call in the making.

    Attributes
    ----------
    kind : the element type of the matrices.
    letter : LAPACK's for that type.
    shared : whether threads share the matrices.
    scratch : bytes taken so far.
    returned : the names of what routines have returned.
    """

    def __init__(
        self, body: Body, instr: Instruction, kind: str, options: Options, *, shared: bool
    ) -> None:
        self.body, self.instr, self.options = body, instr, options
        self.kind, self.shared = kind, shared
        self.letter = LETTERS[ELEMENT_TYPES[kind].dtype]
        self.real = ELEMENT_TYPES[kind].real.name
        self.scratch = 0
        self.returned: list[Name] = []

    def array(self, name: str, dims: Sequence[int], kind: str | None = None) -> Matrix:
        """A matrix or vector full of zeros."""
        array = self._memory(name, tuple(dims), kind or self.kind)
        size = prod(dims) * ELEMENT_TYPES[array.kind].bytes
        self.body.call(BUILTINS["memset"], array.name, 0, size)
        return array

    def copied(self, operand: Instruction, batch: Index, rank: int) -> Matrix:
        """The matrix or vector of an operand that a batch index chooses."""
        dims = operand.shape.dims
        copy = self._memory(operand.name, dims[len(dims) - rank :], operand.shape.element_type.name)
        if _in_squares(copy):
            first = address_of(self.body.pointer(operand), _first(batch, dims))
            _transpose(self.body, copy.kind, copy.name, first, copy.dims[::-1])
            return copy
        with self.body.loops(["i", "j"][:rank], copy.dims) as index:
            value = self.body.element(operand, (*batch, *index))
            self.body.assign(_element(copy, index), value)
        return copy

    def store(self, output: Name, shape: Shape, batch: Index, result: Matrix | Expr) -> None:
        """Write a routine's result to the part of an output that a batch index chooses."""
        dims, kind = shape.dims[len(batch) :], wide(shape.element_type)
        same = isinstance(result, Matrix) and (result.kind, result.dims) == (kind, dims)
        if isinstance(result, Matrix) and same and _in_squares(result):
            first = address_of(output, _first(batch, shape.dims))
            _transpose(self.body, kind, first, result.name, dims)
            return
        with self.body.loops(["i", "j"][: len(dims)], dims) as index:
            target = item(output, linear((*batch, *index), shape.dims))
            self.body.assign(target, _of_kind(kind, result, index))

    def _memory(self, name: str, dims: tuple[int, ...], kind: str) -> Matrix:
        bytes_each = ELEMENT_TYPES[kind].bytes
        if self.shared:
            return Matrix(self.body.own(kind, name, prod(dims), bytes_each), kind, dims)
        begins = pointer_into(Name("scratch"), self.scratch, kind)
        self.scratch += aligned(max(prod(dims) * bytes_each, 1))
        return Matrix(self.body.variable(Pointer(kind), name, begins), kind, dims)

    def lapack(self, routine: str, *arguments: int | Expr | Letter | Matrix) -> Name:
        """Call a routine of LAPACK; gives the name of its return value, `info`.

        Parameters
        ----------
        routine : without the letter of the type.
        arguments : as LAPACKE's, without the order; an expression is a pointer.
        """
        name = f"LAPACKE_{self.letter}{routine}"
        kinds = ", ".join(["s32", *(spelled(_kind(argument)) for argument in arguments)])
        function = self._foreign(name, f"s32 {{}}({kinds})")
        with self._threads(arguments, LARGE_MATRIX):
            # A variable, since values that nobody reads are left out.
            call = apply(function, COLUMN_MAJOR, *map(_value, arguments))
            self.returned.append(self.body.variable("s32", "info", call, work=_work(arguments)))
        return self.returned[-1]

    def blas(self, routine: str, *arguments: int | Letter | Matrix) -> None:
        """Call a routine of BLAS, by its Fortran interface, which takes everything by address."""
        name = f"{self.letter}{routine}_"
        kinds = ", ".join(["const void *"] * len(arguments))
        function = self._foreign(name, f"void {{}}({kinds})")
        with self._threads(arguments, LARGE_SYSTEM):
            self.body.call(function, *map(_address, arguments), work=_work(arguments))

    @contextmanager
    def _threads(
        self, arguments: Sequence[int | Expr | Letter | Matrix], least: int
    ) -> Generator[None]:
        """Let all threads of OpenBLAS take part in a routine if a matrix has so many elements."""
        if self.shared or _largest(arguments) < least:
            yield
            return
        function = self._foreign(SET_THREADS, "void {}(s32)")
        for count in (0, 1):  # 0 for all
            with self.body.when(Name(function.name)):
                self.body.call(function, count)
            if count == 0:
                yield

    def _foreign(self, name: str, declaration: str) -> Callee:
        """A function of another library."""
        constants = self.body.writer.constants
        assert isinstance(constants, CConstants)
        return FUNCTIONS[constants.foreign.function(name, declaration)]

    def option(self, key: str) -> Letter:
        """A letter among the options, which `check_call` has looked at."""
        value = self.options[key]
        return value if isinstance(value, Letter) else Letter(letter(letter_of(value)))

    def number(self, key: str) -> int:
        """A whole number among the options, which `check_call` has looked at."""
        return int(self.options[key])


def _work(arguments: Sequence[int | Expr | Letter | Matrix]) -> int:
    """About how long a routine takes."""
    return LAPACK_CALL + LAPACK_ELEMENT * _largest(arguments)


def _largest(arguments: Sequence[int | Expr | Letter | Matrix]) -> int:
    return max(prod(a.dims) for a in arguments if isinstance(a, Matrix))


def _kind(argument: int | Expr | Letter | Matrix) -> str | Pointer:
    if isinstance(argument, int):
        return "s32"
    return "char" if isinstance(argument, Letter) else Pointer("void")


def _value(argument: int | Expr | Letter | Matrix) -> Expr:
    if isinstance(argument, Matrix):
        return argument.name
    return argument.value if isinstance(argument, Letter) else as_expr(argument)


def _address(argument: int | Letter | Matrix) -> Expr:
    if isinstance(argument, Matrix):
        return argument.name
    return Struct(Array(_kind(argument)), (_value(argument),))


def _element(matrix: Matrix, index: Index) -> Expr:
    """An element of a matrix in column-major order."""
    return item(matrix.name, linear(index[::-1], matrix.dims[::-1]))


def _first(batch: Index, dims: Sequence[int]) -> Sum:
    """The number of the first element of those that a batch index chooses."""
    return linear((*batch, *[Sum(0)] * (len(dims) - len(batch))), dims)


def _in_squares(matrix: Matrix) -> bool:
    """Whether a matrix has squares that are transposed in registers."""
    lanes = LANES.get(ELEMENT_TYPES[matrix.kind].bits)
    return lanes is not None and len(matrix.dims) == 2 and min(matrix.dims) >= lanes


def _transpose(body: Body, kind: str, to: Expr, from_: Expr, dims: Sequence[int]) -> None:
    """Write the rows of a matrix from its columns, or the other way round."""
    word, (rows, columns) = ELEMENT_TYPES[f"u{ELEMENT_TYPES[kind].bits}"], dims
    kinds = Pointer(word.name), Pointer(word.name, const=True)
    pointers = Cast(kinds[0], Group(to)), Cast(kinds[1], Group(from_))
    numbers = rows, columns, columns, rows
    function = FUNCTIONS["hlo_transpose", word]
    body.call(function, *pointers, *numbers, work=2 * rows * columns)


def _of_kind(kind: str, result: Matrix | Expr, index: Index) -> Expr:
    """A number that a routine has left, as one of a kind."""
    if isinstance(result, Matrix):
        element = _element(result, index)
        return element if result.kind == kind else Cast(kind, element)
    return result if isinstance(result, Name) else Cast(kind, Group(result))


def batched(
    routine: Routine, ranks: Sequence[int], read: Callable[..., Options] | None = None
) -> Write:
    """A kernel that calls a routine for every matrix of a batch.

    Parameters
    ----------
    ranks : dimensions of each array; those in front of them are the batch.
    read : makes options of the operands that are in front of the arrays, each of which is given
        as a function that makes an expression for it; None if the backend configuration holds the
        options.
    """

    def write(body: Body, instr: Instruction, outputs: Sequence[Name]) -> int:
        front, arrays = instr.operands[: -len(ranks)], instr.operands[-len(ranks) :]
        options = read(*(partial(body.scalar, x) for x in front)) if read else config(instr)
        kind, first = arrays[0].shape.element_type.name, arrays[0].shape
        batch = first.dims[: first.rank - ranks[0]]
        shapes = [s for _, s in instr.shape.leaves()]
        largest = max(s.size for s in (*shapes, *(x.shape for x in arrays)))
        shared = 0 < largest <= SMALL_MATRIX * prod(batch)
        call = LapackCall(body, instr, kind, options, shared=shared)
        with body.loops([f"b{d}" for d in range(len(batch))], batch, parallel=shared) as at:
            pairs = zip(arrays, ranks, strict=True)
            results = routine(call, *(call.copied(x, at, rank) for x, rank in pairs))
            for info in call.returned:
                if info not in results[: len(outputs)]:
                    body.call(_IGNORE, info)
            for output, shape, result in zip(outputs, shapes, results, strict=False):
                call.store(output, shape, at, result)
        # The old calls count room to work in among their results, which nobody writes.
        for output, shape in list(zip(outputs, shapes, strict=True))[len(results) :]:
            size = shape.size * shape.element_type.bytes
            body.call(BUILTINS["memset"], output, 0, size)
        return call.scratch

    return write
