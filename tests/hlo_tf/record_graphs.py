"""Records graphs with the marks of TensorFlow's own pass: `python tests/hlo_tf/record_graphs.py`.

For each function of `graph_functions.py` it writes `graphs/NAME.pbtxt`, the graph before the pass,
and in `graphs/marks.json` the clusters that the pass made, and of each node the devices' answer
whether it has a kernel for XLA.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from itertools import chain
from pathlib import Path
from typing import Any

from hlo_tf.clusters.graph import read_graph

HERE = Path(__file__).parent
FLAGS = {
    2: "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit",
    1: "--tf_xla_auto_jit=1 --tf_xla_cpu_global_jit",
    0: "--tf_xla_auto_jit=0",
}
# The levels at which a graph is marked; all others only at the highest.
LEVELS = {"manual_scopes": (2, 1, 0)}

# Attributes that say nothing of what compiles.
UNUSED = "_output_shapes|_user_specified_name|_construction_context|shape|value|_class|_has_manual"


def dumped(name: str, level: int, folder: str) -> tuple[str, str]:
    """The graph of a function before and after the pass."""
    flags = f"{FLAGS[level]} --tf_xla_clustering_debug"
    environment = {**os.environ, "TF_XLA_FLAGS": flags, "TF_DUMP_GRAPH_PREFIX": folder}
    call = "import sys; from graph_functions import FUNCTIONS; FUNCTIONS[sys.argv[1]]()"
    subprocess.run(
        [sys.executable, "-c", call, name],
        check=True,
        cwd=HERE,
        env=environment,
        stderr=subprocess.DEVNULL,
    )
    # Each function that TensorFlow runs is dumped; the last and largest is the user's.
    before = max(Path(folder).glob("before_mark*.pbtxt"), key=lambda path: path.stat().st_size)
    after = before.with_name(before.name.removeprefix("before_"))
    return before.read_text(), after.read_text()


def without_values(text: str) -> str:
    """A graph without what no mark depends on: constants' values and origins."""
    text = re.sub(r"\n  experimental_debug_info \{.*?\n  \}", "", text, flags=re.DOTALL)
    text = re.sub(rf'\n  attr \{{\n    key: "(?:{UNUSED})"\n(?:    .*\n)*?  \}}', "", text)
    text = re.sub(r"\n +tensor_content: \"[^\n]*", "", text)
    shorter = re.sub(r"\nlibrary \{.*?\n\}(?=\n\w|\n*$)", "", text, flags=re.DOTALL)
    return text if any(node.called for node in read_graph(shorter).nodes) else shorter


def main() -> None:
    from graph_functions import FUNCTIONS  # noqa: PLC0415

    from hlo_tf.clusters.kernels import refusal  # noqa: PLC0415

    marks: dict[str, dict[str, Any]] = {}
    chosen = sys.argv[1:] or list(FUNCTIONS)
    for name, level in [(each, level) for each in chosen for level in LEVELS.get(each, (2,))]:
        with tempfile.TemporaryDirectory() as folder:
            before, after = dumped(name, level, folder)
        text = without_values(before)
        (HERE / "graphs" / f"{name}.pbtxt").write_text(text)
        clusters = {n.name: n.string("_XlaCluster") for n in read_graph(after).nodes}
        graph = read_graph(text)
        nodes = [*chain.from_iterable(graph.functions.values()), *graph.nodes]
        refused = {n.name: why for n in nodes if (why := refusal(n))}
        found = {"clusters": {n: c for n, c in clusters.items() if c}, "refused": refused}
        if name in LEVELS:
            found = {"graph": name, "level": level, **found}
        marks[f"{name} at level {level}" if name in LEVELS else name] = found
        sys.stdout.write(f"{name}: {len(clusters)} nodes, {len(found['clusters'])} marked\n")
    path = HERE / "graphs" / "marks.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**known, **marks}, indent=1) + "\n")


if __name__ == "__main__":
    main()
