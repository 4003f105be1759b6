"""Derivatives of modules: values with gradients, or with changes along a tangent.

    ENTRY f {                                  ENTRY f {
      x = f32[4] parameter(0)                    x = f32[4] parameter(0)
      s = f32[4] sine(x)                         s = f32[4] sine(x)
      ROOT y = f32[] reduce(s, 0), sum    =>     y = f32[] reduce(s, 0), sum
    }                                            c = f32[4] cosine(x)
                                                 one = f32[4] broadcast(1)
                                                 g = f32[4] multiply(one, c)
                                                 ROOT both = (f32[], f32[4]) tuple(y, g)
                                               }

Gradients are found in two steps, as in JAX: first each instruction gets its tangent, by the table
`differentiates`; then the tangents, which are a linear program of few opcodes, are transposed, by
the table `transposes`. So an opcode needs one rule for both directions, and only the opcodes that
are linear a second one, which says how an element goes back to where it came from.

References
----------
R. Frostig, M. Johnson, D. Maclaurin, A. Paszke, A. Radul, "Decomposing reverse-mode automatic
differentiation", 2021.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hlo.build import module as build_module
from hlo.errors.error import HloError
from hlo.types.values import ComputationLayout
from hlo.wording import counted
from optimizer.calls.clone import uniquely_named
from optimizer.derivative.bodies import computation, placeholders
from optimizer.derivative.channels import with_channels_of_their_own
from optimizer.derivative.control import Transformation
from optimizer.derivative.linearize import linearized
from optimizer.derivative.preparation import prepared
from optimizer.derivative.table import Dual, filled, has_tangents, leaf_shapes, plain
from optimizer.derivative.transposition import cotangents
from optimizer.passes import register
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Computation, Instruction, Module
    from hlo.types.shape import Shape
    from optimizer.derivative.linearize import Control
    from optimizer.log import Log

MODES = ("reverse", "forward", "vjp")


@register
@dataclass(frozen=True)
class DerivativePass:
    """Makes a module compute its derivative too.

    Attributes
    ----------
    wrt : numbers of the parameters by which to differentiate; all real and complex ones if none
        is given.
    mode : `reverse` yields the value and, for each of these parameters, the gradient of a scalar
        result; `forward` takes a tangent for each of them, as further parameters, and yields the
        value and its tangent; `vjp` takes a cotangent for the result, of any shape, and yields the
        value and each parameter's cotangent.
    of : in mode `reverse`, the leaf of the result that is differentiated; -1 for the only one.
    checkpoint : a loop of n iterations keeps the state of every sqrt(n)-th iteration, and computes
        the others again; else it keeps values of all.
    """

    name = "derivative"
    transforms = True
    wrt: tuple[int, ...] = ()
    mode: str = "reverse"
    of: int = -1
    checkpoint: bool = False

    def run(self, module: Module, log: Log) -> Module:
        """The module of the value and its derivative.

        Raises
        ------
        HloError
            HLO152 if there is no such mode, parameter or result; HLO155 if an instruction has no
            derivative.
        """
        if self.mode not in MODES:
            message = f"there is no mode `{self.mode}`"
            raise HloError("HLO152", message, notes=[f"there are: {', '.join(MODES)}"])
        ready = prepared(module)
        new = _Derivative(self, ready.entry).made()
        layout = ComputationLayout(tuple(p.shape for p in new.parameters), new.root.shape)
        header = replace(
            module.header,
            entry_computation_layout=layout,
            input_output_alias=(),
            buffer_donor=(),
            is_scheduled=False,
        )
        whole = with_channels_of_their_own(build_module(uniquely_named(new), module.name, header))
        whole = replace(whole, stack_frames=module.stack_frames)
        return whole if log.allow("differentiate", module.entry.root, whole.entry.root) else module


class _Derivative:
    """The derivative of an entry computation."""

    def __init__(self, options: DerivativePass, entry: Computation) -> None:
        self.options, self.entry = options, entry
        self.wrt = chosen_parameters(options, entry)
        flat = [
            (p, k in self.wrt and has_tangents(shape), shape)
            for k, p in enumerate(entry.parameters)
            for shape in leaf_shapes(p.shape)
        ]
        self.active = [active for _, active, _ in flat]
        self.shapes = [plain(shape) for _, active, shape in flat if active]
        owners = [p for p, active, _ in flat if active]
        asked = [entry.parameters[k] for k in self.wrt]
        # The positions of gradients among those in the order of parameters.
        self.order = [n for p in asked for n, owner in enumerate(owners) if owner is p]
        self.transformation = Transformation(
            entry, self.active, options.mode != "forward", options.checkpoint
        )

    def made(self) -> Computation:
        """The computation of the value and the derivative."""
        root_shapes = leaf_shapes(self.entry.root.shape)
        results = [k for k, shape in enumerate(root_shapes) if has_tangents(shape)]
        forward = self.options.mode == "forward"
        if self.options.mode == "reverse":
            results = [self.scalar(results)]
        asked = [self.shapes[n] for n in self.order]
        more = asked if forward else [plain(root_shapes[k]) for k in results]
        tangents = self.further(more) if self.options.mode != "reverse" else []
        inputs = placeholders(self.shapes)
        if forward:
            inputs = [tangents[self.order.index(n)] for n in range(len(self.shapes))]
        linear = linearized(self.entry, self.arguments(inputs), self.control())
        changes = [(linear.root.tangents[k], plain(root_shapes[k])) for k in results]
        if forward:
            yielded = [filled(change, shape) for change, shape in changes]
        else:
            seeds = tangents or [splat(1, plain(root_shapes[k])) for k in results]
            pairs = [
                (change, seed)
                for (change, _), seed in zip(changes, seeds, strict=True)
                if change is not None
            ]
            back = cotangents(pairs, inputs, self.transformation.back)
            yielded = [filled(back[n], self.shapes[n]) for n in self.order]
        root = make("tuple", linear.root.value, *yielded)
        parameters = [*self.entry.parameters, *tangents]
        return computation(self.entry.name, parameters, root, linear.acting)

    def further(self, shapes: Sequence[Shape]) -> list[Instruction]:
        """Further parameters."""
        first = len(self.entry.parameters)
        kind = "tangent" if self.options.mode == "forward" else "cotangent"
        return [
            make("parameter", shape=shape, number=first + k).with_(name=f"{kind}.{k}")
            for k, shape in enumerate(shapes)
        ]

    def control(self) -> Control:
        """The rule of loops and branches in the entry."""
        return self.transformation.control(self.entry, self.transformation.of_entry())

    def arguments(self, tangents: Sequence[Instruction]) -> list[Dual]:
        """The parameters with their tangents."""
        rest, flags = iter(tangents), iter(self.active)
        return [
            Dual(p, tuple(next(rest) if next(flags) else None for _ in leaf_shapes(p.shape)))
            for p in self.entry.parameters
        ]

    def scalar(self, results: Sequence[int]) -> int:
        """The number of the result's leaf of which to find the gradient.

        Raises
        ------
        HloError
            HLO152 if that is not known, or no real number.
        """
        root, of = self.entry.root, self.options.of
        shapes = leaf_shapes(root.shape)
        if of < 0 and len(shapes) != 1:
            message = f"%{root.name} has {counted(len(shapes), 'result')}, a gradient is of one"
            notes = [f"derivative{{of={results[0]}}} says which"] if results else []
            raise HloError("HLO152", message, root.span, notes)
        k = max(of, 0)
        if k >= len(shapes):
            message = f"there is no result {k}: %{root.name} has {counted(len(shapes), 'result')}"
            raise HloError("HLO152", message, root.span)
        if not shapes[k].element_type.is_floating or shapes[k].dims:
            notes = ["derivative{mode=forward} and {mode=vjp} differentiate results of any shape"]
            message = f"a gradient is of one real number, %{root.name} is {shapes[k]}"
            raise HloError("HLO155", message, root.span, notes)
        return k


def chosen_parameters(options: DerivativePass, entry: Computation) -> list[int]:
    """The numbers of the parameters by which to differentiate.

    Raises
    ------
    HloError
        HLO152 if there is no such parameter, HLO155 if it has no derivative.
    """
    count = len(entry.parameters)
    for n, k in enumerate(options.wrt):
        if k in options.wrt[:n]:
            raise HloError("HLO152", f"parameter {k} is named twice")
        if k >= count or k < 0:
            message = f"there is no parameter {k}: {entry.name} has {counted(count, 'parameter')}"
            raise HloError("HLO152", message, entry.span)
        parameter = entry.parameters[k]
        if not any(map(has_tangents, leaf_shapes(parameter.shape))):
            message = f"%{parameter.name} is {parameter.shape}: only real and complex numbers"
            raise HloError("HLO155", f"{message} have derivatives", parameter.span)
    return list(options.wrt or range(count))
