"""Batching: a module computes for many examples at once, as JAX's `vmap` lets a function do.

    ENTRY f {                                  ENTRY f {
      x = f32[3] parameter(0)                    x = f32[8,3] parameter(0)
      w = f32[3] parameter(1)                    w = f32[3] parameter(1)
      ROOT y = f32[] dot(x, w)           =>      ROOT y = f32[8] dot(x, w)
    }                                          }

    by `batching{dimensions=0,-,size=8}`

References
----------
JAX, `jax/_src/interpreters/batching.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hlo.build import module as build_module
from hlo.errors.error import HloError
from hlo.types.values import ComputationLayout
from hlo.wording import counted
from optimizer.batching.control import BatchedModule, BatchedValue
from optimizer.batching.products import to_front
from optimizer.batching.table import Batch, unsharded
from optimizer.calls.clone import uniquely_named
from optimizer.derivative.bodies import computation, together
from optimizer.derivative.preparation import prepared
from optimizer.derivative.table import leaf_shapes, leaves_of, plain
from optimizer.passes import register

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module
    from hlo.types.shape import Shape
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class BatchingPass:
    """Makes a module compute for many examples at once.

    Attributes
    ----------
    dimensions : for each parameter the number of its dimension for examples, negative ones from
        the end; `-` for a parameter that all examples share. The first dimension of each parameter
        if none is given. Results have the examples in their first dimension.
    size : the number of examples; it has to be given.
    """

    name = "batching"
    transforms = True
    dimensions: tuple[int | None, ...] = ()
    size: int = 0

    def run(self, module: Module, log: Log) -> Module:
        """The module for many examples.

        Raises
        ------
        HloError
            HLO152 if parameters have no such dimensions, or the number of examples is not given;
            HLO156 if an instruction has no batched form.
        """
        if self.size < 1:
            notes = ["batching{size=8} is for 8 examples"]
            raise HloError("HLO152", "the number of examples is not given", notes=notes)
        entry = prepared(module).entry
        dims = self.dims_of(entry)
        many = self.made(entry, dims)
        layout = ComputationLayout(tuple(p.shape for p in many.parameters), many.root.shape)
        header = replace(
            module.header,
            entry_computation_layout=layout,
            input_output_alias=(),
            buffer_donor=(),
            is_scheduled=False,
        )
        whole = build_module(uniquely_named(many), module.name, header)
        whole = replace(whole, stack_frames=module.stack_frames)
        return whole if log.allow("batch", module.entry.root, whole.entry.root) else module

    def dims_of(self, entry: Computation) -> list[int | None]:
        """The dimension of each parameter that holds the examples; None for a shared one."""
        count = len(entry.parameters)
        dimensions = self.dimensions or (0,) * count
        if len(dimensions) != count:
            message = f"{counted(len(dimensions), 'dimension')} for {counted(count, 'parameter')}"
            notes = ["`-` is for a parameter that all examples share"]
            raise HloError("HLO152", message, entry.span, notes)
        return [self.dim_of(*pair) for pair in zip(entry.parameters, dimensions, strict=True)]

    def dim_of(self, parameter: Instruction, dim: int | None) -> int | None:
        """The number of a parameter's dimension for examples, counted from the front."""
        if dim is None:
            return None
        dims = {dim if dim >= 0 else dim + s.rank + 1 for s in leaf_shapes(parameter.shape)}
        most = min((s.rank for s in leaf_shapes(parameter.shape)), default=0)
        if any(not 0 <= d <= most for d in dims) or len(dims) > 1:
            message = f"there is no dimension {dim} for examples of {parameter.shape}"
            raise HloError("HLO152", f"%{parameter.name}: {message}", parameter.span)
        return next(iter(dims), None)

    def made(self, entry: Computation, dims: list[int | None]) -> Computation:
        """The entry of the batched module."""
        flags = [
            dim is not None and shape.is_array
            for p, dim in zip(entry.parameters, dims, strict=True)
            for shape in leaf_shapes(p.shape)
        ]
        batched = BatchedModule(entry, flags, Batch(self.size))
        arguments = [self.argument(*pair) for pair in zip(entry.parameters, dims, strict=True)]
        parameters = [parameter for parameter, _ in arguments]
        batched.acting = []
        root = batched.run(entry, [example for _, example in arguments], batched.of_entry())
        wanted = [shape.is_array for shape in leaf_shapes(entry.root.shape)]
        result = together(entry.root.shape, batched.leaves(root, wanted))
        return computation(entry.name, parameters, result, batched.acting)

    def argument(self, old: Instruction, dim: int | None) -> tuple[Instruction, BatchedValue]:
        """A parameter, and its value with the examples in front."""
        shapes = leaf_shapes(old.shape)
        if dim is None:
            return old, BatchedValue(old, (False,) * len(shapes))

        def wider(shape: Shape) -> Shape:
            if shape.is_tuple:
                return replace(shape, elements=tuple(map(wider, shape.elements)))
            dims = (*shape.dims[:dim], self.size, *shape.dims[dim:])
            return plain(shape).with_dims(dims) if shape.is_array else shape

        new = unsharded(old).with_(shape=wider(old.shape))
        leaves = [to_front(x, dim) if x.shape.is_array else x for x in leaves_of(new)]
        value = new if dim == 0 else together(old.shape, leaves)
        return new, BatchedValue(value, tuple(s.is_array for s in shapes))
