"""Takes matrices apart by Householder's reflections, and puts their product together again.

Qr(A)   =>   for j = 0, 1, ..., min(m, n) - 1:          H_j = I - tau v v^H,  v = (0, .., 1, ..)
                 H_j^H A   has 0 below the diagonal in column j
                 A[:, j]   = R's column above and on the diagonal, the rest of v below it

A reflection turns the column's end into (beta, 0, 0, ...): with mu its length and alpha its
first element, beta = -mu sign(re alpha), tau = (beta - alpha) / beta, and v is what is below alpha
divided by alpha - beta. The product of the reflections, applied to the identity from the last on,
is Q. XLA works in blocks of 128 columns; the steps within a block are these. Matrices of very
large or small numbers are scaled by a power of two before, and R back after, as LAPACK does it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import CustomCall
from hlo.types.element_type import S32
from interpreter.custom_calls.signatures import problem_of
from interpreter.numbers.compare import ROUNDING
from optimizer.expanders.linear_algebra.cholesky_expander import repeated
from optimizer.expanders.linear_algebra.matrices import (
    block,
    conjugate,
    flipped,
    mask_by_place,
    product,
    scaled,
    times,
    with_block,
)
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import counting, equal, folded, full, number, spread, to_dims
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander("qr_expander", "custom-call", promise=ROUNDING)
def apart(site: ExpansionSite) -> Instruction | None:
    """Replaces the custom calls `Qr` and `ProductOfElementaryHouseholderReflectors` by loops.

    No standard pipeline runs it: our backends hand both to LAPACK.

    References
    ----------
    XLA, `xla/hlo/transforms/expanders/qr_expander.cc`; LAPACK, `geqr2` and `org2r`.
    """
    target = CustomCall.of(site.instr).custom_call_target
    factor = {"Qr": reflections, "ProductOfElementaryHouseholderReflectors": multiplied}
    if target not in factor or problem_of(site.instr):
        return None
    empty = 0 in site.instr.operands[0].shape.dims
    return None if empty else factor[target](site)


def reflections(site: ExpansionSite) -> Instruction:
    """R above the diagonal and the vectors below it; the factor tau of each reflection."""
    operand, back = scaled(site, site.instr.operands[0])
    m, n = operand.shape.dims[-2:]
    batch, count = operand.shape.dims[:-2], min(m, n)
    taus = splat(0, operand.shape.with_dims((*batch, count)))

    def step(j: Instruction, matrix: Instruction, taus: Instruction) -> list[Instruction]:
        column = block(matrix, 0, j, m, 1)
        alpha = block(column, j, 0, 1, 1)
        rows = counting(S32, column.shape.dims, column.shape.rank - 2)
        here = spread(j, column.shape.dims)
        is_below = make("compare", rows, here, direction="GT")
        below = make("select", is_below, column, full(0, column))
        beta, tau, vector = reflection(site, alpha, below)
        at_diagonal = make("compare", rows, here, direction="EQ")
        whole = make("select", at_diagonal, full(1, column), vector)
        reflected_matrix = reflected(matrix, whole, conjugate(tau))
        columns = counting(S32, matrix.shape.dims, matrix.shape.rank - 1)
        later = make("compare", columns, spread(j, matrix.shape.dims), direction="GT")
        matrix = make("select", later, reflected_matrix, matrix)
        column = make("select", at_diagonal, repeated(beta, m), column)
        column = make("select", is_below, vector, column)
        offset = [*[number(0)] * len(batch), j]
        taus = make("dynamic-update-slice", taus, to_dims(tau, (*batch, 1)), *offset)
        return [with_block(matrix, column, 0, j), taus]

    packed, taus = site.repeat(count, [operand, taus], step)
    return make(
        "tuple",
        make("select", mask_by_place(packed, "GT"), packed, times(packed, back)),
        taus,
    )


def reflection(
    site: ExpansionSite, alpha: Instruction, below: Instruction
) -> tuple[Instruction, Instruction, Instruction]:
    """The numbers beta and tau, and the vector v, of the reflection that clears a column's end.

    A column that is clear already is not reflected: tau is 0. The column is divided by its largest
    element first, and beta multiplied by it, since squares may over- and underflow.
    """
    complex_, m = alpha.shape.element_type.is_complex, below.shape.dims[-2]

    def real(x: Instruction) -> Instruction:
        return make("real", x) if complex_ else x

    def whole(x: Instruction) -> Instruction:
        return make("complex", x, full(0, x)) if complex_ else x

    def over_rows(x: Instruction, opcode: str) -> Instruction:
        element_type = x.shape.element_type
        fold = site.binary(opcode, element_type)
        total = folded(x, number(0, element_type), [x.shape.rank - 2], fold)
        return to_dims(total, alpha.shape.dims)

    rest = over_rows(make("abs", below), "maximum")
    clear = equal(rest, 0)
    if complex_:
        clear = make("and", clear, equal(make("imag", alpha), 0))
    largest = make("maximum", rest, make("abs", alpha))
    unit = whole(make("select", equal(largest, 0), full(1, largest), largest))
    first, others = make("divide", alpha, unit), make("divide", below, repeated(unit, m))
    sigma = over_rows(real(make("multiply", others, conjugate(others))), "add")
    length = real(make("multiply", first, conjugate(first)))
    mu = make("sqrt", make("add", length, sigma))
    negative = make("compare", real(first), 0, direction="LT")
    beta = whole(make("select", negative, mu, make("negate", mu)))
    tau = make("divide", make("subtract", beta, first), beta)
    divisor = make("subtract", first, beta)
    divisor = make("select", clear, full(1, divisor), divisor)
    return (
        make("select", clear, alpha, make("multiply", beta, unit)),
        make("select", clear, full(0, tau), tau),
        make("divide", others, repeated(divisor, m)),
    )


def reflected(matrix: Instruction, vector: Instruction, tau: Instruction) -> Instruction:
    """A - tau v v^H A."""
    along = product(flipped(conjugate(vector)), matrix)
    scaled = make("multiply", vector, repeated(tau, vector.shape.dims[-2]))
    return make("subtract", matrix, product(scaled, along))


def multiplied(site: ExpansionSite) -> Instruction:
    """The first n columns of H_0 H_1 ... H_k-1."""
    packed, taus = site.instr.operands
    m = packed.shape.dims[-2]
    batch, count = packed.shape.dims[:-2], taus.shape.dims[-1]
    rows, columns = (counting(S32, packed.shape.dims, len(batch) + d) for d in (0, 1))
    identity = make(
        "select", make("compare", rows, columns, direction="EQ"), full(1, packed), full(0, packed)
    )

    def step(
        i: Instruction, packed: Instruction, taus: Instruction, q: Instruction
    ) -> list[Instruction]:
        j = make("subtract", number(count - 1), i)
        column = block(packed, 0, j, m, 1)
        rows = counting(S32, column.shape.dims, len(batch))
        here = spread(j, column.shape.dims)
        below = make("compare", rows, here, direction="GT")
        at_diagonal = make("compare", rows, here, direction="EQ")
        vector = make("select", below, column, full(0, column))
        vector = make("select", at_diagonal, full(1, column), vector)
        offset = [*[number(0)] * len(batch), j]
        tau = make("dynamic-slice", taus, *offset, dynamic_slice_sizes=(*batch, 1))
        return [packed, taus, reflected(q, vector, to_dims(tau, (*batch, 1, 1)))]

    return site.repeat(count, [packed, taus, identity], step)[-1]
