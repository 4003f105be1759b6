"""Modules as a compiler leaves them: arrays in any memory order, and bitcasts that read them.

    x = f32[2,3]{1,0} parameter(0)         x = f32[2,3]{0,1} parameter(0)
    n = f32[2,3]{1,0} negate(x)       =>   n = f32[2,3]{1,0} negate(x)
                                           b = f32[3,2]{0,1} bitcast(n)

A bitcast reads bytes in the order in which they lie, so an equal value in another layout is another
value to it. What computations hand to each other keeps its layout, on which both sides must agree.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from hlo.opcode import TUPLES, having
from hlo.types.shape import Layout, tuple_of
from hlo.walk import names_of, rebuild, rebuild_module, users
from hlo_tools.generate.changing import changed, shown, some
from hlo_tools.generate.operands import UnfitError, need
from hlo_tools.generate.resizing import with_entry
from hlo_tools.values.bounded import RUNNING
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from random import Random

    from hlo.instruction import Computation, Instruction, Module
    from hlo.types.shape import Shape

# Opcodes that hand an array on to another computation, or to somebody else, as it lies.
HANDING_ON = RUNNING | TUPLES | having("async") | having("effect") | {"custom-call"}
# How many of the arrays that may lie in any order do.
TURNED = 0.6
# The most values in a module that bitcasts read, besides one in two orders.
MOST_READ = 3
# How many of these are copied into another order, and how many are results.
COPIED, SHOWN = 0.3, 0.6
# How often two of an array's sizes become one, and how often one becomes two.
JOINED, SPLIT = 0.4, 0.4


def laid_out(module: Module, random: Random) -> Module:
    """The module of a compiler: most arrays lie in any order, and bitcasts read a few."""

    def change(computation: Computation) -> Computation:
        chosen = [i for i in movable(computation, module) if random.random() < TURNED]
        return moved(computation, chosen, random)

    new_module = rebuild_module(module, change)
    new_module = with_entry(new_module, new_module.entry)
    more = random.choices((one_read, one_in_two_orders), k=random.randint(0, MOST_READ))
    for read in (one_in_two_orders, *more):
        try:
            new_module = read(new_module, random)
        except UnfitError:
            continue
    return new_module


def another_order(module: Module, random: Random) -> Module:
    """One array lies in another memory order."""
    where, instr = some(module, random)
    need(instr in movable(where, module))
    new_module = rebuild_module(module, lambda c: moved(c, [instr], random) if c is where else c)
    return with_entry(new_module, new_module.entry)


def another_layout(module: Module, random: Random) -> Module:
    """A value is copied into another memory order on its way."""
    where, instr = some(module, random, lambda i: is_plain(i.shape) and i.shape.rank > 1)
    names = names_of(module)
    there = make("copy", instr, shape=turned(instr.shape, random))
    there = there.with_(name=names.unique("copy"))
    back = make("copy", there, shape=instr.shape).with_(name=names.unique("copy"))
    return changed(module, where, {instr: back})


def one_read(module: Module, random: Random) -> Module:
    """A value is read by a bitcast, which is a result, or is read by another one on its way."""
    where, instr = some(module, random, lambda i: is_plain(i.shape) and i.shape.rank > 0)
    names = names_of(module)
    view = turned(instr.shape.with_dims(other_dims(instr.shape.dims, random)), random)
    new = [make("bitcast", instr, shape=view).with_(name=names.unique("bitcast"))]
    if random.random() < COPIED:
        copied = make("copy", new[0], shape=turned(view, random))
        new.append(copied.with_(name=names.unique("copy")))
    if where is module.entry and random.random() < SHOWN:
        return shown(module, *new)
    back = make("bitcast", new[-1], shape=instr.shape).with_(name=names.unique("bitcast"))
    return changed(module, where, {instr: back})


def one_in_two_orders(module: Module, random: Random) -> Module:
    """A value is computed twice, and lies in two memory orders, in which bitcasts read it."""
    entry = module.entry
    candidates = [
        instr
        for instr in movable(entry, module)
        if instr.opcode != "parameter"
        and instr.row.pure
        and sum(n > 1 for n in instr.shape.dims) > 1
    ]
    need(bool(candidates))
    instr = random.choice(candidates)
    names = names_of(module)
    order = Layout(instr.shape.memory_order)
    twin = instr.with_(name=names.unique(instr.name), shape=instr.shape.with_layout(order))
    view = instr.shape.with_dims((instr.shape.size,))
    one, other = (
        make("bitcast", i, shape=view).with_(name=names.unique("bitcast")) for i in (instr, twin)
    )
    return shown(shown(module, one), twin, other)


def movable(computation: Computation, module: Module) -> list[Instruction]:
    """The arrays that may lie in any order, as nobody else asks for one."""
    # One that calls changed computations is another object.
    is_entry = computation.name == module.entry.name
    using, root = users(computation), computation.root
    result = root if is_entry and root.opcode == "tuple" and not using[root] else None

    def may(instr: Instruction) -> bool:
        if not is_plain(instr.shape) or instr.shape.rank < 2 or instr.opcode in HANDING_ON:
            return False
        if not is_entry and (instr is root or instr.opcode == "parameter"):
            return False
        return all(user.opcode not in HANDING_ON or user is result for user in using[instr])

    return [i for i in computation.instructions if may(i)]


def moved(computation: Computation, chosen: list[Instruction], random: Random) -> Computation:
    """A computation some of whose arrays lie in any order, as its result says too."""
    plan = {i: i.with_(shape=turned(i.shape, random)) for i in chosen}
    root = computation.root
    if root.opcode == "tuple" and not plan.keys().isdisjoint(root.operands):
        elements = tuple(plan.get(o, o).shape for o in root.operands)
        plan[root] = root.with_(shape=tuple_of(*elements))
    return rebuild(computation, plan)


def is_plain(shape: Shape) -> bool:
    """Whether a shape is an array's whose layout says no more than an order."""
    layout = shape.layout
    return shape.is_array and not shape.is_dynamic and layout is not None and layout.is_plain


def turned(shape: Shape, random: Random) -> Shape:
    """An array in any memory order."""
    return shape.with_layout(Layout(tuple(random.sample(range(shape.rank), shape.rank))))


def other_dims(dims: tuple[int, ...], random: Random) -> tuple[int, ...]:
    """The sizes of an array with as many elements."""
    sizes = random.sample(dims, len(dims))
    if random.random() < JOINED:
        at = random.randrange(len(sizes))
        sizes[at : at + 2] = [prod(sizes[at : at + 2])]
    if random.random() < SPLIT:
        at = random.randrange(len(sizes))
        factor = random.choice([n for n in (1, 2, 3, 4) if sizes[at] % n == 0])
        sizes[at : at + 1] = [factor, sizes[at] // factor]
    return tuple(sizes)
