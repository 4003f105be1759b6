"""Functions run with compiled clusters, and scripts by `hlo tf`, with reports of the rest."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow", reason="needs TensorFlow: make frontends")
from google.protobuf import text_format  # noqa: E402

import hlo_tf  # noqa: E402
from hlo_tf.clusters.build_xla_ops import MOST_COMPILED  # noqa: E402
from hlo_tools.cli import main  # noqa: E402

sys.path.append(str(Path(__file__).parent))
import graph_functions  # noqa: E402

# TensorFlow's random numbers depend on the device, XLA's too: these are compared by their kinds.
RANDOM = {
    *("random_numbers", "stateless_random_numbers", "shape_of_a_random_number"),
    *("random_generator", "keras_dropout"),
}
VARIABLES = (graph_functions.VARIABLE, graph_functions.OTHER, graph_functions.COUNT)


def values(name: str) -> list[np.ndarray]:
    """The results of a function, and the variables after it, which are as before at its begin."""
    before = [v.numpy() for v in VARIABLES]
    results = tf.nest.flatten(graph_functions.FUNCTIONS[name]())
    found = [r.numpy() for r in (*results, *VARIABLES)]
    for variable, value in zip(VARIABLES, before, strict=True):
        variable.assign(value)
    return found


@pytest.mark.parametrize("name", graph_functions.FUNCTIONS)
def test_values_are_those_of_tensorflow(name: str) -> None:
    expected = values(name)
    with hlo_tf.auto_cluster() as clustering:
        found = values(name)
    for mine, theirs in zip(found, expected, strict=True):
        assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype)
        if name not in RANDOM and mine.dtype.kind == "f":
            np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)
        elif name not in RANDOM:
            np.testing.assert_array_equal(mine, theirs)
    assert not [c.fallback for f in clustering.functions for c in f.clusters if c.fallback]


def test_a_cluster_is_compiled_once_for_each_shape_and_given_up_if_too_often() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None])])
    def wave(x):
        return tf.sin(x) * x + tf.exp(x) - tf.cos(x)

    with hlo_tf.auto_cluster() as clustering:
        for size in (3, 4, 3, 3):
            wave(tf.ones(size))
        (cluster,) = clustering.functions[0].clusters
        assert (cluster.compiled, cluster.calls, cluster.fallback) == (2, 4, "")
        for size in range(5, 5 + MOST_COMPILED):
            wave(tf.ones(size))
        assert cluster.fallback == f"it was compiled {MOST_COMPILED} times"
        np.testing.assert_allclose(wave(tf.ones(50)), np.full(50, 3.0194511), rtol=1e-6)
    assert f"TensorFlow runs it: it was compiled {MOST_COMPILED} times" in clustering.report()


def test_gradients_are_clustered_too() -> None:
    @tf.function
    def loss(x):
        return tf.reduce_sum(tf.sin(x) * x + tf.exp(x) * tf.cos(x))

    found = []
    for clustered in (False, True):
        x = tf.linspace(0.0, 1.0, 5)
        with tf.GradientTape() as tape:
            tape.watch(x)
            if clustered:
                with hlo_tf.auto_cluster() as clustering:
                    found.append(tape.gradient(loss(x), x))
            else:
                found.append(tape.gradient(loss(x), x))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)
    assert len(clustering.functions) == 2


SCRIPT = """
import sys, tensorflow as tf

@tf.function
def f(x):
    y = tf.sin(x) * x + tf.exp(x)
    z = tf.strings.to_number(tf.strings.as_string(y))
    return tf.cos(z) * z - tf.{} + z

print(sys.argv[1], f(tf.zeros(3)).numpy())
"""


def test_a_script_runs_unchanged_and_reports_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One operation that does not compile takes its cluster with it."""
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text(SCRIPT.format("tanh(z)"))
    bad.write_text(SCRIPT.format("strings.to_number(tf.strings.as_string(z))"))
    old, new = str(tmp_path / "old"), str(tmp_path / "new")
    options = ["--auto-cluster", "--least", "3", "--explain", "--dump-to"]
    assert main(["tf", str(good), *options, old, "--", "word"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "word [0.7787081 0.7787081 0.7787081]\n"
    assert "f: 10 of 13 nodes in 2 clusters" in shown.err
    assert "outside: AsString (AsString): no XLA_CPU_JIT kernel for AsString" in shown.err
    names = {path.name for path in Path(old).iterdir()}
    assert {"before_mark_for_compilation.pbtxt", "f_0.svg", "report.txt"} <= names
    marked = Path(old, "mark_for_compilation.pbtxt").read_text()
    graph = tf.compat.v1.GraphDef()
    text_format.Parse(marked, graph)
    assert sum("_XlaCluster" in node.attr for node in graph.node) == 10
    assert main(["tf", str(bad), *options[:3], "--dump-to", new, "--since", old, "--", "w"]) == 0
    assert "+  outside: AsString_1" in capsys.readouterr().err


def test_a_script_that_fails_is_told_as_python_does(tmp_path: Path) -> None:
    script = tmp_path / "fails.py"
    script.write_text("import tensorflow as tf\nraise ValueError('mine')\n")
    command = [sys.executable, "-m", "hlo_tools", "tf", str(script), "--auto-cluster"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ValueError: mine" in done.stderr
