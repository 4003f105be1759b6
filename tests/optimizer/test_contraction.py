"""Graphs that are contracted have no cycles: which nodes may become one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hlo
from hlo.walk import users
from optimizer.fusion import contraction
from optimizer.fusion.contraction import Contraction


def module(operands):
    """A module whose instruction i + 1 adds two earlier ones."""
    lines = [f"x{i + 1} = f32[] add(x{a}, x{b})" for i, (a, b) in enumerate(operands)]
    unused = {f"x{i}" for i in range(len(operands) + 1)} - {f"x{k}" for o in operands for k in o}
    body = "\n  ".join(["x0 = f32[] parameter(0)", *lines])
    names = ", ".join(sorted(unused))
    shape = ", ".join(["f32[]"] * len(unused))
    return hlo.parse(
        f"HloModule m\nENTRY e {{\n  {body}\n  ROOT t = ({shape}) tuple({names})\n}}\n"
    )


def ways(graph, nodes, first, second):
    """The nodes that can be reached from the first without passing the second, one by one."""
    found, stack = set(), [first]
    while stack:
        for node in graph.following(stack.pop()):
            if node is not second and node not in found:
                found.add(node)
                stack.append(node)
    return found & nodes


@pytest.mark.parametrize("far", [0, 300])
@given(data=st.data())
def test_between_finds_each_way_through_a_third_node(data, far):
    count = data.draw(st.integers(2, 12))
    pairs = [data.draw(st.tuples(*[st.integers(0, i)] * 2)) for i in range(count)]
    entry = module(pairs).entry
    graph = Contraction(entry, users(entry), {})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contraction, "_FAR", far)
        for k in range(data.draw(st.integers(1, 4))):
            nodes = {graph.node(i) for i in entry.instructions}
            if len(nodes) < 2:
                return
            chosen = data.draw(
                st.lists(
                    st.sampled_from(sorted(nodes, key=graph.number)),
                    min_size=2,
                    max_size=2,
                    unique=True,
                )
            )
            first, second = sorted(chosen, key=graph.number)
            between = graph.between(first, second)
            reached = ways(graph, nodes, first, second)
            circle = any(second in graph.following(node) for node in reached)
            assert (between is None) == circle
            if between is not None:
                before = {n for n in reached if graph.number(n) < graph.number(second)}
                assert between == before
                graph.merge(first, second, between, f"merged {k}")
                using = users(entry)
                edges = {(graph.node(i), graph.node(u)) for i in using for u in using[i]}
                for instr in entry.instructions:
                    node = graph.node(instr)
                    assert {*graph.following(node)} == {b for a, b in edges if a is node is not b}
                    assert all(graph.number(node) < graph.number(n) for n in graph.following(node))
