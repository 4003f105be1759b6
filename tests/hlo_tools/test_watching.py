"""`hlo run --profile`, `--profile-trace` and `--sanitize`; `hlo aot`."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest

from codegen.file_text import FileText
from emit_c import set_threads
from emit_c.executable import sanitize
from hlo.support.compiler import find_compiler
from hlo_tools.running.watching import duration

ADD = b"""HloModule my.module

ENTRY e {
  x = f32[30] parameter(0)
  y = f32[30] parameter(1)
  z = f32[30] multiply(x, y)
  ROOT s = f32[30] sort(z), dimensions={0}, to_apply={
    a = f32[] parameter(0)
    b = f32[] parameter(1)
    ROOT less = pred[] compare(a, b), direction=LT
  }
}
"""


def test_a_profile_lists_kernels(hlo, tmp_path):
    trace = tmp_path / "trace.json"
    result = hlo(
        *("run", "-", "--fill", 2, "--platform", "c", "--quiet", "--profile-trace", trace),
        stdin=ADD,
    )
    assert result.status == 0, result.err
    assert "GB/s" in result.out
    assert "sort f32[30]" in result.out
    assert "in kernels" in result.out
    assert "calls take one thread" in result.out
    assert json.loads(trace.read_text())["traceEvents"]


TWO_DEVICES = b"""HloModule m, num_partitions=2
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[50] parameter(0)
  t = token[] after-all()
  y = f32[50] tanh(x)
  s = f32[50] all-reduce(y), channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true,
    to_apply=add
  n = u32[] partition-id()
  ROOT r = (f32[50], token[], u32[]) tuple(s, t, n)
}
"""


def test_devices_are_profiled_together(hlo, tmp_path):
    """Each kernel has a call on each device, a collective as well."""
    trace = tmp_path / "trace.json"
    words = ("run", "-", "--platform", "c", "--profile-trace", trace)
    result = hlo(*words, "--reference", "interpreter", stdin=TWO_DEVICES)
    assert result.status == 0, result.err
    assert re.search(r"all-reduce f32\[50\] +2 ", result.out)
    assert "device 1:" in result.out
    threads = {event["tid"] for event in json.loads(trace.read_text())["traceEvents"]}
    assert len(threads) >= 2


def test_devices_are_watched_together(hlo):
    words = ("run", "-", "--platform", "c", "--sanitize", "--reference", "interpreter", "--quiet")
    result = hlo(*words, stdin=TWO_DEVICES)
    assert (result.status, "equal to interpreter, arrays: 4" in result.out) == (0, True), result.err


@pytest.mark.parametrize("width", [80, 120])
def test_no_number_of_a_profile_is_cut_away_on_a_terminal(hlo, monkeypatch, width):
    """Long names are folded instead, with and without colours."""
    screen = SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: True), stderr=sys.stderr)
    monkeypatch.setattr("hlo_tools.console.sys", screen)
    monkeypatch.setenv("COLUMNS", str(width))
    words = ("run", "-", "--fill", 2, "--platform", "c", "--quiet", "--profile")
    long = re.sub(rb"\bs\b", b"very_" * 20 + b"long", ADD)
    for no_color in ("", "1"):
        monkeypatch.setenv("NO_COLOR", no_color)
        told = hlo(*words, stdin=long).out
        assert "…" not in told
        assert "roofline" in told
        assert "over 100% where data lay in caches" in " ".join(told.split())
        assert "very_" in told
        assert max(map(len, told.splitlines())) <= max(width, 100) + 5


@pytest.mark.parametrize("option", ["--profile", "--sanitize"])
def test_only_c_is_watched(hlo, option):
    result = hlo("run", "-", "--fill", 2, option, stdin=ADD)
    assert result.status == 2
    assert f"{option} has no effect without --platform c" in result.err


def test_a_clean_module_passes_the_sanitizers(hlo):
    words = ("run", "-", "--seed", 1, "--platform", "c", "--sanitize")
    result = hlo(*words, "--reference", "interpreter", stdin=ADD)
    assert result.status == 0, result.err
    assert "equal to interpreter" in result.out


def test_lapack_is_watched_too(hlo):
    module = b"""HloModule m
ENTRY e {
  x = f32[3,3] parameter(0)
  ROOT r = (f32[3,3], s32[3], s32[]) custom-call(x), custom_call_target="lapack_sgetrf_ffi"
}"""
    words = ("run", "-", "--seed", 1, "--platform", "c", "--sanitize")
    result = hlo(*words, "--reference", "interpreter", stdin=module)
    assert result.status == 0, result.err


def test_a_mistake_is_shown_with_its_kernel(hlo, monkeypatch):
    good = sanitize.files

    def planted(module, name):
        texts = good(module, name)
        sections = [
            section._replace(text=re.sub(r"\bz\[(\w+)\] = ", r"z[\1 + 1] = ", section.text))
            for section in texts["module.c"].sections
        ]
        broken = FileText(sections)
        assert broken != texts["module.c"]
        return {**texts, "module.c": broken}

    monkeypatch.setattr(sanitize, "files", planted)
    text = ADD.split(b"  z =")[0] + b"  ROOT z = f32[30] multiply(x, y)\n}\n"
    result = hlo("run", "-", "--seed", 1, "--platform", "c", "--sanitize", stdin=text)
    assert result.status == 2
    assert "HLO184" in result.err
    assert "heap-buffer-overflow" in result.err
    assert "_kernel" in result.err
    assert "multiply(" in result.err


@pytest.mark.parametrize(
    ("seconds", "text"), [(2, "2 s"), (0.0123, "12.3 ms"), (4.5e-6, "4.5 µs"), (0, "0 µs")]
)
def test_times_are_short(seconds, text):
    assert duration(seconds) == text


def test_a_module_is_written_ahead_of_time(hlo, tmp_path):
    result = hlo("aot", "-", "-o", tmp_path / "out", stdin=ADD)
    assert result.status == 0, result.err
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    own = ["Makefile", "example.c", "my_module.c", "my_module.h"]
    assert names == [*own, "runtime.c", "runtime.h"]
    assert all(str(tmp_path / "out" / name) in result.out for name in names)
    spaced = hlo("aot", "-", "-o", tmp_path / "a dir", stdin=ADD)
    assert f"make -C '{tmp_path}/a dir' && '{tmp_path}/a dir/example'" in spaced.out + spaced.err


@pytest.mark.skipif(not shutil.which("make"), reason="there is no make")
def test_what_was_written_builds_and_runs(hlo, tmp_path):
    assert hlo("aot", "-", "-o", tmp_path, "--name", "sorted", stdin=ADD).status == 0
    log = tmp_path / "log"
    compiler = tmp_path / "my-cc"
    real = shlex.join(find_compiler())
    compiler.write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {real} "$@"\n')
    compiler.chmod(0o755)
    made = subprocess.run(
        ["make", "-C", tmp_path, f"CC={compiler}"],
        capture_output=True, text=True, check=True, timeout=60,
        env={**os.environ, "MAKEFLAGS": ""},
    )  # fmt: skip
    assert "warning" not in made.stderr
    assert log.read_text().count(" -c -o ") >= 3
    shown = subprocess.run([tmp_path / "example"], capture_output=True, text=True, check=True)
    name, *numbers = shown.stdout.split()
    assert (name, len(numbers)) == ("result:", 8)
    # The example's numbers are not all zeros.
    assert any(float(number) for number in numbers)


def test_the_folder_must_be_one(hlo, tmp_path):
    (tmp_path / "file").write_text("")
    result = hlo("aot", "-", "-o", tmp_path / "file", stdin=ADD)
    assert result.status == 2
    assert "HLO200" in result.err


def test_threads_can_be_limited(hlo):
    before = set_threads(10**6)
    words = ("run", "-", "--fill", 2, "--platform", "c", "--quiet", "--threads", 1)
    assert hlo(*words, stdin=ADD).status == 0
    assert set_threads(before) == 1
