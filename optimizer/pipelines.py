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
from optimizer.dynamic_padder.boundary import StaticBoundary
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
from optimizer.layout.result_views import ResultViews
from optimizer.layout.row_major_entry import RowMajorEntry
from optimizer.libraries.dot_library_rewriter import GemmRewriter
from optimizer.libraries.triton_gemm_rewriter import TritonGemmRewriter
from optimizer.log import Log
from optimizer.loops.dynamic_slice_sinker import DynamicSliceSinker
from optimizer.loops.operand_packing import FEW_SUMS_IN_MEMORY, OperandPacking
from optimizer.loops.while_loop_constant_sinking import WhileLoopConstantSinking
from optimizer.loops.while_loop_invariant_code_motion import WhileLoopInvariantCodeMotion
from optimizer.loops.while_loop_simplifier import WhileLoopSimplifier
from optimizer.loops.while_loop_trip_count_annotator import WhileLoopTripCountAnnotator
from optimizer.loops.while_loop_unroller import WhileLoopUnroller
from optimizer.memory.copy_insertion import CopyInsertion
from optimizer.memory.optimize_input_output_buffer_alias import OptimizeInputOutputBufferAlias
from optimizer.observers import Verify
from optimizer.partitioning.collective_combiner import (
    AllGatherCombiner,
    AllReduceCombiner,
    ReduceScatterCombiner,
)
from optimizer.passes import Fixpoint, Pipeline, find
from optimizer.scheduling.collectives_schedule_linearizer import CollectivesScheduleLinearizer
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
    target : "cpu" or "gpu".
    strict : only passes and rules that keep every bit.
    fuse : end with fusion and scheduling, so that the result is a list of kernels in order.

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
    rows = FEW_SUMS_IN_MEMORY if target == "cpu" else 0
    simplification = Fixpoint(
        "simplification",
        (
            AlgebraicSimplifier(strict=strict),
            SortSimplifier(),
            Dce(),
            *stages.passes_of(stages.DURING, strict=strict),
            ZeroSizedHloElimination(),
            *([] if strict else [DynamicSliceSinker(max_rows=rows)]),
            WhileLoopInvariantCodeMotion(),
            TupleSimplifier(),
            *([SliceSinker()] if target == "gpu" else []),
            WhileLoopConstantSinking(),
            WhileLoopSimplifier(),
            Dce(),
            ReshapeMover(),
            ConstantFolding(),
            ConditionalSimplifier(),
            # A map whose conditionals became selects can be inlined: all of it is elementwise.
            MapInliner(),
            Cse(),
        ),
    )
    return Pipeline(
        f"{target}-optimization",
        (
            *([RowMajorEntry()] if target == "gpu" else []),
            *stages.passes_of(stages.FIRST, strict=strict),
            ExplicitPrecision(),
            DynamicPadder(),
            ShardingRemover(),
            AsyncUnwrapper(),
            DegenerateCollectiveRemover(),
            find("custom-call-expander")(),
            CallInliner(),
            # Frameworks write a sum for each of a hundred reductions, as a computation of its own,
            # and each pass would visit all of them.
            ComputationDeduplicator(),
            ZeroSizedHloElimination(),
            ConditionalToSelect(),
            MapInliner(),
            *stages.passes_of(stages.BEFORE[target], strict=strict),
            # An expanded scan calls its computation in each iteration.
            CallInliner(),
            ConditionalCanonicalizer(),
            simplification,
            # The iterations of a short loop over large arrays become one kernel, as the five rounds
            # of Threefry.
            WhileLoopUnroller(
                trip_count_threshold=8,
                instruction_count_threshold=64,
                expand_factor_threshold=400,
                state_bytes_threshold=1 << 16,
            ),
            *stages.passes_of(stages.BETWEEN[target], strict=strict),
            *stages.passes_of(_scatters(target), strict=strict),
            *stages.passes_of(stages.VECTOR_PRODUCTS if target == "gpu" else (), strict=strict),
            simplification,
            *([ConvertMover()] if target == "gpu" else []),
            *stages.passes_of(stages.TOP_K[target], strict=strict),
            *stages.passes_of(stages.AFTER, strict=strict),
            *stages.passes_of(stages.LONG_ROWS[target], strict=strict),
            Dce(),
            Cse(),
            *stages.passes_of(stages.LAST, strict=strict),
            ComputationDeduplicator(),
            WhileLoopTripCountAnnotator(),
            FlattenCallGraph(),
            *layouts(target, strict=strict),
            *([OperandPacking()] if target == "cpu" and not strict else []),
            PropagateCallMetadata(),
            *(fusions(target) if fuse else ()),
            *(schedules(target) if fuse else ()),
        ),
    )


def preparation(
    target: Target = "cpu", *, is_alone: bool = True, with_views: bool = False
) -> Pipeline:
    """The passes that a module needs before code is emitted.

    They change nothing in a static module that `pipeline` has made for one device of the target,
    but for results that are views.

    Parameters
    ----------
    is_alone : a GPU runs it by itself, whatever its header says.
    with_views : whoever calls the code sees its results in the orders of `views_of`.

    References
    ----------
    XLA, `GpuCompiler::PrepareHloModuleForIrEmitting`.
    """
    return Pipeline(
        "preparation",
        (
            *([ResultViews()] if with_views else []),
            ExplicitPrecision(),
            StaticBoundary(),
            AsyncUnwrapper(),
            DegenerateCollectiveRemover(alone=target == "gpu" and is_alone),
            *stages.passes_of(stages.NEEDED, strict=False),
            # Dead instructions need not be ones that can be emitted.
            Dce(),
            CopyInsertion(target),
        ),
    )


def code_passes(target: Target) -> Pipeline:
    """The passes between `pipeline` and the code of an executable, which a user calls in Python."""
    return preparation(target, with_views=target == "cpu")


def _scatters(target: Target) -> tuple[str, ...]:
    """The passes after which threads may run the updates of a scatter in any order."""
    if target == "cpu":
        return ()
    return stages.DETERMINISTIC_SCATTERS if asked_for_determinism() else stages.SCATTERS


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

    Devices wait for each other once for all collectives of a kind. A device computes while it
    sends. On a GPU, small kernels could run at the same time too, but XLA does that only where the
    user asks for it (async-wrapper). On a CPU, devices that wait for each other keep the order of
    their collectives.
    """
    combiners = AllGatherCombiner(), AllReduceCombiner(), ReduceScatterCombiner()
    copies = OptimizeInputOutputBufferAlias(), CopyInsertion(target)
    if target == "cpu":
        return *combiners, CollectivesScheduleLinearizer(), HloMemoryScheduler(), *copies
    scheduling = AsyncCollectiveCreator(), HloMemoryScheduler(), LatencyHidingScheduler()
    return *combiners, *scheduling, *copies


def layouts(target: Target, *, strict: bool = False) -> tuple[Pass, ...]:
    """Passes that choose layouts, make them explicit, and remove superfluous copies.

    XLA also runs reduce-decomposer, broadcast_canonicalizer and transpose-dimension-grouper. Our
    emitters need none of them: once all layouts are row-major, they emit such instructions in any
    order of dimensions.
    """
    clean_up = Fixpoint(
        "simplification after layout assignment",
        (
            AlgebraicSimplifier(strict=strict, layout_sensitive=True),
            find("reshape-decomposer")(),
            ZeroSizedHloElimination(),
            # A copy between layouts has become a transpose, which XLA's passes do not see.
            *stages.passes_of(stages.AFTER_LAYOUTS[target], strict=strict),
            ReshapeMover(),
            # No copy between layouts is left that hides a constant from its users.
            ConstantFolding(),
            # Branches are cheaper where they copied between layouts.
            ConditionalSimplifier(),
            TupleSimplifier(),
            Dce(),
            Cse(is_layout_sensitive=True),
        ),
    )
    sinking = (MoveCopyToUsers(),) if target == "gpu" else ()
    return LayoutAssignment(target), *sinking, LayoutNormalization(strict=strict), clean_up


def optimize(
    module: Module,
    target: Target = "cpu",
    *,
    strict: bool = False,
    observers: Sequence[Observer] | None = None,
    log: Log | None = None,
) -> Module:
    """Run the standard pipeline on a module, and return the optimized one.

    Parameters
    ----------
    module : stays as it is.
    target : "cpu" or "gpu".
    strict : leave out passes and rules that may change a bit of a result.
    observers : objects that are told of every pass and rewrite. If None, the verifier is the only
        one: it checks the module before the first pass and after every pass that changes something.
        Without the verifier, the module must be known to be well formed.
    log : the log to use, with observers of its own; `prepare` may go on with it.

    Raises
    ------
    HloError
        HLO020 to HLO099 if the verifier is an observer, and the module is not well formed.
    """
    watching = [Verify()] if observers is None else observers
    with no_collection():
        log = log or Log(observers=watching)
        return log.run(pipeline(target, strict=strict), module)


def prepare(
    module: Module,
    target: Target = "cpu",
    log: Log | None = None,
    *,
    is_alone: bool = True,
    with_views: bool = False,
) -> Module:
    """The module that code is written for: emitters take it as it is.

    Parameters
    ----------
    module : optimized, or not.
    target : "cpu" or "gpu".
    log : that of `optimize`, if it made the module: passes that it ended with need not run again.
    is_alone, with_views : as of `preparation`.

    Returns
    -------
    Module
        the same object where `preparation` has nothing to do.
    """
    with no_collection():
        return preparation(target, is_alone=is_alone, with_views=with_views).run(module, log)
