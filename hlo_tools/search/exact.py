"""How far floats are from their values in f64, for each instruction and after each pass.

The module is run a second time with every float in f64 (complex numbers in c128). The f64 value,
rounded once, is taken for the right one; distances are in ULPs of the type that the module has, and
of the largest element of an array.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import ml_dtypes
import numpy as np

from hlo.backend import without_donations
from hlo.errors.error import HloError
from hlo.types.element_type import ELEMENT_TYPES, F64
from hlo.verify import verify
from hlo_tools.generate.resizing import reshaped
from hlo_tools.values.bounded import leaves
from interpreter import evaluate
from interpreter.numbers.compare import compare
from interpreter.numbers.widths import type_of, widened
from optimizer.log import Log, Silent
from optimizer.observers import Verify
from optimizer.passes import Fixpoint, Pipeline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hlo.backend import Backend
    from hlo.instruction import Instruction, Module
    from hlo.types.shape import Shape
    from interpreter.engine.frame import Evaluation
    from optimizer.log import Pass

Value = Any  # an array, None for a token, or a tuple of values
C128 = ELEMENT_TYPES["c128"]


@dataclass(frozen=True, slots=True)
class Error:
    """The distance of a value from the right one.

    Attributes
    ----------
    ulps : the largest distance, in units in the last place of the array's largest element: what
        matters to who goes on with the array. A 0 in the place of 1e-9 is nothing beside a 1.
    relative : the same, as a part of the largest element.
    by_element : the largest distance in units in the last place of the element itself.
    """

    ulps: float = 0
    relative: float = 0.0
    by_element: int = 0


@dataclass(frozen=True, slots=True)
class InstructionError:
    """The error of an instruction: all of it, and the part that is not its operands'.

    Attributes
    ----------
    whole : beside the whole module in f64.
    own : beside the instruction alone in f64, on the operands that it has; None where that can't
        be told.
    """

    instr: Instruction
    whole: Error
    own: Error | None


@dataclass(frozen=True, slots=True)
class PassError:
    """The error of the module's result after a pass."""

    name: str
    error: Error


def in_f64(module: Module) -> Module:
    """The same module with every float in f64.

    Raises
    ------
    HloError
        HLO203 if it does something that f64 can't: it looks at bits, or calls others.
    """
    try:
        result = reshaped(module, _widened)
        verify(result)
    except HloError as error:
        raise HloError(
            "HLO203", f"the module has no form in f64: {error.message}", error.span
        ) from None
    return result


def _widened(shape: Shape) -> Shape:
    kind = shape.element_type.kind
    wider = {"float": F64, "complex": C128}.get(kind)
    return replace(shape, element_type=wider) if wider else shape


def as_f64(value: Value) -> Value:
    """A value with its floats in f64."""
    if isinstance(value, tuple):
        return tuple(as_f64(element) for element in cast("tuple[Value, ...]", value))
    if value is None:
        return None
    kind = type_of(np.asarray(value)).kind
    dtype = {"float": np.float64, "complex": np.complex128}.get(kind)
    return np.asarray(value) if dtype is None else widened(np.asarray(value)).astype(dtype)


def error_of(got: Value, exact: Value) -> Error:
    """The distance of a value from one in f64; a value that is no float counts as right."""
    worst = Error()
    for leaf, right in zip(leaves(got), leaves(exact), strict=True):
        if type_of(leaf).kind not in ("float", "complex") or leaf.shape != right.shape:
            continue
        error = _error_of_array(leaf, right)
        worst = Error(*map(max, astuple(worst), astuple(error)))
    return worst


def _error_of_array(got: NDArray[Any], right: NDArray[Any]) -> Error:
    with np.errstate(all="ignore"):
        rounded = right.astype(got.dtype)
        compared = compare(got, rounded)
        numbers, wanted = (widened(x).astype(right.dtype) for x in (got, rounded))
    by_element = compared.max_ulps if compared is not None else 0
    finite = np.isfinite(numbers) & np.isfinite(wanted)
    if not by_element or not finite.any():
        return Error(by_element, 0.0, by_element)
    largest = float(np.abs(wanted[finite]).max())
    apart = float(np.abs(numbers[finite] - wanted[finite]).max())
    elsewhere = compare(got[~finite], rounded[~finite]) if not finite.all() else None
    if not largest or elsewhere is not None:
        return Error(by_element, math.inf if apart else 0.0, by_element)
    return Error(apart / _unit(largest, got.dtype), apart / largest, by_element)


def _unit(number: float, dtype: Any) -> float:
    """The distance of neighbours of a type near a number that is not 0: one ULP."""
    kind = type_of(np.zeros((), dtype)).real.dtype
    info = cast("Any", ml_dtypes.finfo(kind))
    scale = 2.0 ** math.floor(math.log2(number))
    return max(scale * float(info.eps), float(info.smallest_subnormal))


def instruction_errors(module: Module, arguments: Sequence[Value]) -> list[InstructionError]:
    """The error of each instruction of the entry computation that computes floats.

    Raises
    ------
    HloError
        as `in_f64`, and as evaluating does.
    """
    got = values_of(module, arguments)
    exact = values_of(in_f64(module), [as_f64(a) for a in arguments])
    rows: list[InstructionError] = []
    for instr in module.entry.instructions:
        floats = any(t.element_type.kind in ("float", "complex") for _, t in instr.shape.leaves())
        if floats and "leaf" not in instr.row.traits and instr.name in exact:
            own = own_error(instr, got)
            rows.append(InstructionError(instr, error_of(got[instr.name], exact[instr.name]), own))
    return rows


def own_error(instr: Instruction, got: dict[str, Value]) -> Error | None:
    """The error that an instruction makes of right operands."""
    from hlo_tools.search.shrink.parts import alone  # noqa: PLC0415  it is a large room

    try:
        single = in_f64(alone(instr))
        exact = evaluate(single, *[as_f64(got[o.name]) for o in dict.fromkeys(instr.operands)])
    except Exception:
        # Whatever it needs beside its operands.
        return None
    return error_of(got[instr.name], exact)


def values_of(module: Module, arguments: Sequence[Value]) -> dict[str, Value]:
    """The value of each instruction of the entry computation."""
    values: dict[str, Value] = {}

    def observe(event: Evaluation) -> None:
        if len(event.path) == 1:
            values[event.instr.name] = event.value

    evaluate(module, *arguments, observe=observe)
    return values


class _PassErrors(Silent):
    """Evaluates the module after each pass that changed it."""

    def __init__(self, arguments: Sequence[Value], exact: Value) -> None:
        self.arguments, self.exact = arguments, exact
        self.errors: list[PassError] = []

    def after(self, pass_: Pass, before: Module, after: Module, log: Log) -> None:  # noqa: ARG002
        """Note how far the result is from the exact one after a pass."""
        if after is not before and not isinstance(pass_, Pipeline | Fixpoint):
            error = error_of(evaluate(after, *self.arguments), self.exact)
            self.errors.append(PassError(pass_.name, error))


def pass_errors(
    module: Module, passes: Pass, arguments: Sequence[Value], backend: Backend | None = None
) -> list[PassError]:
    """The error of the result before the passes, and after each one that changes the module.

    Parameters
    ----------
    backend : also tell of its result, last.

    Raises
    ------
    HloError
        as `in_f64`, and as evaluating does.
    """
    exact = evaluate(in_f64(module), *[as_f64(a) for a in arguments])
    first = PassError("", error_of(evaluate(module, *arguments), exact))
    stops = _PassErrors(arguments, exact)
    Log([Verify(), stops]).run(passes, module)
    if backend is None:
        return [first, *stops.errors]
    (value,) = backend.load(without_donations(module))([arguments])
    return [first, *stops.errors, PassError(f"on {backend.name}", error_of(value, exact))]
