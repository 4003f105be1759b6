"""The passes over kernels, in the order in which they run.

A kernel is first written as plain loops. Each pass rewrites them so that the C compiler makes
faster code of them. A pass is a function from statements to statements: none works on text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from codegen.loops.narrow_counters import narrow_counters
from codegen.schedule.types import KernelTypes
from codegen.statements import scalar
from emit_c.kernels.block_reductions import block_reductions
from emit_c.kernels.cascade_sums import cascade_sums
from emit_c.kernels.coalesce_loops import coalesce_loops
from emit_c.kernels.collapse_loops import collapse_loops
from emit_c.kernels.distribute_loops import distribute_loops
from emit_c.kernels.gather_short_rows import gather_short_rows
from emit_c.kernels.interchange_short_rows import interchange_short_rows
from emit_c.kernels.overlap_remainders import overlap_remainders
from emit_c.kernels.parallelize import parallelize
from emit_c.kernels.peel_loops import peel_loops
from emit_c.kernels.peephole.divide_by_reciprocals import divide_by_reciprocals
from emit_c.kernels.peephole.hoist_masks import hoist_masks
from emit_c.kernels.peephole.inline_uses import inline_uses
from emit_c.kernels.peephole.move_words import move_words, with_given_pointers
from emit_c.kernels.peephole.outline_math import outline_math
from emit_c.kernels.peephole.round_products import round_products
from emit_c.kernels.peephole.scalar_conversions import scalar_conversions
from emit_c.kernels.peephole.select_addresses import select_addresses
from emit_c.kernels.split_interleaved_accesses import split_interleaved_accesses
from emit_c.kernels.split_lookups import split_lookups
from emit_c.kernels.split_loops import split_loops
from emit_c.kernels.split_roundings import split_roundings
from emit_c.kernels.transpose_tiles import transpose_tiles
from emit_c.kernels.unroll_columns import unroll_columns
from emit_c.kernels.unroll_narrow_loops import unroll_narrow_loops
from emit_c.kernels.unroll_periods import unroll_periods
from emit_c.kernels.unroll_short_loops import unroll_short_loops
from emit_c.kernels.unswitch_loops import unswitch_loops
from emit_c.kernels.vectorize_reductions import vectorize_reductions
from emit_c.kernels.widen_bytes import widen_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codegen.statements import Statement
    from emit_c.kernels.kernel import CKernel

    Statements = Sequence[Statement]
    # Called after each pass, with the names of the kernel and of the pass, the statements that the
    # pass has made, and the kernel. Before the first pass, it is called with "" for the pass.
    Watch = Callable[[str, str, Statements, CKernel], None]


@dataclass(frozen=True, slots=True)
class KernelPass:
    """A pass over the statements of a kernel.

    Attributes
    ----------
    name : the term that compilers use for it, where there is one.
    why : its purpose, and the reason for its position among the passes.
    run : gives the new statements, for a kernel, the kernel's name and its statements.
    """

    name: str
    why: str
    run: Callable[[CKernel, str, Statements], Statements]


def _types(kernel: CKernel, statements: Statements) -> KernelTypes:
    return KernelTypes.of_kernel(kernel.arguments.values(), statements)


PASSES = (
    KernelPass(
        "move-words",
        "Complex numbers that are only moved are moved as words of 64 bits, of which there are"
        " vectors; first, as all others look at the types of arrays.",
        lambda kernel, _, statements: move_words(kernel, statements),
    ),
    KernelPass(
        "coalesce-loops",
        "Two loops of a fold become one where their elements lie one after the other, for rows"
        " that fill no vector; before these are gathered or unrolled.",
        lambda _kernel, _, statements: coalesce_loops(statements),
    ),
    KernelPass(
        "unroll-periods",
        "Loops that choose alike every few iterations are unrolled by as many, so that other passes"
        " find loops without these choices.",
        lambda kernel, _, statements: unroll_periods(kernel.body, statements),
    ),
    KernelPass(
        "gather-short-rows",
        "Rows too short for a vector are folded side by side, a lane each, before they are"
        " unrolled: their elements lie apart, and are gathered.",
        lambda kernel, _, statements: gather_short_rows(kernel.body, statements),
    ),
    KernelPass(
        "interchange-short-rows",
        "Rows that are folded again and again, too much to be written out, are folded side by side"
        " as well, in loops around the lanes; before loops are unrolled, for the same reason.",
        lambda kernel, _, statements: interchange_short_rows(
            kernel.body, statements, _types(kernel, statements)
        ),
    ),
    KernelPass(
        "unroll-short-loops",
        "Short loops inside of long ones are written out, so that the long ones are innermost, and"
        " run in vector lanes.",
        lambda kernel, _, statements: unroll_short_loops(kernel.body, statements),
    ),
    KernelPass(
        "distribute-loops",
        "Long functions of the folds of rows are computed for a block of rows in lanes; while a"
        " fold is one loop still, and for rows that are not folded side by side already.",
        lambda kernel, _, statements: distribute_loops(kernel.body, statements),
    ),
    KernelPass(
        "block-reductions",
        "Reductions of a whole array are cut into blocks for threads to share, while a reduction"
        " is one loop still.",
        lambda kernel, _, statements: block_reductions(kernel.body, statements),
    ),
    KernelPass(
        "collapse-loops",
        "Rows of few columns are collapsed into one loop in lanes, several at a time; after folds"
        " of columns are cut into blocks, which have rows as well.",
        lambda kernel, _, statements: collapse_loops(
            kernel.body, statements, _types(kernel, statements)
        ),
    ),
    KernelPass(
        "unroll-columns",
        "Folds of a few columns have a variable for each; of those that are not collapsed, and"
        " before folds are done in lanes.",
        lambda kernel, _, statements: unroll_columns(kernel.body, statements),
    ),
    KernelPass(
        "vectorize-reductions",
        "Reductions are done in the lanes of vectors: each lane has a part of the result, and the"
        " parts are put together after the loop.",
        lambda kernel, _, statements: vectorize_reductions(
            kernel.body, statements, _types(kernel, statements)
        ),
    ),
    KernelPass(
        "round-products",
        "Products in lanes are rounded where gcc would contract them with a sum; it is known now"
        " which loops run in lanes.",
        lambda _kernel, _, statements: round_products(statements),
    ),
    KernelPass(
        "split-loops",
        "Loops around lanes are cut where their counter makes other choices, so that lanes need not"
        " choose; it is known now which loops run in lanes.",
        lambda kernel, _, statements: split_loops(kernel.body, statements),
    ),
    KernelPass(
        "peel-loops",
        "Iterations at both ends of loops in lanes, which choose otherwise than the others, are"
        " written out; after loops around them are cut, which leaves less to copy.",
        lambda kernel, _, statements: peel_loops(kernel.body, statements),
    ),
    KernelPass(
        "select-addresses",
        "Loops in lanes that load from one of two places in an array, the same for all iterations,"
        " choose the address before; after loops are cut, which leaves fewer choices.",
        lambda kernel, _, statements: select_addresses(kernel.body, statements),
    ),
    KernelPass(
        "unswitch-loops",
        "Loops in lanes that choose alike in all iterations are written once for each side, where"
        " one side is little work; before other conditions become masks.",
        lambda kernel, _, statements: unswitch_loops(kernel.body, statements),
    ),
    KernelPass(
        "hoist-masks",
        "Conditions that are the same for all iterations of a loop in lanes become limits of its"
        " counter, which compilers make masks of.",
        lambda kernel, _, statements: hoist_masks(kernel.body, statements),
    ),
    KernelPass(
        "narrow-counters",
        "Divisions of small indices in loops in lanes are done in 32 bits, of which there are"
        " vectors; later, as the passes before read indices.",
        lambda _kernel, _, statements: narrow_counters(statements),
    ),
    KernelPass(
        "divide-by-reciprocals",
        "Divisions by what all lanes share, or of 64 bits by a constant, are products; it is known"
        " now which loops run in lanes.",
        lambda _kernel, _, statements: divide_by_reciprocals(statements),
    ),
    KernelPass(
        "widen-bytes",
        "Short loops in lanes of long functions load bytes ahead, as numbers of 32 bits, so that"
        " fewer iterations are left over; it knows such loops once they are marked and masked.",
        lambda kernel, _, statements: widen_bytes(kernel.body, statements),
    ),
    KernelPass(
        "transpose-tiles",
        "Tiles that are read transposed are loaded row by row and transposed by shuffles; before"
        " others load their columns ahead.",
        lambda kernel, _, statements: transpose_tiles(kernel.body, statements),
    ),
    KernelPass(
        "split-interleaved-accesses",
        "Columns of an array are loaded and stored in loops around those in lanes, where compilers"
        " find no shuffles for them, or too many; later, as it is known now which loops run in"
        " lanes.",
        lambda kernel, _, statements: split_interleaved_accesses(
            kernel.body, statements, _types(kernel, statements)
        ),
    ),
    KernelPass(
        "split-lookups",
        "Numbers of few bits that lanes look up, which no instruction gathers, are loaded by loops"
        " of their own; it is known now which loops run in lanes.",
        lambda kernel, _, statements: split_lookups(kernel, statements),
    ),
    KernelPass(
        "unroll-narrow-loops",
        "Short loops over numbers of few bits, which fill no vector, are written out; later, as"
        " they may be collapsed or exchanged before.",
        lambda kernel, _, statements: unroll_narrow_loops(
            kernel.body, statements, _types(kernel, statements)
        ),
    ),
    KernelPass(
        "split-roundings",
        "Numbers are rounded to f16 by loops of their own, with an instruction of which compilers"
        " have no vectors; it is known now which loops run in lanes, and how long they are.",
        lambda kernel, _, statements: split_roundings(kernel.body, statements),
    ),
    KernelPass(
        "scalar-conversions",
        "Numbers of f16 that fill no vector are converted one by one, by an instruction; it is"
        " known now which loops run in lanes.",
        lambda kernel, _, statements: scalar_conversions(statements, _types(kernel, statements)),
    ),
    KernelPass(
        "overlap-remainders",
        "What is left over of a row after whole vectors is computed by one more, which ends with"
        " the row; it is known now which loops run in lanes, and how long they are.",
        lambda kernel, _, statements: overlap_remainders(
            kernel.body, statements, _types(kernel, statements)
        ),
    ),
    KernelPass(
        "cascade-sums",
        "Long sums of floats are added up in short runs, whose totals are f64, so that less is"
        " rounded; late, as the passes before divide loops and change additions.",
        lambda kernel, _, statements: cascade_sums(kernel.body, statements),
    ),
    KernelPass(
        "outline-math",
        "Long functions of numbers are called, not inlined, where few numbers are computed: how"
        " many is known when no loop is cut any more.",
        lambda kernel, _, statements: outline_math(statements, kernel.times),
    ),
    KernelPass(
        "parallelize",
        "Loops of much work become functions of a range of iterations, which threads share.",
        parallelize,
    ),
    KernelPass(
        "cast-pointers",
        "Pointers to complex numbers are taken for pointers to words once, at the head of the"
        " kernel; after threads' functions, which are given the pointers to words.",
        lambda kernel, _, statements: with_given_pointers(kernel, statements),
    ),
    KernelPass(
        "inline-uses",
        "A value that is used once is computed at its use, for readers; this pass is last, as all"
        " others look for values by their names.",
        lambda kernel, _, statements: inline_uses(statements, _types(kernel, statements)),
    ),
)

# Those that loops need that somebody else has scheduled.
_AFTER_A_SCHEDULE = tuple(
    kernel_pass for kernel_pass in PASSES if kernel_pass.name in ("parallelize", "inline-uses")
)


def run_passes(
    kernel: CKernel,
    name: str,
    statements: Statements,
    watch: Watch | None = None,
    *,
    plain: bool = False,
    schedule: KernelPass | None = None,
) -> Statements:
    """The statements of a kernel after all passes.

    Parameters
    ----------
    name : that the kernel will have in C.
    watch : is called before the first pass and after each, with the statements.
    plain : run the last pass only, which is for readers, on loops without vector lanes.
    schedule : with `plain`, a pass before that one, whose parallel loops run on threads.
    """
    statements = scalar(statements, folding=True) if schedule else statements
    if watch:
        watch(name, "", statements, kernel)
    statements = scalar(statements) if plain and not schedule else statements
    last = PASSES[-1:] if schedule is None else (schedule, *_AFTER_A_SCHEDULE)
    for kernel_pass in last if plain else PASSES:
        statements = kernel_pass.run(kernel, name, statements)
        if watch:
            watch(name, kernel_pass.name, statements, kernel)
    return statements
