"""Custom calls of cuBLAS, in modules that XLA has compiled for an NVIDIA GPU.

XLA replaces a dot, and the sums and functions that follow it, by one call:

    (D, ..., s8[n]) custom-call(lhs, rhs, C, bias), custom_call_target="__cublas$lt$matmul"

    D = function(alpha * lhs . rhs + beta * C + bias)

The backend configuration tells the dimensions of the dot, alpha, beta and the function. Memory for
the library's own use is the last result. Operands of eight bits have a scale each, and so has a
result of eight bits, which is saturated; the greatest absolute value of D before that may be a
result, too.

References
----------
`GemmBackendConfig` in `xla/service/gpu/backend_configs.proto`;
`xla/service/gpu/transforms/gemm_rewriter.cc`; for the order of operands,
`EmitCublasLtMatmulThunkF8` in `xla/service/gpu/thunk_emitter.cc`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import ml_dtypes
import numpy as np

from hlo.attributes import CustomCall
from hlo.build import instruction
from hlo.errors.error import HloError
from hlo.infer import infer
from hlo.infer.checks import show
from hlo.types.element_type import F32, S32
from hlo.wording import counted
from interpreter.conversion import converted
from interpreter.custom_calls.options import config
from interpreter.custom_calls.registry import vendor_call
from interpreter.custom_calls.signatures import checked
from interpreter.table import evaluates

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType
    from hlo.types.shape import Shape
    from interpreter.custom_calls.signatures import Options
    from interpreter.engine.frame import Frame

    Array = NDArray[Any]

SCALED = "__cublas$lt$matmul$f8"
TARGETS = ("__cublas$gemm", "__cublas$lt$matmul", SCALED)
# tanh(ROOT * (x + CUBE * x^3)) is close to the error function in the definition of GELU.
GELU_ROOT, GELU_CUBE = (2 / np.pi) ** 0.5, 0.044715
_FUNCTIONS = ("relu", "gelu", "silu")


@dataclass(frozen=True, slots=True)
class Gemm:
    """The product that a call asks for, and its epilogue.

    Attributes
    ----------
    dot : the product as an instruction, in the type in which the library sums up.
    alpha, beta : the factors of the product and of C.
    added : the names of the operands after the first two: "C", "lhs_scale", "rhs_scale", "bias",
        "scale", as far as there are.
    function : "relu", "gelu" (by the hyperbolic tangent), "silu", or "" for none.
    has_aux : whether the second result is the argument of the function.
    has_most : whether the second result is the greatest absolute value.
    """

    dot: Instruction
    alpha: complex
    beta: float
    added: tuple[str, ...]
    function: str
    has_aux: bool
    has_most: bool


def results_of(instr: Instruction) -> tuple[Shape, ...]:
    """The shapes of a call's results: that of the value, and of memory for the library."""
    return instr.shape.elements if instr.shape.is_tuple else (instr.shape,)


def gemm_of(instr: Instruction) -> Gemm:
    """The product that a call of cuBLAS asks for.

    Raises
    ------
    HloError
        if the backend configuration names dimensions that the operands do not have.
    """
    options = named_options(instr, "gemm_backend_config")
    words = str(options.get("epilogue", "DEFAULT")).lower().split("_")
    beta = float(options.get("beta", 0))
    scaled = CustomCall.of(instr).custom_call_target == SCALED
    added = {
        "C": beta != 0,
        "lhs_scale": scaled,
        "rhs_scale": scaled,
        "bias": "bias" in words,
        "scale": scaled and results_of(instr)[0].element_type.bits == 8,
    }
    return Gemm(
        dot=_dot(instr, options),
        alpha=complex(options.get("alpha_real", 1), options.get("alpha_imag", 0)),
        beta=beta,
        added=tuple(name for name, is_there in added.items() if is_there),
        function=next((f for f in _FUNCTIONS if f in words), ""),
        has_aux="aux" in words,
        has_most=options.get("damax_output") is True,
    )


def bias_dims(bias: Shape, result: Shape) -> tuple[int, ...]:
    """The dimension of the result along which each dimension of the bias lies."""
    fastest = result.memory_order[result.rank - bias.rank :]
    along = dict(zip(bias.memory_order, fastest, strict=True))
    return tuple(along[d] for d in range(bias.rank))


def missing_bias(bias: Shape, result: Shape) -> tuple[int, ...]:
    """The size that a bias lacks in each dimension.

    XLA rounds matrices of sixteen bits up to eight rows and columns, but not the bias, and cuts the
    additional columns off after the call. What is added to these is not defined; here it is 0.
    """
    along = bias_dims(bias, result)
    return tuple(result.dims[d] - n for d, n in zip(along, bias.dims, strict=True))


@vendor_call(*TARGETS)
def multiply_matrices(_frame: Frame, instr: Instruction, *operands: Array) -> Any:
    """The product with its epilogue, computed in f32 or wider and rounded once."""
    gemm, results = gemm_of(instr), results_of(instr)
    dot = gemm.dot
    value = cast("Array", evaluates["dot"](dot, dot.attrs, operands[0], operands[1]))
    value = converted(value, epilogue_type(dot, results[0].element_type))
    wide = value.dtype
    added = {name: x.astype(wide) for name, x in zip(gemm.added, operands[2:], strict=True)}
    value = _summed(instr, gemm, value, added)
    outputs = [_function(gemm.function, value), *([value] if gemm.has_aux else [])]
    if gemm.has_most:
        outputs.append(np.max(np.abs(outputs[0]), initial=0))
    if "scale" in added:
        most = greatest(results[0].element_type)
        outputs[0] = np.clip(outputs[0] * added["scale"], -most, most)
    values = (converted(x, shape.element_type) for x, shape in zip(outputs, results, strict=False))
    return with_workspace(instr, *values)


def _summed(instr: Instruction, gemm: Gemm, value: Array, added: Mapping[str, Array]) -> Array:
    """A product with its factors and summands."""
    wide = value.dtype
    if gemm.alpha != 1:
        value = value * wide.type(gemm.alpha if wide.kind == "c" else gemm.alpha.real)
    if "lhs_scale" in added:
        value = value * (added["lhs_scale"] * added["rhs_scale"])
    if "C" in added:
        value = value + added["C"] * wide.type(gemm.beta)
    if "bias" in added:
        bias = instr.operands[2 + gemm.added.index("bias")].shape
        dims = bias_dims(bias, results_of(instr)[0])
        spread = [n if d in dims else 1 for d, n in enumerate(value.shape)]
        missing = missing_bias(bias, results_of(instr)[0])
        whole = np.pad(added["bias"], [(0, n) for n in missing])
        value = value + whole.transpose(np.argsort(dims)).reshape(spread)
    return value


def greatest(element_type: ElementType) -> float:
    """The greatest number of a floating type."""
    return float(cast("Any", ml_dtypes.finfo(element_type.dtype)).max)


def reason(error: Exception) -> str:
    """The message of an error, without its place."""
    return error.message if isinstance(error, HloError) else str(error)


def with_workspace(instr: Instruction, *outputs: Array) -> Any:
    """The results of a call: those given, and zeros for the library's memory."""
    rest = results_of(instr)[len(outputs) :]
    memory = (np.zeros(shape.dims, shape.element_type.dtype) for shape in rest)
    return (*outputs, *memory) if instr.shape.is_tuple else outputs[0]


def _function(name: str, x: Array) -> Array:
    if name == "relu":
        return np.maximum(x, 0)
    if name == "gelu":
        inner = x.dtype.type(GELU_ROOT) * (x + x.dtype.type(GELU_CUBE) * x * x * x)
        return x.dtype.type(0.5) * x * (1 + np.tanh(inner))
    if name == "silu":
        return x / (1 + np.exp(-x))
    return x


def named_options(instr: Instruction, name: str) -> Mapping[str, Any]:
    """The part of a backend configuration with a name; older versions of XLA wrote it alone."""
    whole = config(instr)
    return _mapping(whole.get(name, whole))


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _dot(instr: Instruction, options: Mapping[str, Any]) -> Instruction:
    lhs, rhs = instr.operands[:2]
    numbers = _mapping(options.get("dot_dimension_numbers"))

    def dims(key: str) -> tuple[int, ...]:
        return tuple(int(d) for d in numbers.get(key, ()))

    whole = results_of(instr)[0]
    sums = sum_type((lhs, rhs), whole.element_type)
    return instruction(
        "dot", (lhs, rhs), name=instr.name, shape=whole.with_type(sums), span=instr.span,
        lhs_batch_dims=dims("lhs_batch_dimensions"),
        rhs_batch_dims=dims("rhs_batch_dimensions"),
        lhs_contracting_dims=dims("lhs_contracting_dimensions"),
        rhs_contracting_dims=dims("rhs_contracting_dimensions"),
    )  # fmt: skip


def sum_type(operands: Sequence[Instruction], result: ElementType) -> ElementType:
    """The type in which a library sums up products: f32 or s32, or a wider one of its arrays."""
    types = [o.shape.element_type for o in operands]
    kind = _kind(types[0])
    least = {"integer": [S32], "floating": [F32]}.get(kind, [])
    return max([t for t in (result, *least, *types) if _kind(t) == kind], key=lambda t: t.bits)


def epilogue_type(product: Instruction, result: ElementType) -> ElementType:
    """The type of an epilogue's arithmetic: f32 where sums of integers become floats."""
    sums = product.shape.element_type
    return F32 if sums.is_integer and result.is_floating else sums


def problem_of_types(operands: Sequence[Instruction], result: ElementType) -> str:
    """The fault in the element types of a product; "" if there is none."""
    kinds = {_kind(o.shape.element_type) for o in operands}
    # Sums of integers may be converted to floats.
    if kinds == {_kind(result)} or (kinds == {"integer"} and result.is_floating):
        return ""
    types = " and ".join(o.shape.element_type.name for o in operands)
    return f"makes no {result.name} of {types}"


def _kind(element_type: ElementType) -> str:
    if element_type.is_complex:
        return "complex"
    return "floating" if element_type.is_floating else "integer"


@checked(*TARGETS, note="lhs, rhs, C if beta is not 0, a bias if the epilogue has one -> D, ...")
def check_gemm(instr: Instruction, _options: Options | None) -> str:
    """The fault in the operands, the results or the configuration of a product."""
    return next(_problems(instr), "")


def _problems(instr: Instruction) -> Iterator[str]:
    results, added = results_of(instr), [o.shape for o in instr.operands[2:]]
    arrays = [*(o.shape for o in instr.operands), *results]
    if len(arrays) - len(results) < 2 or not all(s.is_array for s in arrays):
        yield "takes 2 arrays or more, and gives arrays"
    if wrong := problem_of_types(instr.operands[:2], results[0].element_type):
        yield wrong
    try:
        gemm = gemm_of(instr)
        dims = infer(gemm.dot).dims
    except (HloError, ValueError, TypeError) as error:
        yield f"has a gemm_backend_config that does not fit: {reason(error)}"
        return
    if dims != results[0].dims:
        yield f"makes {list(dims)} of its operands, not {show(results[0])}"
    if len(added) != len(gemm.added):
        yield f"takes {counted(2 + len(gemm.added), 'array')}, not {len(instr.operands)}"
    yield from _problems_of_epilogue(gemm, results, added)


def _problems_of_epilogue(
    gemm: Gemm, results: Sequence[Shape], added: Sequence[Shape]
) -> Iterator[str]:
    dims = results[0].dims
    whole = gemm.alpha == int(gemm.alpha.real) and gemm.beta == int(gemm.beta)
    if results[0].element_type.is_integer and (gemm.function or not whole):
        yield "rounds to integers, which only cuBLAS's own code defines"
    for name, shape in zip(gemm.added, added, strict=True):
        if name == "bias" and not _fits(shape, results[0]):
            yield f"can't add {show(shape)} along {show(results[0])}"
        if name == "C" and shape.dims != dims:
            yield f"can't add {show(shape)}"
        if name.endswith("scale") and shape.dims:
            yield f"can't scale by {show(shape)}"
    wanted = [dims] * gemm.has_aux + [()] * gemm.has_most
    if len(wanted) > 1 or [shape.dims for shape in results[1 : 1 + len(wanted)]] != wanted:
        yield "gives the argument of its function, or the greatest value, as second result"


def _fits(bias: Shape, result: Shape) -> bool:
    if bias.rank > result.rank:
        return False
    most = 7 if result.element_type.bits == 16 and bias.rank == 1 else 0
    return all(0 <= missing <= most for missing in missing_bias(bias, result))
