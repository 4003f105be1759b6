"""Each primitive of `codegen.schedule`, applied to random small loops."""

from dataclasses import replace
from functools import partial

from nests import nest, perfect, sums_in_guards, with_guards

from codegen.elements.kernel import Scope
from codegen.expressions import BLOCK_X, THREAD_X, Choose, Literal, Load, Name, indexed
from codegen.schedule.coalesce import coalesce
from codegen.schedule.conditions import turning_points
from codegen.schedule.cut import cut
from codegen.schedule.divide import divide, fresh, overlap
from codegen.schedule.expand import expand
from codegen.schedule.fission import computed, reading
from codegen.schedule.hoist import hoist
from codegen.schedule.interchange import interchange, reorder
from codegen.schedule.legality import IllegalError
from codegen.schedule.loop import LoopView
from codegen.schedule.order import bind, parallelize, vectorize
from codegen.schedule.rfactor import deal, rfactor
from codegen.schedule.stage import loading_tile, storing_tile
from codegen.schedule.strip_mine import strip_mine
from codegen.schedule.trace import attempt
from codegen.schedule.unroll import unroll, unroll_by
from codegen.schedule.unroll_and_jam import unroll_and_jam
from codegen.schedule.unswitch import unswitch
from codegen.statements import Assign, For, If, Let, LocalVariable, nested
from emit_c.kernels.kernel import CKernel
from optimizer.analysis.indexing import counter


def body():
    return CKernel(None, Scope()).body


def divided(choose, loop):
    """The loop in blocks, some of them longer than the loop."""
    return divide(body(), loop, choose([1, 2, 4, 16]), lambda block, _: [fresh(body(), block)])


def named_bounds(choose, loop):
    """Values of names, and the loop with these as its bounds, or as it is."""
    bounds = {} if choose([True, False]) else {"stop": Name("stop"), "start": Name("start")}
    known = Let("s64", "start", Literal(loop.start)), Let("s64", "stop", Literal(loop.stop))
    return known, replace(loop, **bounds)


def rested(choose, loop):
    """Whole blocks, and a loop over what is left, which counts on."""
    size, names = choose([1, 2, 4, 16]), body()
    known, loop = named_bounds(choose, loop)

    def inside(block, _=None):
        return [fresh(names, block)]

    return [*known, *divide(names, loop, size, inside, rest=inside)]


def guarded(choose, loop):
    """The loop in whole blocks, in which iterations past the end do nothing."""
    return blocked(choose, loop, "guard")


def repeated(choose, loop):
    """The loop in whole blocks, in which iterations past the end do the last one again."""
    return blocked(choose, loop, "again")


def ended(choose, loop):
    """The loop in blocks, of which the last one ends with it."""
    return blocked(choose, loop, "min")


def counting(choose):
    """A loop that counts by 1 or by 2."""
    return replace(nest(choose), step=choose([1, 2]))


def blocked(choose, loop, tail):
    size, names = choose([1, 2, 4, 16]), body()
    known, loop = named_bounds(choose, loop)

    def inside(block, _):
        return [fresh(names, block)]

    return [*known, *divide(names, loop, size, inside, tail=tail)]


def strip_mined(choose, loop):
    """Strips, and what is left over in the last one."""
    return [strip_mine(body(), loop, choose([2, 3]), lambda strip: [strip])]


def overlapped(choose, loop):
    """Whole blocks, and one that ends with the loop."""
    return overlap(body(), loop, choose([2, 3, 4]))


def jammed(choose, loop):
    names = body()

    def inside(block, _):
        return unroll_and_jam(names, block, choose([2, 3]))

    return divide(names, loop, 16, inside)


def jammed_whole(choose, loop):
    return unroll_and_jam(body(), loop, choose([2, 3]))


def expanded(_, loop):
    arrays, made = expand(body(), loop)
    return [*arrays, made]


def staged(choose, loop):
    """The loads of one element ahead of the loop."""
    loads = LoopView(loop).certain_loads
    if not loads:
        raise IllegalError("there is no load")
    value = choose(loads)

    def inside(block, _):
        element = Load(Name("ahead"), Name(block.name))
        yield LocalVariable("s64", "ahead", None, 16)
        yield fresh(names, computed(block, {element: value}))
        yield fresh(names, reading(block, {value: element}))

    names = body()
    return divide(names, loop, 16, inside)


def tiled(choose, loop):
    """The loads of one element ahead of two loops, by columns where this is legal, too."""
    return tiled_by(choose, loop, LoopView(loop.body[-1]).certain_loads)


def tiled_in_guards(choose, loop):
    """The same of an element that guards may leave out, some of them around the inner loop."""
    (inner,) = (s for s in nested(loop.body) if isinstance(s, For))
    return tiled_by(choose, loop, LoopView(inner).loads)


def tiled_by(choose, loop, loads):
    if not loads:
        raise IllegalError("there is no load")
    here = Load(Name("ahead"), Name("i") * 8 + Name("j"))
    copy, last = loading_tile(loop, here, choose(loads))
    columns = attempt(lambda: interchange(copy)) or copy
    return [LocalVariable("s64", "ahead", None, 128), columns, fresh(body(), last)]


def tiled_stores(choose, loop):
    """What two loops store in one element, after both of them."""
    stores = [s.target for s in loop.body[-1].body if isinstance(s, Assign)]
    if not stores:
        raise IllegalError("there is no store")
    here = Load(Name("waiting"), Name("i") * 8 + Name("j"))
    first, copy = storing_tile(loop, here, choose(stores))
    return [LocalVariable("s64", "waiting", None, 128), first, fresh(body(), copy)]


def reordered(choose, loop):
    """The iterations in another order, as in lanes and on threads."""
    on_threads = partial(bind, index=THREAD_X)
    return [choose([vectorize, parallelize, on_threads])(loop)]


def reordered_in_guards(choose, loop):
    """The same where only guards tell that iterations store apart from each other."""
    return [choose([parallelize, partial(bind, index=BLOCK_X)])(loop)]


def of_loops(choose):
    """A loop from 0 around loops, some of them deep, and statements between them."""
    loop = nest(choose, [None, "inner", "inner"])
    deep = perfect(choose).body
    more = choose([(), deep, of_sums(choose).body[-3:], (For("m", 2, deep),)])
    return replace(loop, start=0, body=choose([(*loop.body, *more), more or loop.body]))


def of_sums(choose):
    """A loop from 0 that adds up in a variable of each iteration."""
    loop = nest(choose, [None, "inner"])
    added = Assign(Name("own"), Name("own") + Load(Name("a"), Name("i") + Name("j")))
    total = For("j", choose([1, 3]), (added,), reductions=(("+", "own"),))
    last = Assign(Load(Name("b"), Name("i") * choose([0, 1])), Name("own"))
    body = (*loop.body, LocalVariable("s64", "own", Name("i")), total, last)
    return replace(loop, start=0, body=body)


def of_same(choose):
    """A loop whose iterations begin with copies that do not depend on its counter, or do."""
    loop, place = nest(choose, [None]), choose([Name("m"), Name("m"), Name("m") + Name("i")])
    value = choose([Load(Name(choose("abcd")), Name("m")), Name("m"), Name("i")])
    copies = For("m", 3, (Assign(Load(Name(choose("abcd")), place), value),))
    return replace(loop, body=(copies, *loop.body))


def from_zero(choose):
    """A loop that counts from 0, some of whose index arithmetic has been simplified."""
    loop = nest(choose)
    number = counter("i", loop.stop)
    parts = Load(Name("a"), indexed(number // 3)) + Load(Name("b"), indexed(number % 3))
    store = Assign(Load(Name("d"), indexed(number * 2 + 1)), parts)
    return replace(loop, start=0, body=(*loop.body, store))


def around(choose):
    """Two loops, and nothing between them."""
    loop = perfect(choose)
    return loop.with_body([replace(loop.body[-1], step=choose([1, 1, 2]))])


def around_two(choose):
    """Three loops, and nothing between them."""
    loop = around(choose)
    (inner,) = loop.body
    deep = For("m", choose([1, 2, 3]), inner.body)
    return loop.with_body([inner.with_body([deep])])


def folding(choose):
    """A loop that adds up, and may read the sum too early."""
    loop, total = nest(choose), Load(Name("total"), Literal(0))
    added = Assign(total, total + Load(Name("a"), Name("i")))
    reading = Assign(Load(Name("b"), Name("i")), total)
    body = (*loop.body, added, *choose([(), (), (reading,)]))
    return replace(loop, body=body, reductions=(("+", "total"),))


def factored(choose, loop):
    """Each block has a sum of its own, which is added to the whole."""
    names = body()

    def inside(block, _):
        fold = rfactor(block, {"total": "s64"}, {"total": Name("part")})
        yield LocalVariable("s64", "part", None, 1)
        yield Assign(part, fold.starts["total"])
        yield fresh(names, fold.loop)
        yield from fold.joined({"total": Load(Name("total"), Literal(0))}, {"total": part})

    part = Load(Name("part"), Literal(0))
    return divide(names, loop, choose([2, 4, 16]), inside)


def dealt(choose, loop):
    """The numbers of an inner fold dealt to lanes, of which some may have none."""
    *before, fold, last = loop.body
    lanes = deal(body(), fold, choose([1, 2, 4]), {"own": "s64"})
    return [loop.with_body([*before, lanes, last])]


def unrolled_by(choose, loop):
    """Two or three iterations at a time, with all their choices."""
    return unroll_by(body(), loop, choose([2, 3]), lambda *_: None)


def unrolled(_, loop):
    return unroll(body(), loop)


def interchanged(_, loop):
    return [interchange(loop)]


def interchanged_in_guards(_, loop):
    return [interchange(loop)]


def deeply_reordered(_, loop):
    """The innermost of three loops as the outermost."""
    return [reorder(loop, ["m", "i"])]


def hoisted(_, loop):
    return hoist(loop, 1)


def coalesced(_, loop):
    return [coalesce(loop)]


def all_coalesced(_, loop):
    return [coalesce(loop, 3, "all")]


def unswitched(_, loop):
    return [unswitch(body(), loop, loop.body[-1].value.condition)]


def choosing(choose):
    """A loop with choices of one condition."""
    loop = nest(choose)
    condition = choose([Name("p"), Name("p"), Name("i"), Load(Name("a"), Literal(3))])
    store = Assign(Load(Name("b"), Name("i")), Choose(condition, Name("i"), Literal(5)))
    return replace(loop, body=(*loop.body, If(condition, (store,)), store))


def parted(choose, loop):
    """The loop cut where its choices turn, or not, and at another count."""
    inside = range(loop.start + 1, loop.stop)
    points = sorted({*choose([turning_points(loop), []]), choose(inside)})
    return cut(body(), loop, points, written_out=choose([1, 3]))


# Each with the loops that it is tried on, and the part of them that it must take at least.
PRIMITIVES = {
    divided: (nest, 1.0),
    rested: (nest, 1.0),
    guarded: (nest, 1.0),
    strip_mined: (from_zero, 1.0),
    ended: (counting, 1.0),
    repeated: (nest, 0.3),
    unrolled: (nest, 1.0),
    unrolled_by: (nest, 1.0),
    jammed: (partial(nest, kinds=[None]), 0.3),
    jammed_whole: (of_loops, 0.2),
    expanded: (of_sums, 1.0),
    overlapped: (partial(nest, kinds=[None]), 0.2),
    staged: (nest, 0.3),
    tiled: (perfect, 0.2),
    tiled_in_guards: (with_guards, 0.1),
    tiled_stores: (perfect, 0.1),
    reordered: (partial(nest, kinds=[None]), 0.05),
    reordered_in_guards: (sums_in_guards, 0.05),
    parted: (nest, 1.0),
    interchanged: (perfect, 0.3),
    interchanged_in_guards: (with_guards, 0.2),
    deeply_reordered: (around_two, 0.1),
    hoisted: (of_same, 0.15),
    coalesced: (around, 1.0),
    all_coalesced: (around_two, 1.0),
    unswitched: (choosing, 0.4),
    factored: (folding, 0.5),
    dealt: (of_sums, 1.0),
}
