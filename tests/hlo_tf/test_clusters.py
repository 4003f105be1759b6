"""Clusters are those of TensorFlow's own pass, on graphs that it has marked; it is not needed."""

import json
from pathlib import Path

import pytest

from hlo.errors.error import HloError
from hlo_tf.clusters.encapsulate_subgraphs import Subgraph, encapsulate_subgraphs
from hlo_tf.clusters.graph import Node, input_of, read_graph
from hlo_tf.clusters.mark_for_compilation import ClusterOptions, Marks, mark_for_compilation
from hlo_tf.clusters.report import difference
from hlo_tools.drawing.graphs.clusters import clusters_drawn

GRAPHS = Path(__file__).parent / "graphs"
MARKS = json.loads((GRAPHS / "marks.json").read_text())


def marked(name: str, options: ClusterOptions | None = None) -> Marks:
    recorded = MARKS[name]
    refused, file = recorded["refused"], recorded.get("graph", name)
    graph = read_graph((GRAPHS / f"{file}.pbtxt").read_text())
    options = options or ClusterOptions(level=recorded.get("level", 2))
    return mark_for_compilation(graph, lambda node: refused.get(node.name, ""), options)


def partition(clusters: dict[str, str]) -> set[frozenset[str]]:
    """The clusters without their names."""
    return {
        frozenset(n for n, c in clusters.items() if c == cluster) for cluster in clusters.values()
    }


@pytest.mark.parametrize("name", MARKS)
def test_clusters_are_those_of_tensorflow(name: str) -> None:
    assert partition(marked(name).clusters) == partition(MARKS[name]["clusters"])


def test_a_node_outside_is_told_with_its_reason() -> None:
    """The string takes the cluster apart; what is small stays outside."""
    found = marked("cycle_through_a_string", ClusterOptions(least=8))
    assert found.reasons["AsString"] == "no XLA_CPU_JIT kernel for AsString"
    small = next(why for why in found.reasons.values() if "fewer than 8" in why)
    assert small.startswith(
        "its cluster has 6 operations, fewer than 8; "
        "beside Exp: would close a cycle through AsString; beside "
    )


SQUARE = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "a" op: "Sin" input: "x" }
node { name: "out" op: "AsString" input: "a" }
node { name: "back" op: "StringToNumber" input: "out" }
node { name: "b" op: "Mul" input: "a" input: "back" %s }
node { name: "c" op: "Exp" input: "b" }
"""


def no_strings(node: Node) -> str:
    return "strings" if "String" in node.op else ""


def test_a_cluster_that_would_close_a_cycle_is_not_made() -> None:
    """`b` needs `a` directly, and through the string: one program could not wait for that."""
    found = mark_for_compilation(read_graph(SQUARE % ""), no_strings, ClusterOptions(least=1))
    assert partition(found.clusters) == {frozenset({"a"}), frozenset({"b", "c"})}
    small = mark_for_compilation(read_graph(SQUARE % ""), no_strings, ClusterOptions(least=2))
    assert small.reasons["a"] == (
        "its cluster has 1 operations, fewer than 2; beside out: strings; "
        "beside b: would close a cycle through out; beside x: it is a border of the graph"
    )


@pytest.mark.parametrize(
    ("options", "attribute", "clusters"),
    [
        (ClusterOptions(level=0), "", set[str]()),
        (
            ClusterOptions(least=2, devices=frozenset[str]()),
            'attr { key: "_XlaCompile" value { b: true } }',
            {"b"},
        ),
        (ClusterOptions(level=0), 'attr { key: "_XlaCompile" value { b: true } }', {"b"}),
        (ClusterOptions(), 'attr { key: "_XlaCompile" value { b: true } }', {"b", "c"}),
        (ClusterOptions(least=1), 'attr { key: "_XlaCompile" value { b: false } }', {"a", "c"}),
        (ClusterOptions(least=1, devices=frozenset({"GPU"})), "", set[str]()),
        (ClusterOptions(least=1), 'device: "/job:a/device:GPU:0"', {"a", "c"}),
        (ClusterOptions(least=1, most=1), "", {"a", "b", "c"}),
    ],
)
def test_options_and_scopes_decide(
    options: ClusterOptions, attribute: str, clusters: set[str]
) -> None:
    found = mark_for_compilation(read_graph(SQUARE % attribute), no_strings, options)
    assert set(found.clusters) == clusters


LOOP = """
node { name: "x" op: "Placeholder" }
node { name: "enter" op: "Enter" input: "x" attr { key: "frame_name" value { s: "w" } } }
node { name: "start" op: "Enter" input: "x" attr { key: "frame_name" value { s: "w" } } }
node { name: "merge" op: "Merge" input: "enter" input: "next" }
node { name: "count" op: "Merge" input: "start" input: "again" }
node { name: "go" op: "LoopCond" input: "count" }
node { name: "switch" op: "Switch" input: "merge" input: "go" }
node { name: "turns" op: "Switch" input: "count" input: "go" }
node { name: "turn" op: "Identity" input: "turns:1" }
node { name: "half" op: "Const" input: "^turn" }
node { name: "a" op: "Sin" input: "switch:1" }
node { name: "b" op: "Mul" input: "a" input: "half" }
node { name: "c" op: "AddV2" input: "b" input: "turns:1" }
node { name: "next" op: "NextIteration" input: "c" }
node { name: "again" op: "NextIteration" input: "turns:1" }
"""


def test_the_variables_of_a_loop_run_together() -> None:
    """One turn gives all of them a value; what starts the turn's constants stays outside."""
    refused = {"Enter", "Merge", "LoopCond", "Switch", "NextIteration"}
    found = mark_for_compilation(
        read_graph(LOOP), lambda node: "no" if node.op in refused else "", ClusterOptions(least=1)
    )
    assert partition(found.clusters) == {frozenset({"half", "a", "b", "c"})}
    assert found.reasons["turn"] == "constants of a loop wait for it"


CALLS = """
node { name: "x" op: "Placeholder" }
node { name: "call" op: "PartitionedCall" input: "x"
       attr { key: "f" value { func { name: "outer" } } } }
node { name: "if" op: "If" input: "call" input: "x"
       attr { key: "then_branch" value { func { name: "inner" } } } }
library {
  function { signature { name: "outer" }
             node_def { name: "sin" op: "Sin" } node_def { name: "calls" op: "inner" } }
  function { signature { name: "inner" } node_def { name: "text" op: "%s" } }
}
"""


def test_a_call_is_compiled_only_if_all_of_its_body_is() -> None:
    """As in TensorFlow: a call, a branch and a loop are asked for by the nodes of their bodies."""
    options = ClusterOptions(least=1)
    found = mark_for_compilation(read_graph(CALLS % "Exp"), no_strings, options)
    assert set(found.clusters) == {"call", "if"}
    found = mark_for_compilation(read_graph(CALLS % "AsString"), no_strings, options)
    assert found.reasons["if"] == "it calls inner, in which text (AsString): strings"
    inner = "it calls inner, in which text (AsString): strings"
    assert found.reasons["call"] == f"it calls outer, in which calls (inner): {inner}"


def test_a_call_is_as_large_as_its_body() -> None:
    """TensorFlow marks a graph whose calls are replaced by bodies; loops are always worth it."""
    graph = read_graph(CALLS.replace('op: "If"', 'op: "Case"') % "Exp")
    assert mark_for_compilation(graph, no_strings, ClusterOptions(least=3)).clusters
    assert not mark_for_compilation(graph, no_strings, ClusterOptions(least=4)).clusters
    graph = read_graph(CALLS % "Exp")
    assert set(mark_for_compilation(graph, no_strings, ClusterOptions(least=9)).clusters) == {
        *("call", "if")
    }


def test_clusters_become_functions_of_their_inputs() -> None:
    graph = read_graph(SQUARE % 'input: "^out"')
    marks = mark_for_compilation(graph, no_strings, ClusterOptions(least=2))
    parts = encapsulate_subgraphs(graph, marks.clusters, [input_of("c:0")])
    *nodes, cluster = parts
    assert [node.name for node in nodes] == ["x", "a", "out", "back"]
    assert isinstance(cluster, Subgraph)
    assert [str(i) for i in cluster.inputs] == ["a", "back"]
    assert ([str(i) for i in cluster.results], cluster.waits_for) == (["c"], ("out",))


def test_clusters_are_drawn_as_frames() -> None:
    graph = read_graph(SQUARE % "")
    marks = mark_for_compilation(graph, no_strings, ClusterOptions(least=2))
    picture = clusters_drawn(graph, marks, "square")
    assert picture.startswith("<svg")
    assert "cluster_0" in picture
    assert "would close a cycle through out" in picture
    assert "subgraph cluster_n" in clusters_drawn(graph, marks, "square", form="dot")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('node { name: "a" op: "Sin" input: "b" }', "a has an input b that is no node"),
        ('node { name: "a" ', "a message ends inside of another"),
        ("node { name ! }", "line 1 is no text of a message"),
        (
            'node { name: "a" input: "b" } node { name: "b" input: "a" }',
            "nodes need each other",
        ),
    ],
)
def test_a_graph_that_is_none_is_refused(text: str, message: str) -> None:
    with pytest.raises(HloError, match=message):
        mark_for_compilation(read_graph(text), no_strings)


def test_a_difference_of_reports_is_told_by_lines() -> None:
    assert difference("f: 2 clusters\n  a", "f: 2 clusters\n  a") == ""
    assert "+f: 3 clusters" in difference("f: 2 clusters", "f: 3 clusters")
