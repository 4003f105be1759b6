"""Layout assignment and normalization: same values, agreeing layouts, and what `why` says."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies.equal import nameless

import hlo
from hlo.opcode import having
from hlo.types.element_type import ELEMENT_TYPES
from hlo.types.shape import tuple_of
from hlo.types.values import ComputationLayout
from hlo.verify import verify
from hlo_tools.generate.modules import random_module
from hlo_tools.generate.random_shapes import TYPES
from hlo_tools.generate.values import nasty
from hlo_tools.reasons.layout import why_layout
from interpreter import evaluate
from interpreter.numbers.compare import compare
from optimizer import Log, optimize, parse_pipeline, pipeline
from optimizer.layout import renumber
from optimizer.layout.orders import order_of, reshaped, rows

seeds = st.integers(0, 2**32)
EXACT_TYPES = tuple(ELEMENT_TYPES[name] for name in ("pred", "s8", "s32", "u4", "u64"))


def shuffled(shape, random):
    """A shape whose arrays lie in memory in any order."""
    if shape.is_tuple:
        return tuple_of(*(shuffled(e, random) for e in shape.elements))
    if not shape.is_array:
        return shape
    order = random.sample(range(shape.rank), shape.rank)
    return shape.with_layout(replace(shape.layout, minor_to_major=tuple(order)))


def drawn(seed, types=TYPES):
    """A random module with random layouts at its entry, and arguments."""
    random = Random(seed)
    module = hlo.parse(str(random_module(random, 20, types)))
    parameters = tuple(shuffled(p.shape, random) for p in module.entry.parameters)
    layout = ComputationLayout(parameters, shuffled(module.entry.root.shape, random))
    header = replace(module.header, entry_computation_layout=layout)
    return replace(module, header=header), [nasty(p, random) for p in parameters]


@pytest.mark.parametrize("target", ["cpu", "gpu"])
@given(seed=seeds)
def test_assigned_layouts_agree_and_keep_values(target, seed):
    before, arguments = drawn(seed)
    run = parse_pipeline(f"layout-assignment{{target={target}}}")
    after = run.run(before)
    verify(after)
    check_agreement(after)
    assert compare(evaluate(after, *arguments), evaluate(before, *arguments)) is None
    assert run.run(after) is after


@pytest.mark.parametrize("target", ["cpu", "gpu"])
@given(seed=seeds)
def test_normalized_arrays_are_row_major(target, seed):
    before, arguments = drawn(seed)
    text = f"layout-assignment{{target={target}}},layout-normalization"
    after = parse_pipeline(text).run(before)
    verify(after)
    check_agreement(after)
    keeps_layout = {"bitcast", "parameter", "tuple", "get-tuple-element"}
    for instr in after.instructions():
        if instr.opcode not in keeps_layout and not instr.row.traits & {"control", "effect"}:
            assert instr.shape.is_row_major, instr
    assert compare(evaluate(after, *arguments), evaluate(before, *arguments)) is None
    assert parse_pipeline("layout-normalization").run(after) is after


@given(seed=seeds, fuel=st.integers(0, 9))
def test_normalization_may_stop_anywhere(seed, fuel):
    before, arguments = drawn(seed)
    assigned = parse_pipeline("layout-assignment").run(before)
    after = parse_pipeline("layout-normalization").run(assigned, Log(fuel=fuel))
    verify(after)
    assert compare(evaluate(after, *arguments), evaluate(before, *arguments)) is None


@pytest.mark.parametrize("target", ["cpu", "gpu"])
@pytest.mark.parametrize("seed", range(8))
def test_pipelines_keep_the_layouts_that_callers_see(target, seed):
    before, arguments = drawn(seed, EXACT_TYPES)
    after = optimize(before, target)
    assert compare(evaluate(after, *arguments), evaluate(before, *arguments)) is None
    said = before.header.entry_computation_layout
    if target == "gpu":  # arrays of a device lie in rows, whatever a module asks for
        parameters = tuple(shape.with_default_layout() for shape in said.parameters)
        said = ComputationLayout(parameters, said.result.with_default_layout())
    assert after.header.entry_computation_layout == said
    assert after.entry.root.shape == said.result
    assert tuple(p.shape for p in after.entry.parameters) == said.parameters


def check_agreement(module):
    """Who hands an array on hands it on in its layout, as XLA's layout-sensitive verifier asks."""
    said = module.header.entry_computation_layout
    assert said.result == module.entry.root.shape
    assert said.parameters == tuple(p.shape for p in module.entry.parameters)
    for instr in module.instructions():
        operands = [o.shape for o in instr.operands]
        if instr.opcode == "get-tuple-element":
            assert instr.shape == operands[0].elements[instr.attrs.index]
        elif instr.opcode == "tuple":
            assert instr.shape.elements == tuple(operands)
        elif instr.opcode == "while":
            condition, body = instr.called
            state = {instr.shape, operands[0], body.root.shape, body.parameters[0].shape}
            assert state == {condition.parameters[0].shape}
        elif instr.opcode == "conditional":
            assert {c.root.shape for c in instr.called} == {instr.shape}
            assert [c.parameters[0].shape for c in instr.called] == operands[1:]
        elif instr.opcode == "call":
            assert instr.called[0].root.shape == instr.shape
            assert [p.shape for p in instr.called[0].parameters] == operands
        elif instr.row.elementwise:
            orders = {order_of(s) for s in operands if s.rank == instr.shape.rank}
            assert orders <= {order_of(instr.shape)}


@given(data=st.data(), dims=st.lists(st.integers(0, 6), max_size=4).map(tuple))
def test_reshaped_order_moves_no_byte(data, dims):
    """A bitcast of the memory is the reshape of the values, where there is an order for it."""
    sizes = [*dims]
    while len(sizes) > 1 and data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(sizes) - 2))
        sizes[at : at + 2] = [sizes[at] * sizes[at + 1]]
    to = tuple(sizes)
    for source, target in ((dims, to), (to, dims)):
        order = tuple(data.draw(st.permutations(range(len(source)))))
        found = reshaped(source, order, target)
        if order == rows(len(source)):
            assert found == rows(len(target))
        if found is not None:
            read = {
                name: f"{{{','.join(map(str, o))}}}" for name, o in (("a", order), ("b", found))
            }
            text = f"""HloModule m
ENTRY e {{
  p = s32[{",".join(map(str, source))}]{read["a"]} parameter(0)
  ROOT b = s32[{",".join(map(str, target))}]{read["b"]} bitcast(p)
}}"""
            module = hlo.parse(text)
            array = nasty(module.entry.parameters[0].shape, Random(1))
            assert (evaluate(module, array) == array.reshape(target)).all()


TRANSPOSED = """HloModule m, entry_computation_layout={(f32[2,3]{1,0})->(f32[3,2]{1,0}, f32[2]{0})}
ENTRY e {
  p = f32[2,3] parameter(0)
  v = f32[2] constant({1, 2})
  t = f32[3,2] transpose(p), dimensions={1,0}
  ROOT o = (f32[3,2], f32[2]) tuple(t, v)
}"""


def test_why_layout_gives_rule_and_bytes():
    module = hlo.parse(TRANSPOSED)
    told = why_layout(module, "t")
    assert "%t {1,0} (user-tuple): {1,0} copies 24 bytes, {0,1} copies 24 bytes; %o wants" in told
    assert "%p {1,0} (parameter)" in why_layout(module, "%p")
    assert "only one order" in why_layout(module, "v")
    with pytest.raises(hlo.HloError, match="HLO158"):
        why_layout(module, "q")


# Sizes of 1 let an array lie in two orders in the same places: a bitcast is free.
SAME_PLACES = """
HloModule m, entry_computation_layout={()->s32[1,2]{1,0}}
ENTRY e {
  i = s32[2,1]{1,0} iota(), iota_dimension=0
  r = s32[2,1]{1,0} reshape(i)
  s = s32[2,1]{1,0} shift-left(i, r)
  ROOT t = s32[1,2]{1,0} transpose(s), dimensions={1,0}
}
"""
# What the copy is for is done at once by the constant, of which nothing tells any more then.
DECIDED_COPY = """
HloModule m
left { p = s32[] parameter(0)  c = s32[2,2]{1,0} constant({{1,2},{3,4}})
  k = s32[2,2]{0,1} copy(c)  ROOT m = s32[2,2]{1,0} minimum(k, c) }
right { q = s32[] parameter(0)  ROOT b = s32[2,2]{1,0} broadcast(q), dimensions={} }
ENTRY e {
  i = pred[] parameter(0)
  z = s32[] constant(0)
  ROOT c = s32[2,2]{1,0} conditional(i, z, z), true_computation=left, false_computation=right
}
"""


@pytest.mark.parametrize("target", ["cpu", "gpu"])
@pytest.mark.parametrize("text", [SAME_PLACES, DECIDED_COPY])
def test_assigned_layouts_stay(text, target):
    run = parse_pipeline(f"layout-assignment{{target={target}}}")
    once = run.run(hlo.parse(text))
    assert run.run(once) is once


COLUMNS = """
HloModule m, entry_computation_layout={(f32[4,3]{0,1},f32[4,5],f32[6,4]{0,1})->(f32[4,8],f32[6,5])}
ENTRY e {
  x = f32[4,3]{0,1} parameter(0)
  y = f32[4,5]{1,0} parameter(1)
  z = f32[6,4]{0,1} parameter(2)
  n = f32[4,3]{1,0} negate(x)
  c = f32[4,8]{1,0} concatenate(n, y), dimensions={1}
  d = f32[6,5]{1,0} dot(z, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = (f32[4,8]{1,0}, f32[6,5]{1,0}) tuple(c, d)
}
"""


@pytest.mark.parametrize("target", ["cpu", "gpu"])
def test_transposes_that_layouts_become_are_simplified(target):
    """The dot takes what it is given, and nothing is left for a second run."""
    run = pipeline(target, fuse=False)
    once = run.run(hlo.parse(COLUMNS))
    count = sum(i.opcode == "transpose" for i in once.instructions())
    assert count == (1 if target == "cpu" else 0)  # arguments of a GPU's kernels lie in rows
    assert nameless(run.run(once)) == nameless(once)


EMPTY = """
HloModule m, entry_computation_layout={(f32[])->f32[2,3]{0,1}}
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[] parameter(0)
  c = f32[4,0] constant({{},{},{},{}})
  ROOT w = f32[2,3] reduce-window(c, x), window={size=1x1 stride=2x1 pad=0_0x1_2}, to_apply=add
}
"""


def test_nothing_is_read_in_another_way():
    """An empty array in another layout is another empty array, not a bitcast of it."""
    run = pipeline("cpu", fuse=False)
    once = run.run(hlo.parse(EMPTY))
    assert [i.opcode for i in once.entry.root.operands[0].operands] == ["constant", "parameter"]
    assert nameless(run.run(once)) == nameless(once)


def test_attributes_are_renumbered_wherever_dimensions_stay_the_same():
    """An opcode that keeps dimensions is in a table for its attributes."""
    numbering = renumber._LISTS.keys() | renumber._NUMBERS.keys() | renumber._UNCHANGED
    assert having("same_dimensions") <= numbering | renumber._OTHERS.keys()


def test_a_trait_that_does_not_exist_is_no_empty_set():
    with pytest.raises(ValueError, match="unknown trait 'alike'"):
        having("alike")
