"""Every opcode on every element type: what inference lets pass has a value, or a clear error.

The first half generates one instruction for each elementwise opcode and combination of types from
the opcode table; the second writes one instruction of each other kind for each type.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from programs import check_shape

import hlo
import interpreter
from hlo.build import Builder, module
from hlo.errors.error import HloError
from hlo.instruction import Module
from hlo.opcode import OPCODES
from hlo.types.element_type import ARRAY_TYPES, ELEMENT_TYPES, PRED, ElementType
from hlo.types.shape import Shape, array

pytestmark = pytest.mark.filterwarnings("error")
ELEMENTWISE = [name for name, row in OPCODES.items() if row.elementwise]
# The result's type does not follow from the operands'.
TO_ANY_TYPE = {"convert", "stochastic-convert"}
ATTRS: dict[str, Any] = {
    "compare": {"direction": "EQ"},
    "reduce-precision": {"exponent_bits": 3, "mantissa_bits": 2},
}
# Inference accepts these, as XLA's does, and nobody says what they mean: the kinds of operands.
WITHOUT_MEANING = {
    "clamp": {"complex"},
    "maximum": {"complex"},
    "minimum": {"complex"},
    "remainder": {"complex"},
}


def numbers(shape: Shape) -> Any:
    """Elements of one repeated byte: the first is 0, then some number, -1 or NaN, the largest."""
    element_type = shape.element_type
    if element_type is PRED or element_type.bits < 8:
        return np.resize(np.array([0, 1, 1]).astype(element_type.dtype), shape.dims)
    codes = np.resize(np.array([0, 1, 255, 127, 128, 3], np.uint8), (shape.size, 1))
    octets = np.repeat(codes, element_type.dtype.itemsize, axis=1)
    return octets.view(element_type.dtype).reshape(shape.dims)


def combinations(opcode: str) -> Iterator[tuple[tuple[ElementType, ...], ElementType | None]]:
    """The types of operands, and of the result where it must be said."""
    arity = OPCODES[opcode].arity or 1
    for kind in ARRAY_TYPES:
        first = PRED if opcode == "select" else kind
        if opcode == "stochastic-convert" and f"u{kind.bits}" in ELEMENT_TYPES:
            operands = (kind, ELEMENT_TYPES[f"u{kind.bits}"])
        else:
            operands = (first, *(kind,) * (arity - 1))
        for result in ARRAY_TYPES if opcode in TO_ANY_TYPE else (None,):
            yield operands, result


def made(opcode: str, operands: tuple[ElementType, ...], result: ElementType | None) -> Module:
    """A module of one instruction on arrays of 6 elements."""
    b = Builder()
    parameters = [b.parameter(array(kind, (6,))) for kind in operands]
    shape = array(result, (6,)) if result else None
    whole = module(b.build(b.add(opcode, *parameters, shape=shape, **ATTRS.get(opcode, {}))))
    hlo.verify(whole)
    return whole


def evaluated(whole: Module) -> Any:
    """Its value for the numbers of its parameters' types."""
    return interpreter.evaluate(whole, *(numbers(p.shape) for p in whole.entry.parameters))


def outcome(opcode: str, operands: tuple[ElementType, ...], result: ElementType | None) -> str:
    """Where an instruction gets to: refused by inference, by evaluation (HLO101), or a value."""
    try:
        whole = made(opcode, operands, result)
    except HloError:
        return "inference"
    try:
        check_shape(evaluated(whole), whole.entry.root.shape)
    except HloError as error:
        return error.code
    return "value"


@pytest.mark.parametrize("opcode", ELEMENTWISE)
def test_elementwise_opcodes(opcode: str) -> None:
    outcomes = {types: outcome(opcode, *types) for types in combinations(opcode)}
    assert {*outcomes.values()} <= {"inference", "value", "HLO101"}
    assert "value" in outcomes.values()
    refused = {types for types, what in outcomes.items() if what == "HLO101"}
    if opcode == "stochastic-convert":
        assert not any(result.is_integer for _, result in refused if result)
    else:
        assert {operands[-1].kind for operands, _ in refused} == WITHOUT_MEANING.get(opcode, set())


# Shapes of operands, and an instruction on them; T is the type.
OTHERS = {
    "dot": (
        "T[3,4] T[4,2]",
        "dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    ),
    "ragged-dot": (
        "T[3,4] T[2,4,5] s32[2]",
        (
            "ragged-dot(p0, p1, p2), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
            "lhs_ragged_dims={0}, rhs_group_dims={0}"
        ),
    ),
    "scaled-dot": (
        "bf16[3,4] bf16[2,4] T[3,1] T[2,1]",
        "bf16[3,2] scaled-dot(p0, p1, p2, p3), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
    ),
    "convolution": (
        "T[1,4,2] T[2,2,3]",
        "convolution(p0, p1), window={size=2}, dim_labels=b0f_0io->b0f",
    ),
    "select-and-scatter": (
        "T[6] T[3] T[]",
        "select-and-scatter(p0, p1, p2), window={size=2 stride=2}, select=before, scatter=fold",
    ),
    "sort": ("T[6]", "sort(p0), dimensions={0}, to_apply=before"),
    "topk": ("T[6]", "topk(p0), k=2, largest=true"),
    "gather": (
        "f32[6] T[2,1]",
        (
            "gather(p0, p1), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, "
            "index_vector_dim=1, slice_sizes={1}"
        ),
    ),
    "dynamic-slice": ("f32[6] T[]", "dynamic-slice(p0, p1), dynamic_slice_sizes={2}"),
    "dynamic-update-slice": ("f32[6] f32[2] T[]", "dynamic-update-slice(p0, p1, p2)"),
    "map": ("T[6] T[6]", "map(p0, p1), dimensions={0}, to_apply=fold"),
    "iota": ("", "T[6] iota(), iota_dimension=0"),
    "pad": ("T[3] T[]", "pad(p0, p1), padding=1_1_1"),
    "rng": ("T[] T[]", "T[6] rng(p0, p1), distribution=rng_uniform"),
    "rng-bit-generator": ("u64[2]", "T[6] rng-bit-generator(p0), algorithm=rng_three_fry"),
    "fft": ("T[4]", "fft(p0), fft_type=FFT, fft_length={4}"),
    "rfft": ("T[4]", "fft(p0), fft_type=RFFT, fft_length={4}"),
    "irfft": ("T[3]", "fft(p0), fft_type=IRFFT, fft_length={4}"),
    "cholesky": ("T[2,2]", "cholesky(p0), lower=true"),
    "triangular-solve": (
        "T[2,2] T[2,2]",
        (
            "triangular-solve(p0, p1), left_side=true, lower=true, unit_diagonal=false, "
            "transpose_a=NO_TRANSPOSE"
        ),
    ),
    "batch-norm-training": (
        "T[3,2] T[2] T[2]",
        "batch-norm-training(p0, p1, p2), epsilon=0.1, feature_index=1",
    ),
    "batch-norm-inference": (
        "T[3,2] T[2] T[2] T[2] T[2]",
        "batch-norm-inference(p0, p1, p2, p3, p4), epsilon=0.1, feature_index=1",
    ),
    "batch-norm-grad": (
        "T[3,2] T[2] T[2] T[2] T[3,2]",
        "batch-norm-grad(p0, p1, p2, p3, p4), epsilon=0.1, feature_index=1",
    ),
    "conditional": (
        "T[] f32[]",
        "conditional(p0, p1, p1), branch_computations={same, same}",
    ),
}
FOLDS = {
    "reduce": ("T[6] T[]", "reduce(p0, p1), dimensions={0}, to_apply=fold"),
    "reduce-window": ("T[6] T[]", "reduce-window(p0, p1), window={size=3 pad=1_1}, to_apply=fold"),
    "scatter": (
        "T[6] s32[2,1] T[2]",
        (
            "scatter(p0, p1, p2), update_window_dims={}, inserted_window_dims={0}, "
            "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=fold"
        ),
    ),
    "scan": ("T[6] T[]", "scan(p0, p1), dimensions={0}, num_carries=1, to_apply=twice"),
}
COMPUTATIONS = """
before { x = T[] parameter(0)
  y = T[] parameter(1)
  ROOT r = pred[] compare(x, y), direction=LT }
same { ROOT x = f32[] parameter(0) }
fold { x = T[] parameter(0)
  y = T[] parameter(1)
  ROOT r = T[] OPCODE(x, y) }
twice { x = T[] parameter(0)
  y = T[] parameter(1)
  z = T[] OPCODE(x, y)
  ROOT r = (T[], T[]) tuple(z, z) }
"""


def check(template: tuple[str, str], element_type: str, opcode: str = "add") -> bool:
    """Whether an instruction has a value for a type; if not, for a reason that is said."""
    shapes, instruction = template
    parameters = [f"p{i} = {shape} parameter({i})" for i, shape in enumerate(shapes.split())]
    body = "\n  ".join([*parameters, f"ROOT r = {instruction}"])
    text = f"HloModule m\n{COMPUTATIONS}\nENTRY e {{\n  {body}\n}}"
    try:
        whole = hlo.parse(text.replace("T[", f"{element_type}[").replace("OPCODE", opcode))
        hlo.verify(whole)
        check_shape(evaluated(whole), whole.entry.root.shape)
    except HloError:
        return False
    return True


@pytest.mark.parametrize("name", OTHERS)
def test_other_opcodes(name: str) -> None:
    assert True in {check(OTHERS[name], kind.name) for kind in ARRAY_TYPES}


@pytest.mark.parametrize("opcode", ["add", "multiply", "maximum", "minimum", "and", "subtract"])
@pytest.mark.parametrize("name", FOLDS)
def test_folds(name: str, opcode: str) -> None:
    kinds = {kind.kind for kind in ARRAY_TYPES if check(FOLDS[name], kind.name, opcode)}
    assert kinds == {
        t[0].kind for t, _ in combinations(opcode) if outcome(opcode, t, None) == "value"
    }
