"""Modules that are nearly another one: one instruction more, another operand, constant or type.

A mutation keeps a module well-formed or fails, and says nothing of its value: what a pass looks for
is often one small change away from a module that somebody wrote.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, cast

from hlo.attributes import Constant, CustomCall
from hlo.build import instruction
from hlo.infer import infer
from hlo.instruction import Computation, Instruction, Module
from hlo.opcode import GIVEN, OPCODES
from hlo.types.element_type import PRED
from hlo.types.literal import literal
from hlo.types.sharding import Sharding, TileAssignment
from hlo.types.values import BufferDonor, InputOutputAlias
from hlo.verify import verify
from hlo.walk import names_of, rebuild_module
from hlo_tools.generate.changing import changed, shown, some
from hlo_tools.generate.embedding import embedded
from hlo_tools.generate.layouts import another_layout, another_order, one_in_two_orders, one_read
from hlo_tools.generate.operands import ARITHMETIC, UnfitError, need
from hlo_tools.generate.random_shapes import TYPES
from hlo_tools.generate.resizing import reshaped
from hlo_tools.generate.values import ends, nasty, small
from interpreter.arithmetic import MEANINGS
from optimizer.fusion.kernels import sequential_computations
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from random import Random

    from hlo.types.shape import Shape

Mutation = Callable[[Module, "Random"], Module]
# How many mutations to try in vain.
TRIES = 12
# What gathers and scatters may say of their indices.
CLAIMS = ("indices_are_sorted", "unique_indices")
# Fields of a dimension of a window, and values that are not the usual ones.
MOVES: tuple[tuple[str, Any], ...] = (
    *(("reversal", True), ("base_dilation", 2), ("window_dilation", 2)),
    *(("stride", 2), ("pad_low", 1)),
)
UNARY = ("negate", "abs", "not", "copy", "sign", "exponential", "reverse", "transpose", "convert")


def mutated(module: Module, random: Random, count: int = 1) -> Module:
    """A module after some mutations; the same object if none was possible."""
    for _ in range(count):
        for _ in range(TRIES):
            try:
                mutant = random.choice(MUTATIONS)(module, random)
                verify(mutant)
            except Exception:
                # Inference expects sound instructions: of others it may raise anything.
                continue
            module = mutant
            break
    return module


def another_operand(module: Module, random: Random) -> Module:
    """One operand is another value of the same shape."""
    where, instr = some(module, random)
    need(bool(instr.operands))
    n = random.randrange(len(instr.operands))
    earlier = where.instructions[: where.instructions.index(instr)]
    alike = [i for i in earlier if i.shape.compatible(instr.operands[n].shape)]
    operands = (*instr.operands[:n], random.choice(alike), *instr.operands[n + 1 :])
    return changed(module, where, {instr: instr.with_(operands=operands)})


def another_opcode(module: Module, random: Random) -> Module:
    """One elementwise opcode is another one."""
    where, instr = some(module, random, lambda i: i.row.elementwise)
    need(not fields(instr.attrs))
    kind = instr.operands[0].shape.element_type.kind
    others = [
        name
        for name, row in OPCODES.items()
        if row.elementwise
        and row.arity == instr.row.arity
        and row.attrs is instr.row.attrs
        and (name not in ARITHMETIC or name in MEANINGS[kind])
    ]
    return changed(module, where, {instr: instr.with_(opcode=random.choice(others))})


def one_more(module: Module, random: Random) -> Module:
    """One value goes through another instruction on its way."""
    where, instr = some(module, random)
    need(instr.shape.is_array)
    names = names_of(module)
    new = unary(instr, random)
    return changed(module, where, {instr: new.with_(name=names.unique(new.opcode))})


def unary(instr: Instruction, random: Random) -> Instruction:
    """An instruction of the same shape on top of another one."""
    shape, opcode = instr.shape, random.choice(UNARY)
    if opcode == "reverse":
        need(shape.rank > 0)
        return make("reverse", instr, dimensions=(random.randrange(shape.rank),))
    if opcode == "transpose":
        order = tuple(random.sample(range(shape.rank), shape.rank))
        need(tuple(shape.dims[d] for d in order) == shape.dims and shape.rank > 1)
        return make("transpose", instr, dimensions=order)
    kind = shape.element_type.kind
    need(opcode not in ARITHMETIC or opcode in MEANINGS[kind])
    return make(opcode, instr, shape=shape)


def one_twice(module: Module, random: Random) -> Module:
    """A value is combined with itself, or with another one."""
    where, instr = some(module, random)
    need(instr.shape.is_array)
    earlier = where.instructions[: where.instructions.index(instr) + 1]
    alike = [i for i in earlier if i.shape.compatible(instr.shape)]
    boolean = instr.shape.element_type is PRED
    opcode = random.choice(("and", "or", "xor") if boolean else ("add", "multiply", "maximum"))
    names = names_of(module)
    new = make(opcode, instr, random.choice(alike)).with_(name=names.unique(opcode))
    return changed(module, where, {instr: new})


def another_constant(module: Module, random: Random) -> Module:
    """One constant has another value."""
    where, instr = some(module, random, lambda i: i.opcode == "constant" and i.shape.is_array)
    values = random.choice((nasty, small, ends))(instr.shape, random)
    new = instr.with_(attrs=Constant(literal=literal(values, instr.shape)))
    return changed(module, where, {instr: new})


def constant_or_parameter(module: Module, random: Random) -> Module:
    """A constant becomes a parameter of the entry, or one of its values becomes a constant."""
    where, instr = module.entry, random.choice(module.entry.instructions)
    need(instr.shape.is_array and not instr.shape.is_dynamic)
    if instr.opcode == "constant":
        number = len(where.parameters)
        new = make("parameter", shape=instr.shape, number=number)
    else:
        need(instr.opcode != "parameter")
        values = random.choice((nasty, small))(instr.shape, random)
        new = make("constant", literal=literal(values, instr.shape), shape=instr.shape)
    names = names_of(module)
    return changed(module, where, {instr: new.with_(name=names.unique(new.opcode))})


def another_attribute(module: Module, random: Random) -> Module:
    """One number among the attributes is one more or less, or two are exchanged."""
    where, instr = some(
        module,
        random,
        lambda i: bool(fields(i.attrs)) and i.opcode not in GIVEN,
    )
    return changed(module, where, {instr: with_another_attribute(instr, random)})


def with_another_attribute(instr: Instruction, random: Random) -> Instruction:
    """An instruction of which one attribute is another."""
    name = random.choice([f.name for f in fields(instr.attrs)])
    value = varied(getattr(instr.attrs, name), random)
    return instr.with_(attrs=replace(instr.attrs, **{name: value}))


def varied(value: Any, random: Random) -> Any:
    """A value that is nearly another one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + random.choice((-1, 1))
    if value in ("LT", "LE", "GT", "GE", "EQ", "NE"):
        return random.choice(("LT", "LE", "GT", "GE", "EQ", "NE"))
    if isinstance(value, tuple):
        items: list[Any] = list(cast("tuple[Any, ...]", value))
        need(bool(items))
        if len(items) > 1 and random.random() < 0.5:
            random.shuffle(items)
        else:
            n = random.randrange(len(items))
            items[n] = varied(items[n], random)
        return tuple(items)
    if hasattr(value, "__dataclass_fields__"):
        name = random.choice([f.name for f in fields(value)])
        return replace(value, **{name: varied(getattr(value, name), random)})
    raise UnfitError


def one_shown(module: Module, random: Random) -> Module:
    """A value inside the entry is part of the result, too, so that somebody else uses it."""
    entry = module.entry
    instr = random.choice(entry.instructions)
    need(instr is not entry.root and instr.opcode != "parameter")
    return shown(module, value=instr)


def one_copied(module: Module, random: Random) -> Module:
    """An instruction is there twice, or nearly so, and one of its users uses the second."""
    where, instr = some(module, random)
    need(instr.row.pure and instr.opcode != "parameter" and not instr.called)
    using = [i for i in where.instructions if instr in i.operands]
    need(bool(using))
    user = random.choice(using)
    twin = instr.with_(name=names_of(module).unique(instr.name))
    if fields(instr.attrs) and random.random() < 0.6:
        twin = with_another_attribute(twin, random)
    n = random.choice([n for n, o in enumerate(user.operands) if o is instr])
    operands = (*user.operands[:n], twin, *user.operands[n + 1 :])
    return changed(module, where, {user: user.with_(operands=operands)})


def one_called_twin(module: Module, random: Random) -> Module:
    """A computation is there twice, or nearly so: the second has the same root or another one."""
    calls = [i for i in module.entry.instructions if i.opcode == "call"]
    need(bool(calls))
    call = random.choice(calls)
    callee, names = call.called[0], names_of(module)
    twins: dict[Instruction, Instruction] = {}
    for instr in callee.instructions:
        operands = tuple(twins[o] for o in instr.operands)
        before = tuple(twins[p] for p in instr.control_predecessors)
        twin = instr.rewired(operands, before, instr.called)
        twins[instr] = twin.with_(name=names.unique(instr.name))
    alike = [i for i in callee.instructions if i.shape.compatible(callee.root.shape)]
    root = twins[random.choice((callee.root, *alike))]
    second = Computation(names.unique(callee.name), tuple(twins.values()), root)
    return shown(module, call.with_(name=names.unique(call.name), called=(second,)))


def one_waits(module: Module, random: Random) -> Module:
    """An instruction runs only after one that it does not use."""
    where, instr = some(module, random)
    earlier = where.instructions[: where.instructions.index(instr)]
    others = [i for i in earlier if i.opcode not in GIVEN]
    need(bool(others) and instr.opcode not in GIVEN)
    before = (*instr.control_predecessors, random.choice(others))
    new = instr.with_(control_predecessors=tuple(dict.fromkeys(before)))
    return changed(module, where, {instr: new})


def one_put_out(module: Module, random: Random) -> Module:
    """A value goes to the host as well, in the entry computation or wherever else that may be.

    It goes there after all that go there already, whose order nothing else would tell.
    """
    where = random.choice((module.entry, *sequential_computations(module)))
    instr = random.choice(where.instructions)
    need(instr.shape.is_array)
    names = names_of(module)
    first = [i for i in where.instructions if i.opcode == "outfeed"]
    token = instruction("after-all", first, name=names.unique("after-all"))
    put = make("outfeed", instr, token).with_(name=names.unique("outfeed"))
    at = max(map(where.instructions.index, (instr, *first))) + 1
    instructions = (*where.instructions[:at], token, put, *where.instructions[at:])
    new = replace(where, instructions=instructions)
    return rebuild_module(module, lambda c: new if c is where else c)


def one_given_up(module: Module, random: Random) -> Module:
    """A result may lie in the memory of a parameter of its shape, has to, or whatever else may."""
    entry, header = module.entry, module.header
    leaves = [(p, at, s) for p in entry.parameters for at, s in p.shape.leaves() if s.is_array]
    results = [(at, s) for at, s in entry.root.shape.leaves()]
    pairs = [(out, p, at) for p, at, s in leaves for out, shape in results if s == shape]
    need(bool(pairs) and not header.input_output_alias and not header.buffer_donor)
    out, parameter, at = random.choice(pairs)
    number = entry.parameters.index(parameter)
    if random.random() < 0.3:
        donor = BufferDonor(number, at)
        return replace(module, header=replace(header, buffer_donor=(donor,)))
    alias = InputOutputAlias(out, number, at, must=random.random() < 0.5)
    return replace(module, header=replace(header, input_output_alias=(alias,)))


def one_sharded(module: Module, random: Random) -> Module:
    """A parameter, the result or a value between is said to be divided among devices, or not."""
    entry = module.entry
    all_of_them = (*entry.parameters, entry.root, *entry.instructions)
    arrays = [i for i in all_of_them if i.shape.is_array]
    need(bool(arrays))
    instr = random.choice(arrays)
    even = [d for d, n in enumerate(instr.shape.dims) if n and n % 2 == 0]
    sharding = Sharding("replicated")
    if even and random.random() < 0.8:
        along = random.choice(even)
        dims = tuple(2 if d == along else 1 for d in range(instr.shape.rank))
        sharding = Sharding("tiled", TileAssignment(dims, (0, 1)))
    annotations = replace(instr.annotations, sharding=sharding)
    return changed(module, entry, {instr: instr.with_(annotations=annotations)})


def one_acts(module: Module, random: Random) -> Module:
    """A custom call is said to have an effect besides its value."""
    where, instr = some(module, random, lambda i: i.opcode == "custom-call")
    acting = replace(CustomCall.of(instr), custom_call_has_side_effect=True)
    return changed(module, where, {instr: instr.with_(attrs=acting)})


def one_claims(module: Module, random: Random) -> Module:
    """A gather or scatter says something of its indices, true or not."""
    where, instr = some(module, random, lambda i: i.opcode in ("gather", "scatter"))
    claim = random.choice([name for name in CLAIMS if hasattr(instr.attrs, name)])
    claiming = replace(instr.attrs, **{claim: True})
    return changed(module, where, {instr: instr.with_(attrs=claiming)})


def another_window(module: Module, random: Random) -> Module:
    """A window moves otherwise: backwards, over a dilated array, with steps, from further away."""
    windowed = [i for i in module.entry.instructions if getattr(i.attrs, "window", ())]
    need(bool(windowed))
    instr = random.choice(windowed)
    attrs: Any = instr.attrs
    name, value = random.choice(MOVES)
    n = random.randrange(len(attrs.window))
    moved = replace(attrs.window[n], **{name: value})
    window = (*attrs.window[:n], moved, *attrs.window[n + 1 :])
    new = instr.with_(attrs=replace(attrs, window=window), name=names_of(module).unique("window"))
    return shown(module, new.with_(shape=infer(new)))


def one_retupled(module: Module, random: Random) -> Module:
    """A tuple is made again of its elements; those of the same shape may change places."""
    where, instr = some(module, random, lambda i: len(i.shape.elements) > 1)
    order = list(range(len(instr.shape.elements)))
    for n, m in ((n, random.choice(order)) for n in list(order)):
        if instr.shape.elements[n] == instr.shape.elements[m]:
            order[n], order[m] = order[m], order[n]
    names = names_of(module)
    taken = [make("get-tuple-element", instr, index=n) for n in order]
    new = make("tuple", *[t.with_(name=names.unique(t.opcode)) for t in taken])
    return changed(module, where, {instr: new.with_(name=names.unique("tuple"))})


def two_exchanged(module: Module, random: Random) -> Module:
    """Two operands of the same shape change places."""
    where, instr = some(module, random, lambda i: len(i.operands) > 1)
    m, n = random.sample(range(len(instr.operands)), 2)
    operands = list(instr.operands)
    need(operands[m].shape.compatible(operands[n].shape) and operands[m] is not operands[n])
    operands[m], operands[n] = operands[n], operands[m]
    return changed(module, where, {instr: instr.with_(operands=tuple(operands))})


def another_type(module: Module, random: Random) -> Module:
    """All arrays of one type have another."""
    types = {i.shape.element_type for i in module.instructions() if i.shape.is_array}
    old = random.choice(sorted(types, key=str))
    new = random.choice(TYPES)
    need(old is not new and new is not PRED)
    return reshaped(module, lambda s: s.with_type(new) if s.element_type is old else s)


def another_size(module: Module, random: Random) -> Module:
    """All dimensions of one size have another."""
    sizes = sorted({n for i in module.instructions() for n in i.shape.dims if n >= 0})
    old, new = random.choice(sizes), random.choice((0, 1, 1, 2, 3, 4, 5, 40))
    need(old != new)

    def change(shape: Shape) -> Shape:
        return replace(shape, dims=tuple(new if n == old else n for n in shape.dims))

    return reshaped(module, change)


def somewhere_else(module: Module, random: Random) -> Module:
    """All of it is called, in a branch, a loop or a fusion."""
    need(len(module.computations) < 12 and module.header.replica_count == 1)
    need(module.header.num_partitions == 1 and not module.header.is_scheduled)
    return embedded(module, random)


MUTATIONS: tuple[Mutation, ...] = (
    *(another_operand, two_exchanged, another_opcode, one_more, one_more, one_twice),
    *(another_constant, constant_or_parameter, another_attribute, another_attribute),
    *(
        one_shown,
        one_shown,
        one_copied,
        one_waits,
        one_called_twin,
        one_retupled,
        another_type,
        another_type,
    ),
    *(another_size, another_size, somewhere_else),
    *(another_layout, another_order, one_read, one_in_two_orders),
)
