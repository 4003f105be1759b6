"""JAX's profiler: its own events, the user's, and those of PyHLO."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BY_ENGINE = {
    "interpreter": "jit_profiled by interpreter",
    "c": "PjitFunction(profiled)",  # C is called without Python
}


@pytest.mark.slow
def test_a_trace_has_the_names_of_programs_and_of_the_user_s_regions(
    jax: Any, jnp: Any, engine: str, tmp_path: Path
) -> None:
    def profiled(x: Any) -> Any:
        return jnp.tanh(x).sum()

    x = np.ones(4, np.float32)
    with jax.profiler.trace(str(tmp_path)), jax.profiler.TraceAnnotation("my region"):
        for step in range(2):
            with jax.profiler.StepTraceAnnotation("step", step_num=step):
                jax.jit(profiled)(x).block_until_ready()
    (path,) = tmp_path.rglob("*.trace.json.gz")
    with gzip.open(path) as file:
        names = {event.get("name") for event in json.load(file)["traceEvents"]}
    assert {"my region", "step", "PyHLO compiles", "PjitFunction(profiled)"} <= names
    assert BY_ENGINE[engine] in names


def test_a_profile_of_memory(jax: Any, jnp: Any) -> None:
    kept = jnp.ones(1000)
    assert gzip.decompress(jax.profiler.device_memory_profile())
    assert kept.is_ready()
