"""Programs that JAX sends for several devices, divided by PyHLO's own partitioner.

JAX says in its options which shardings of parameters and results it leaves to the compiler, and
asks the executable for those that the compiler chose.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import hlo
from hlo.attributes import CustomCall
from hlo.attributes.annotations import Annotations
from hlo.read.quoting import unquote
from hlo.sharded import with_sharding
from hlo.types.sharding import Sharding
from hlo.walk import rebuild
from hlo.write.sharding_print import print_sharding
from hlo_jax.abi.proto import bytes_field, fields
from hlo_jax.private.programs import divided_by_user, hlo_of_mlir, hlo_of_text, tell_sharding
from hlo_jax.programs.constants import module_of
from optimizer.log import Log
from optimizer.partitioning.custom import DIVIDERS, DividedCall
from optimizer.partitioning.cuts import cut_of, sharding_of
from optimizer.partitioning.entry import is_allowed
from optimizer.partitioning.sharding_propagation import ShardingPropagation
from optimizer.partitioning.spmd_partitioning import SpmdPartitioning
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from hlo.instruction import Instruction, Module
    from hlo.types.shape import Shape
    from hlo_jax.programs.options import CompileOptions

# Fields of a HloModuleProto that its text does not have: how results and parameters are divided.
RESULT_SHARDING, PARAMETER_SHARDINGS = 12, 14
# Fields of HloModuleProto, HloComputationProto and HloInstructionProto.
_COMPUTATIONS, _INSTRUCTIONS, _OPCODE, _SHARDING = 3, 2, 2, 40


def divided(whole: Module, options: CompileOptions) -> tuple[Module, bytes]:
    """The module that each device runs, and its interface as a serialized HloModuleProto.

    Raises
    ------
    HloError
        HLO122 if a sharding is not one of all devices, or does not fit its array.
    """
    header = replace(
        whole.header,
        num_partitions=options.num_partitions,
        replica_count=options.num_replicas,
        allow_spmd_sharding_propagation_to_parameters=options.propagate_to_parameters,
        allow_spmd_sharding_propagation_to_output=options.propagate_to_output,
    )
    chosen = ShardingPropagation().run(replace(whole, header=header), Log())
    chosen = _with_even_ends(chosen)
    _tell_shardings(chosen)
    part = SpmdPartitioning(entry=True).run(chosen, Log())
    given = [_sharding(p) for p in chosen.entry.parameters]
    return part, _interface(part, given, _sharding(chosen.entry.root))


def _with_even_ends(chosen: Module) -> Module:
    """The module whose parameters and results are cut evenly, where the choice is the compiler's.

    JAX has no arrays with parts of several sizes. Shardy does the same in its last pass,
    `update-non-divisible-input-output-shardings`.
    """
    header, entry = chosen.header, chosen.entry
    free = header.allow_spmd_sharding_propagation_to_parameters
    plan: dict[Instruction, Instruction] = {}
    for number, instr in enumerate(entry.parameters):
        if is_allowed(free, number):
            plan[instr] = with_sharding(instr, _even(_sharding(instr), instr.shape))
    # An empty tuple has a sharding, too, of no array.
    if leaves := entry.root.shape.leaves():
        free = header.allow_spmd_sharding_propagation_to_output
        whole = _sharding(entry.root)
        each = whole.elements if whole.kind == "tuple" else (whole,)
        pairs = zip(each, leaves, strict=True)
        even = [
            _even(sharding, shape) if is_allowed(free, number) else sharding
            for number, (sharding, (_, shape)) in enumerate(pairs)
        ]
        made = replace(whole, elements=tuple(even)) if whole.kind == "tuple" else even[0]
        plan[entry.root] = with_sharding(plan.get(entry.root, entry.root), made)
    entry = rebuild(entry, plan)
    header = replace(
        header,
        allow_spmd_sharding_propagation_to_parameters=(),
        allow_spmd_sharding_propagation_to_output=(),
    )
    computations = tuple(entry if c is chosen.entry else c for c in chosen.computations)
    return replace(chosen, computations=computations, entry=entry, header=header)


def _even(sharding: Sharding, shape: Shape) -> Sharding:
    cut = cut_of(sharding, shape.rank) if shape.is_array else None
    if cut is None or cut.is_even(shape):
        return sharding
    return sharding_of(cut.without(cut.uneven(shape)))


def _sharding(instr: Instruction) -> Sharding:
    """The sharding of a parameter or of the result; each device has all where none is said."""
    found = instr.annotations.sharding or Sharding("replicated")
    if instr.shape.is_tuple and found.kind != "tuple":
        return Sharding("tuple", elements=(found,) * max(len(instr.shape.elements), 1))
    return found


def _tell_shardings(module: Module) -> None:
    """Tell `jax.debug.inspect_array_sharding` how arrays are divided."""
    for instr in module.instructions():
        if instr.opcode == "custom-call" and CustomCall.of(instr).custom_call_target == _INSPECT:
            key = _config(instr).encode("utf-8", "surrogateescape")
            tell_sharding(key, print_sharding(_sharding(instr.operands[0])))


def _divided_call(
    instr: Instruction, operands: Sequence[Sharding], results: Sequence[Sharding]
) -> DividedCall:
    """A call of a function with JAX's `custom_partitioning`."""

    def told(shape: Shape, sharding: Sharding) -> tuple[tuple[np.dtype, tuple[int, ...]], str]:
        return (shape.element_type.dtype, shape.dims), print_sharding(sharding)

    shapes = [shape for _, shape in instr.shape.leaves()]
    code, given, made = divided_by_user(
        _config(instr),
        [told(o.shape, s) for o, s in zip(instr.operands, operands, strict=True)],
        [told(shape, s) for shape, s in zip(shapes, results, strict=True)],
    )
    module = module_of(hlo_of_mlir(code))
    return DividedCall(module, [_read(s) for s in given], [_read(s) for s in made])


DIVIDERS["CustomSPMDPartitioning"] = _divided_call
_INSPECT = "InspectSharding"


def _config(instr: Instruction) -> str:
    """The text that a custom call comes with."""
    text = instr.annotations.backend_config or ""
    return unquote(text) if text.startswith('"') else text


def _read(sharding: str) -> Sharding:
    text = f"HloModule m\nENTRY e {{ ROOT x = f32[] parameter(0), sharding={sharding} }}"
    found = hlo.parse(text).entry.root.annotations.sharding
    assert found, "a sharding"
    return found


def _interface(part: Module, given: list[Sharding], result: Sharding) -> bytes:
    """A module of the same parameters and results, with their shardings as XLA tells them."""
    pairs = zip(part.entry.parameters, given, strict=True)
    parameters = tuple(_annotated(p, sharding) for p, sharding in pairs)
    call = make("custom-call", *parameters, shape=part.entry.root.shape, custom_call_target="body")
    root = _annotated(call.with_(name="result"), result)
    entry = replace(part.entry, instructions=(*parameters, root), root=root)
    header = replace(part.header, input_output_alias=(), buffer_donor=())
    proto = hlo_of_text(str(replace(part, computations=(entry,), entry=entry, header=header)))
    shardings = {RESULT_SHARDING: list[bytes](), PARAMETER_SHARDINGS: list[bytes]()}
    for computation in _messages(proto, _COMPUTATIONS):
        for instr in _messages(computation, _INSTRUCTIONS):
            is_parameter = next(_messages(instr, _OPCODE)) == b"parameter"
            field = PARAMETER_SHARDINGS if is_parameter else RESULT_SHARDING
            shardings[field] += _messages(instr, _SHARDING)
    return proto + b"".join(bytes_field(k, v) for k, each in shardings.items() for v in each)


def _annotated(instr: Instruction, sharding: Sharding) -> Instruction:
    return instr.with_(annotations=Annotations(sharding=sharding))


def _messages(message: bytes, field: int):
    return (v for k, v in fields(message) if k == field and isinstance(v, bytes))
