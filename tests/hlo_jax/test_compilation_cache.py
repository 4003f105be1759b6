"""JAX's compilation cache: executables as files, which a second process finds."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hlo_jax.programs.program import FormatError
from hlo_jax.programs.serialized import MAGIC, deserialized

SCRIPT = """
import jax, jax.numpy as jnp
from jax._src import monitoring
found = []
monitoring.register_event_listener(lambda name, **_: found.append(name))
print(jax.jit(lambda x: jnp.sin(x) + 1)(jnp.float32(0)))
print(found.count("/jax/compilation_cache/cache_hits"))
"""


@pytest.fixture
def cache(jax: Any, tmp_path: Path) -> Any:
    """JAX with a cache in a folder."""
    module = pytest.importorskip("jax._src.compilation_cache")
    options = {
        "jax_compilation_cache_dir": str(tmp_path),
        "jax_persistent_cache_min_compile_time_secs": 0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
        "jax_enable_compilation_cache": True,
    }
    before = {name: getattr(jax.config, name) for name in options}
    module.reset_cache()
    for name, value in options.items():
        jax.config.update(name, value)
    yield tmp_path
    for name, value in before.items():
        jax.config.update(name, value)
    module.reset_cache()


def test_a_program_is_found_again(jax: Any, cache: Path, engine: str) -> None:
    def kept(x: Any) -> Any:
        return x * 3 + 1

    assert jax.jit(kept)(2.0) == 7
    files = sorted(path.name for path in cache.iterdir() if path.name.startswith("jit_kept"))
    assert files, engine
    jax.clear_caches()
    assert jax.jit(kept)(2.0) == 7
    again = sorted(path.name for path in cache.iterdir() if path.name.startswith("jit_kept"))
    assert [name for name in again if name.endswith("-cache")] == [
        name for name in files if name.endswith("-cache")
    ]


def test_an_executable_goes_through_bytes(jax: Any, jnp: Any, engine: str) -> None:
    as_bytes = pytest.importorskip("jax.experimental.serialize_executable")
    x = jnp.arange(6.0).reshape(2, 3)
    compiled = jax.jit(lambda x: {"product": x @ x.T, "more": x + 1}).lower(x).compile()
    devices = {"execution_devices": jax.devices()[:1]}
    made = as_bytes.deserialize_and_load(*as_bytes.serialize(compiled), **devices)(x)
    assert made["product"].tolist() == [[5, 14], [14, 50]], engine
    assert made["more"].tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "an executable of another plugin or version"),
        (MAGIC + b"\xff", "damaged"),
        (MAGIC, "damaged: 1"),
    ],
)
def test_bytes_that_are_no_executable_are_refused(content: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        deserialized(content)


@pytest.mark.slow
@pytest.mark.usefixtures("jax")
def test_another_process_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
    command = [sys.executable, "-c", SCRIPT]
    first, second = (
        subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        for _ in range(2)
    )
    assert first == ["1.0", "0"]
    assert second[0] == "1.0"
    assert int(second[1]) > 0
