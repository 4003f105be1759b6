"""What was built before is found again, and nothing else is."""

import io
import json
from dataclasses import replace

import numpy as np
import pytest

import emit_c
import hlo
import optimizer
from emit_c.executable import module_cache
from emit_c.executable.runtime import runtime
from hlo.support.cache import cache_folder, read_sealed
from hlo_jax.engines.callbacks import enter

NUMBERS = ", ".join(str(n * n % 9973) for n in range(9000))
TEXT = f"""HloModule m, input_output_alias={{ {{1}}: (0, {{}}, may-alias) }},
  entry_computation_layout={{(f32[9000]{{0}}, f32[2,3]{{1,0}})->(f32[3,2]{{0,1}}, f32[9000]{{0}})}}
ENTRY e {{
  x = f32[9000]{{0}} parameter(0)
  y = f32[2,3]{{1,0}} parameter(1)
  c = f32[9000]{{0}} constant({{{NUMBERS}}})
  d = f32[2,3]{{1,0}} add(y, y)
  t = f32[3,2]{{0,1}} transpose(d), dimensions={{1,0}}
  s = f32[9000]{{0}} add(x, c)
  ROOT r = (f32[3,2]{{0,1}}, f32[9000]{{0}}) tuple(t, s)
}}"""


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """An empty cache that is used; what all modules share is compiled before."""
    runtime()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(module_cache, "cache_folder", cache_folder)
    return tmp_path / "pyhlo" / "built"


@pytest.fixture
def refuse(monkeypatch):
    """A function after which nothing can be optimized any more."""

    def refused(*_, **__):
        raise AssertionError("optimized again")

    return lambda: monkeypatch.setattr(optimizer, "optimize", refused)


def key(text):
    return module_cache.cache_key(hlo.parse(text))


@pytest.mark.parametrize("donate", [False, True])
def test_what_was_built_is_not_built_again(programs, refuse, donate):
    y = np.arange(6, dtype=np.float32).reshape(2, 3)
    first = emit_c.compile(hlo.parse(TEXT), donate=donate)
    source = first.source
    want = first(np.ones(9000, np.float32), y)
    refuse()
    again = emit_c.compile(hlo.parse(TEXT), donate=donate)
    x = np.ones(9000, np.float32)
    found = again(x, y)
    assert [f.tolist() for f in found] == [w.tolist() for w in want]
    assert found[0].strides == want[0].strides == (4, 12)
    assert np.shares_memory(found[1], x) == donate
    assert again.memory == first.memory
    assert len(list(programs.iterdir())) == 1
    assert "add" in source


def test_the_source_is_written_again_when_it_is_asked_for(programs):
    sources = {emit_c.compile(hlo.parse(TEXT)).source for _ in range(2)}
    assert len(sources) == 1
    assert len(list(programs.iterdir())) == 1


def test_its_key_is_of_all_that_decides_it(monkeypatch):
    texts = [
        TEXT,
        TEXT.replace("add(x, c)", "subtract(x, c)"),
        TEXT.replace(" 9604,", " -9604,"),
        TEXT.replace(f"{{{NUMBERS}}}", "{...}"),
        TEXT.replace("ENTRY e {", "ENTRY e {\n  dark = f32[99] constant({...})").replace(
            f"{{{NUMBERS}}}", "{...}"
        ),
    ]
    assert len({key(text) for text in texts}) == len(texts)
    before = key(TEXT)
    assert key(TEXT) == before
    monkeypatch.setattr(module_cache, "_versions", lambda: "another")
    assert key(TEXT) != before


def test_metadata_does_not_matter():
    told = TEXT.replace("add(x, c)", 'add(x, c), metadata={op_name="plus"}')
    assert key(told) == key(TEXT)


@pytest.mark.parametrize("harm", [b"", b"no archive", None])
def test_a_broken_file_is_written_anew(programs, harm):
    emit_c.compile(hlo.parse(TEXT))
    (path,) = programs.iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if harm is None else harm)
    assert emit_c.compile(hlo.parse(TEXT)).memory.constants == 36_000
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("arena_bytes", n) for n in (-1, 0, None)],
        *[("donated", {"0": 5}), ("views", {"0": [[1], [0]]}), ("tiles", None), ("library", [])],
    ],
)
def test_what_a_file_says_is_not_believed_when_it_was_changed(programs, name, value):
    emit_c.compile(hlo.parse(TEXT))
    (path,) = programs.iterdir()
    whole = path.read_bytes()
    with np.load(io.BytesIO(read_sealed(path)), allow_pickle=False) as arrays:
        kept = dict(arrays)
    about = json.loads(bytes(kept["about"])) | {name: value}
    kept["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    np.savez(path, **kept)
    x, y = np.ones(9000, np.float32), np.ones((2, 3), np.float32)
    assert emit_c.compile(hlo.parse(TEXT))(x, y)[0].tolist() == [[2, 2]] * 3
    assert path.read_bytes() == whole


def test_a_file_is_of_one_module_only(programs):
    other = TEXT.replace("add(x, c)", "subtract(x, c)")
    emit_c.compile(hlo.parse(TEXT))
    (path,) = programs.iterdir()
    (programs / f"{module_cache.cache_key(hlo.parse(other), True)}.npz").write_bytes(
        path.read_bytes()
    )
    x, y = np.zeros(9000, np.float32), np.ones((2, 3), np.float32)
    assert emit_c.compile(hlo.parse(other))(x, y)[1][2] == -4


def test_a_full_disk_leaves_nothing(programs, monkeypatch):
    monkeypatch.setattr(module_cache, "write_sealed", lambda *_: False)
    x, y = np.ones(9000, np.float32), np.ones((2, 3), np.float32)
    assert emit_c.compile(hlo.parse(TEXT))(x, y)[0].tolist() == [[2, 2]] * 3
    assert not list(programs.iterdir())


@pytest.mark.usefixtures("programs")
def test_a_library_that_is_gone_is_compiled_again():
    made = emit_c.compile(hlo.parse(TEXT))
    made.library.unlink()
    again = emit_c.compile(hlo.parse(TEXT))
    assert again.library.exists()


@pytest.mark.usefixtures("programs")
def test_a_library_that_vanishes_once_it_was_found_is_compiled_again(monkeypatch):
    y, x = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones(9000, np.float32)
    want = emit_c.compile(hlo.parse(TEXT))(x, y)
    original = module_cache.load_built

    def recalled(*key):
        found = original(*key)
        found.library.unlink()
        return found

    monkeypatch.setattr(module_cache, "load_built", recalled)
    got = emit_c.compile(hlo.parse(TEXT))(x, y)
    assert [part.tolist() for part in got] == [part.tolist() for part in want]


def test_large_constants_are_not_written_twice(programs, monkeypatch):
    monkeypatch.setattr(module_cache, "MOST_CONSTANT_BYTES", 35_999)
    emit_c.compile(hlo.parse(TEXT))
    assert not list(programs.iterdir())


def test_a_program_that_calls_functions_of_this_process_is_not_written(programs):
    """Another process would find no function under the name that the C calls."""
    number, keeper = enter(lambda x: [x + 1])
    called = emit_c.compile(
        hlo.parse(f"""HloModule m
    ENTRY e {{
      x = f32[2] parameter(0)
      ROOT y = f32[2] custom-call(x), custom_call_target="xla_ffi_python_cpu_callback",
        api_version=API_VERSION_TYPED_FFI, backend_config={{index = {number} : ui64}}
    }}""")
    )
    assert called(np.zeros(2, np.float32)).tolist() == [1, 1]
    assert keeper
    assert not list(programs.glob("*"))


def test_nothing_is_left_where_that_is_not_wanted(programs):
    emit_c.compile(hlo.parse(TEXT), remember=False)
    assert not programs.exists()


@pytest.mark.usefixtures("programs")
def test_a_module_must_be_sound_though_its_text_was_seen():
    module = hlo.parse(TEXT)
    emit_c.compile(module)
    stranger = hlo.parse(TEXT).entry.root
    entry = replace(module.entry, root=stranger)
    broken = replace(module, computations=(entry,), entry=entry)
    with pytest.raises(hlo.HloError):
        emit_c.compile(broken)
