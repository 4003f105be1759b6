"""The standard pipelines, in XLA's order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from hlo.support.garbage import no_collection
from optimizer.calls.async_unwrapper import AsyncUnwrapper
from optimizer.calls.call_inliner import CallInliner
from optimizer.calls.computation_deduplicator import ComputationDeduplicator
from optimizer.calls.flatten_call_graph import FlattenCallGraph
from optimizer.calls.map_inliner import MapInliner
from optimizer.cleanup.cse import Cse
from optimizer.cleanup.dce import Dce
from optimizer.cleanup.sharding_remover import ShardingRemover
from optimizer.cleanup.sort_simplifier import SortSimplifier
from optimizer.cleanup.tuple_simplifier import TupleSimplifier
from optimizer.conditionals.conditional_canonicalizer import ConditionalCanonicalizer
from optimizer.conditionals.conditional_simplifier import ConditionalSimplifier
from optimizer.conditionals.conditional_to_select import ConditionalToSelect
from optimizer.diagnostics.propagate_call_metadata import PropagateCallMetadata
from optimizer.dynamic_padder.dynamic_padder import DynamicPadder
from optimizer.expanders import stages
from optimizer.expanders.degenerate_collective_remover import DegenerateCollectiveRemover
from optimizer.expanders.precision.explicit_precision import ExplicitPrecision
from optimizer.fusion.horizontal_input_fusion import HorizontalInputFusion
from optimizer.fusion.horizontal_loop_fusion import HorizontalLoopFusion
from optimizer.fusion.instruction_fusion import InstructionFusion
from optimizer.fusion.multi_output_fusion import MultiOutputFusion
from optimizer.fusion.priority_fusion import PriorityFusion
from optimizer.fusion.softmax_rewriter_triton import SoftmaxRewriterTriton
from optimizer.gpu.async_collective_creator import AsyncCollectiveCreator
from optimizer.gpu.atomics import asked_for_determinism
from optimizer.gpu.latency_hiding_scheduler import LatencyHidingScheduler
from optimizer.layout.layout_assignment import LayoutAssignment
from optimizer.layout.layout_normalization import LayoutNormalization
from optimizer.layout.move_copy_to_users import MoveCopyToUsers
from optimizer.libraries.dot_library_rewriter import GemmRewriter
from optimizer.libraries.triton_gemm_rewriter import TritonGemmRewriter
from optimizer.log import Log
from optimizer.loops.while_loop_constant_sinking import WhileLoopConstantSinking
from optimizer.loops.while_loop_invariant_code_motion import WhileLoopInvariantCodeMotion
from optimizer.loops.while_loop_simplifier import WhileLoopSimplifier
from optimizer.loops.while_loop_trip_count_annotator import WhileLoopTripCountAnnotator
from optimizer.loops.while_loop_unroller import WhileLoopUnroller
from optimizer.memory.copy_insertion import CopyInsertion
from optimizer.memory.optimize_input_output_buffer_alias import OptimizeInputOutputBufferAlias
from optimizer.observers import Verify
from optimizer.passes import Fixpoint, Pipeline, find
from optimizer.scheduling.memory_scheduler import HloMemoryScheduler
from optimizer.simplification.algebraic_simplifier import AlgebraicSimplifier
from optimizer.simplification.constant_folding import ConstantFolding
from optimizer.simplification.convert_mover import ConvertMover
from optimizer.simplification.reshape_mover import ReshapeMover
from optimizer.simplification.slice_sinker import SliceSinker
from optimizer.simplification.zero_sized_hlo_elimination import ZeroSizedHloElimination

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Module
    from optimizer.log import Observer
    from optimizer.passes import Pass

Target = Literal["cpu", "gpu"]


def pipeline(target: Target = "cpu", *, strict: bool = False, fuse: bool = True) -> Pipeline:
    """The standard pipeline for a target.

    Parameters
    ----------
    strict : only passes and rules that keep every bit.
    fuse : end with fusion and a schedule, so that the result is a list of kernels.

    Where `XLA_FLAGS` in the environment has `--xla_gpu_deterministic_ops`, the pipeline for GPUs
    leaves no scatter whose bits depend on the order of threads.

    Raises
    ------
    ValueError
        if there is no such target.

    References
    ----------
    XLA, `xla/service/cpu/cpu_compiler.cc` and `xla/service/gpu/gpu_compiler.cc`.
    """
    if target not in get_args(Target):
        raise ValueError(f"target is {target!r}, not one of {', '.join(get_args(Target))}")
    simplification = Fixpoint(
        "simplification",
        (
            AlgebraicSimplifier(strict=strict),
            SortSimplifier(),
            Dce(),
            *stages.passes_of(stages.DURING, strict=strict),
            ZeroSizedHloElimination(),
            WhileLoopInvariantCodeMotion(),
            TupleSimplifier(),
            *([SliceSinker()] if target == "gpu" else []),
            WhileLoopConstantSinking(),
            WhileLoopSimplifier(),
            Dce(),
            ReshapeMover(),
            ConstantFolding(),
            ConditionalSimplifier(),
            # A map whose branches became selects is nothing but elementwise instructions.
            MapInliner(),
            Cse(),
        ),
    )
    return Pipeline(
        f"{target}-optimization",
        (
            ExplicitPrecision(),
            DynamicPadder(),
            ShardingRemover(),
            AsyncUnwrapper(),
            DegenerateCollectiveRemover(),
            find("custom-call-expander")(),
            CallInliner(),
            # Frameworks write a sum for each of a hundred reductions, and each pass would look at
            # all of them.
            ComputationDeduplicator(),
            ZeroSizedHloElimination(),
            ConditionalToSelect(),
            MapInliner(),
            *stages.passes_of(stages.BEFORE[target], strict=strict),
            # The iterations of a former scan call its computation.
            CallInliner(),
            ConditionalCanonicalizer(),
            simplification,
            # Iterations of a short loop over large arrays become one kernel, as the five of
            # Threefry.
            WhileLoopUnroller(
                trip_count_threshold=8,
                instruction_count_threshold=64,
                expand_factor_threshold=400,
                state_bytes_threshold=1 << 16,
            ),
            *stages.passes_of(stages.BETWEEN[target], strict=strict),
            *stages.passes_of(_scattered(target), strict=strict),
            *stages.passes_of(stages.VECTORS if target == "gpu" else (), strict=strict),
            simplification,
            *([ConvertMover()] if target == "gpu" else []),
            *stages.passes_of(stages.FEW[target], strict=strict),
            *stages.passes_of(stages.AFTER, strict=strict),
            Dce(),
            Cse(),
            *stages.passes_of(stages.LAST, strict=strict),
            ComputationDeduplicator(),
            WhileLoopTripCountAnnotator(),
            FlattenCallGraph(),
            *layouts(target, strict=strict),
            PropagateCallMetadata(),
            *(fusions(target) if fuse else ()),
            *(schedules(target) if fuse else ()),
        ),
    )


def preparation(target: Target = "cpu") -> Pipeline:
    """The passes that a module needs before code for one device is emitted.

    It leaves alone what `pipeline` has made for one device of the target.

    References
    ----------
    XLA, `GpuCompiler::PrepareHloModuleForIrEmitting`.
    """
    return Pipeline(
        "preparation",
        (
            ExplicitPrecision(),
            AsyncUnwrapper(),
            DegenerateCollectiveRemover(alone=True),
            *stages.passes_of(stages.NEEDED, strict=False),
            # Dead instructions need not be ones that can be emitted.
            Dce(),
            CopyInsertion(target),
        ),
    )


def _scattered(target: Target) -> tuple[str, ...]:
    """The attributes with which updates of a scatter never meet."""
    if target == "cpu":
        return ()
    return stages.IN_ORDER if asked_for_determinism() else stages.SCATTERED


def fusions(target: Target) -> tuple[Pass, ...]:
    """The passes that make kernels, and for a GPU calls of its libraries."""
    if target == "cpu":
        return InstructionFusion(target), MultiOutputFusion(target), TupleSimplifier()
    return (
        TritonGemmRewriter(),
        GemmRewriter(),
        SoftmaxRewriterTriton(),
        PriorityFusion(),
        MultiOutputFusion(target),
        HorizontalLoopFusion(),
        HorizontalInputFusion(),
        TupleSimplifier(),
    )


def schedules(target: Target) -> tuple[Pass, ...]:
    """An order in which instructions run, and the copies that it needs.

    Devices compute while they send; what is small could run beside something else on a GPU too, but
    XLA leaves it to the user to say so (async-wrapper).
    """
    copies = OptimizeInputOutputBufferAlias(), CopyInsertion(target)
    if target == "cpu":
        return HloMemoryScheduler(), *copies
    return AsyncCollectiveCreator(), HloMemoryScheduler(), LatencyHidingScheduler(), *copies


def layouts(target: Target, *, strict: bool = False) -> tuple[Pass, ...]:
    """Passes that choose layouts, make them explicit, and remove superfluous copies.

    XLA also runs reduce-decomposer, broadcast_canonicalizer and transpose-dimension-grouper: once
    all is row-major, our emitters read through such instructions whatever their dimensions.
    """
    clean_up = Fixpoint(
        "simplification after layout assignment",
        (
            AlgebraicSimplifier(strict=strict, layout_sensitive=True),
            find("reshape-decomposer")(),
            ZeroSizedHloElimination(),
            # A former copy between layouts is a transpose now, which XLA's passes don't see.
            *stages.passes_of(stages.RELAID[target], strict=strict),
            ReshapeMover(),
            # Branches are cheaper where they copied between layouts.
            ConditionalSimplifier(),
            TupleSimplifier(),
            Dce(),
            Cse(is_layout_sensitive=True),
        ),
    )
    sinking = (MoveCopyToUsers(),) if target == "gpu" else ()
    return LayoutAssignment(target), *sinking, LayoutNormalization(), clean_up


def optimize(
    module: Module,
    target: Target = "cpu",
    *,
    strict: bool = False,
    observers: Sequence[Observer] | None = None,
    log: Log | None = None,
) -> Module:
    """Run the standard pipeline on a module.

    Parameters
    ----------
    strict : only what keeps every bit of every result.
    observers : who watches; if None, the verifier, before the first pass and after every pass that
        changes something. Without it, the module must be known to be well formed.
    log : in place of one with these observers; `prepare` may go on with it.

    Raises
    ------
    HloError
        HLO020 to HLO099 if the verifier watches, and the module is not well-formed.
    """
    watching = [Verify()] if observers is None else observers
    with no_collection():
        log = log or Log(observers=watching)
        return log.run(pipeline(target, strict=strict), module)


def prepare(module: Module, target: Target = "cpu", log: Log | None = None) -> Module:
    """The module that emitters are given in the place of any other: for one device.

    Parameters
    ----------
    log : that of `optimize`, if it made the module: what it ended with need not run again.

    Returns
    -------
    Module
        the same object where `optimize` made it of a module for one device.
    """
    with no_collection():
        return preparation(target).run(module, log)
