"""`hlo run`: inputs, platforms, comparison, observation, and what it prints and saves."""

import io
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from hlo import parse
from hlo_tools.running.observers import progress
from interpreter import evaluate
from tests.sharded import sum_over_y

ADD = b"""HloModule m

ENTRY e {
  x = f32[2] parameter(0)
  y = f32[2] parameter(1)
  ROOT s = f32[2] add(x, y)
}
"""
LOG_IN_A_LOOP = b"""HloModule m

cond {
  p = (s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(4)
  ROOT c = pred[] compare(i, n), direction=LT
}

body {
  q = (s32[], f32[]) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  one = s32[] constant(1)
  k = s32[] add(j, one)
  x = f32[] get-tuple-element(q), index=1
  l = f32[] log(x)
  ROOT t = (s32[], f32[]) tuple(k, l)
}

ENTRY e {
  zero = s32[] constant(0)
  start = f32[] constant(2)
  t0 = (s32[], f32[]) tuple(zero, start)
  ROOT w = (s32[], f32[]) while(t0), condition=cond, body=body
}
"""


def test_values_are_printed(hlo) -> None:
    result = hlo("run", "-", "--fill", 1.5, stdin=ADD)
    assert (result.status, result.out) == (0, "f32[2] [3., 3.]\n")


# Each replica adds its number, so that no two of them have the same part in the sum.
REPLICAS = b"""HloModule m, replica_count=3
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[] parameter(0)
  d = u32[] replica-id()
  f = f32[] convert(d)
  y = f32[] add(x, f)
  ROOT r = f32[] all-reduce(y), replica_groups={}, to_apply=add
}
"""


@pytest.mark.parametrize("platform", ["c", "cuda-host"])
@pytest.mark.parametrize("words", [(), ("--replicas", 3)])
def test_several_devices_call_one_compiled_program(hlo, words, platform) -> None:
    text = REPLICAS.replace(b", replica_count=3", b"") if words else REPLICAS
    result = hlo("run", "-", "--fill", 1, "--platform", platform, *words, stdin=text)
    assert result.status == 0
    assert result.out.count("6.") == 3


@pytest.mark.parametrize("platform", ["interpreter", "c", "cuda-host"])
def test_a_program_on_whole_arrays_is_given_each_once(hlo, platform) -> None:
    text = sum_over_y.text.replace("HloModule m", "HloModule m, num_partitions=8").encode()
    out = hlo("run", "-", "--fill", 2, "--platform", platform, stdin=text).out
    assert out.startswith("f32[8,2]")
    assert out.count("-8.") == 16
    assert hlo("bisect", "-", stdin=text).status == 0


def test_values_that_the_text_leaves_out_are_told_of(hlo) -> None:
    text = ADD.replace(b"parameter(1)", b"constant({...})")
    result = hlo("run", "-", "--fill", 1, stdin=text)
    assert result.status == 0
    assert "leaves out the value of y, line" in result.err
    assert hlo("run", "-", "--fill", 1, stdin=ADD).err == ""


def test_a_seed_gives_the_same_values_each_time(hlo) -> None:
    first, again, other = (hlo("run", "-", "--seed", s, stdin=ADD).out for s in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("how", ["one .npz", "two .npy"])
def test_inputs_come_from_files(hlo, tmp_path: Path, how: str) -> None:
    x, y = np.array([1, 2], np.float32), np.array([10, 20], np.float32)
    if how == "one .npz":
        np.savez(tmp_path / "in.npz", first=x, second=y)
        words = ["--input", tmp_path / "in.npz"]
    else:
        np.save(tmp_path / "x.npy", x)
        np.save(tmp_path / "y.npy", y)
        words = ["--input", tmp_path / "x.npy", "--input", tmp_path / "y.npy"]
    assert hlo("run", "-", *words, stdin=ADD).out == "f32[2] [11., 22.]\n"


def test_a_saved_value_is_expected_again(hlo, softmax: Path, tmp_path: Path) -> None:
    saved = tmp_path / "out.npz"
    assert hlo("run", softmax, "-o", saved, "--quiet").out == ""
    again = hlo("run", softmax, "--expect", saved, "--promise", "BITS", "--quiet")
    assert (again.status, again.out) == (0, f"equal to {saved}, arrays: 1, promise: BITS\n")
    other = hlo("run", softmax, "--expect", saved, "--seed", 1, "--quiet")
    assert other.status == 1
    assert other.out.startswith(f"different from {saved}: [0,0]: ")


def test_one_array_can_be_saved_as_npy(hlo, tmp_path: Path) -> None:
    hlo("run", "-", "--fill", 1, "-o", tmp_path / "out.npy", stdin=ADD)
    assert np.load(tmp_path / "out.npy").tolist() == [2, 2]


@pytest.mark.parametrize("model", ["mixed_precision", "data_parallel_step", "collatz"])
def test_models_give_what_xla_gives(hlo, softmax: Path, model: str) -> None:
    text, arrays = softmax.with_name(f"{model}.hlo"), softmax.with_name(f"{model}.npz")
    assert hlo("run", text, "--input", arrays, "--expect", arrays).status == 0


def test_several_devices_are_printed_apart(hlo, softmax: Path) -> None:
    out = hlo("run", softmax.with_name("data_parallel_step.hlo"), "--fill", 1).out
    assert "device 0:" in out
    assert "device 1:" in out


def test_replicas_can_be_chosen(hlo) -> None:
    text = b"""HloModule m

    add {
      x = u32[] parameter(0)
      y = u32[] parameter(1)
      ROOT s = u32[] add(x, y)
    }

    ENTRY e {
      r = u32[] replica-id()
      ROOT a = u32[] all-reduce(r), to_apply=add, replica_groups={}
    }
    """
    out = hlo("run", "-", "--replicas", 3, stdin=text).out
    assert out == "".join(f"device {d}:\nu32[] 3\n" for d in range(3))


def test_a_module_that_is_too_large_is_refused_before_its_inputs_are_made(hlo) -> None:
    text = b"HloModule m\n\nENTRY e { ROOT x = f32[1000000,1000000] parameter(0) }"
    assert "error[HLO113]" in hlo("run", "-", stdin=text).err


def test_devices_that_do_not_fit_are_refused_before_their_inputs_are_made(hlo) -> None:
    text = b"HloModule m, num_partitions=99999999\nENTRY e { ROOT x = f32[4] parameter(0) }"
    err = hlo("run", "-", stdin=text).err
    assert "error[HLO113]: 99,999,999 devices and the inputs take" in err


def test_the_reference_agrees(hlo, softmax: Path) -> None:
    result = hlo("run", softmax, "--reference", "interpreter", "--promise", "BITS", "--quiet")
    assert result.status == 0


def test_the_c_platform_agrees_with_the_interpreter(hlo, softmax: Path) -> None:
    result = hlo("run", softmax, "--platform", "c", "--reference", "interpreter", "--quiet")
    assert result.out == "equal to interpreter, arrays: 1, promise: ROUNDING\n"


def test_flushed_numbers_are_told(hlo) -> None:
    """C takes subnormal numbers for zeros: no difference, but worth a word. What grows out of them
    is a difference.
    """
    module = """HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  c = f32[4] constant({1e-40, 1, 1e-40, 1})
  y = f32[4] multiply(x, c)
  z = f32[4] sqrt(y)
}"""
    small = module.replace("y =", "ROOT y =").encode()
    words = ("--platform", "c", "--reference", "interpreter", "--quiet", "--fill", 1)
    words = (*words, "--rtol", "1e-6")
    told = hlo("run", "-", *words, "--subnormals", "flush", stdin=small)
    equal = "equal to interpreter, arrays: 1, rtol: 1e-06"
    assert told.out == f"{equal}, but for 2 subnormal numbers taken for 0 (--subnormals)\n"
    assert told.status == 0
    assert hlo("run", "-", *words, "--subnormals", "keep", stdin=small).out == f"{equal}\n"
    grown = module.replace("z =", "ROOT z =").encode()
    assert hlo("run", "-", *words, "--subnormals", "flush", stdin=grown).status == 1


def test_a_trace_has_a_line_a_value(hlo, tmp_path: Path) -> None:
    assert hlo("run", "-", "--trace", tmp_path / "trace", stdin=LOG_IN_A_LOOP).status == 0
    lines = (tmp_path / "trace").read_text().splitlines()
    # 4 of the entry, 5 times the 4 of the condition, 4 times the 7 of the body.
    assert len(lines) == 4 + 5 * 4 + 4 * 7
    assert lines[0] == "device 0/e/zero = constant s32[] 0"
    assert any(line.startswith("device 0/e/body[3]/l = log f32[] ") for line in lines)


def test_a_trace_is_printed(hlo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = hlo("run", "-", "--trace", "-", "--quiet", stdin=LOG_IN_A_LOOP)
    assert result.out.startswith("device 0/e/zero = constant s32[] 0\n")
    assert list(tmp_path.iterdir()) == []


def test_a_trace_can_keep_whole_values(hlo, tmp_path: Path) -> None:
    assert hlo("run", "-", "--fill", 2, "--trace", tmp_path / "t.npz", stdin=ADD).status == 0
    with np.load(tmp_path / "t.npz") as trace:
        assert trace["device 0/e/s"].tolist() == [4, 4]


def test_nan_stops_the_run_where_it_arises(hlo) -> None:
    # log(2), log(log 2) < 0, then log of a negative number.
    result = hlo("run", "-", "--stop-at-nan", stdin=LOG_IN_A_LOOP)
    assert (result.status, result.out) == (2, "")
    assert "<stdin>:16:" in result.err
    assert "error[HLO205]: log: NaN arises in %l in iteration 2" in result.err


def test_infinity_stops_the_run_where_it_arises(hlo) -> None:
    text = ADD.replace(b"add(x, y)", b"divide(x, y)")
    assert "infinity arises in %s" not in hlo("run", "-", "--stop-at-inf", stdin=text).err
    twice = text.replace(b"ROOT s", b"s").replace(b"}", b"  z = f32[2] subtract(y, y)\n}")
    twice = twice.replace(b"}", b"  q = f32[2] divide(s, z)\n  ROOT r = f32[2] add(q, q)\n}")
    assert "infinity arises in %q" in hlo("run", "-", "--stop-at-inf", stdin=twice).err


def test_infinite_constants_do_not_stop_it(hlo, softmax: Path) -> None:
    # The attention's mask is made of infinities that no instruction computes.
    attention = softmax.with_name("attention.hlo")
    assert hlo("run", attention, "--stop-at-nan", "--stop-at-inf").status == 0


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--platform", "cudda"], "HLO204"),
        (["--reference", "interpretre"], "HLO204"),
        (["--platform", "c", "--trace", "t"], "HLO203"),
        (["--input", "absent.npy"], "HLO200"),
        (["--input", __file__], "HLO202"),
        (["--expect", __file__], "HLO202"),
        (["-o", "out.txt"], "HLO202"),
        (["-o", "absent/out.npz"], "HLO200"),
        (["--trace", "absent/trace"], "HLO200"),
    ],
)
def test_bad_options_are_one_message(hlo, words: list[str], code: str) -> None:
    result = hlo("run", "-", *words, stdin=ADD)
    assert result.status == 2
    assert f"error[{code}]" in result.err


def test_wrong_inputs_are_refused(hlo, tmp_path: Path) -> None:
    np.savez(tmp_path / "one.npz", np.zeros(2, np.float32))
    np.savez(tmp_path / "wide.npz", np.zeros(2), np.zeros(2))
    assert "HLO202" in hlo("run", "-", "--input", tmp_path / "one.npz", stdin=ADD).err
    assert "HLO112" in hlo("run", "-", "--input", tmp_path / "wide.npz", stdin=ADD).err
    with zipfile.ZipFile(tmp_path / "text.npz", "w") as archive:
        archive.writestr("notes.txt", "no array")
    told = hlo("run", "-", "--input", tmp_path / "text.npz", stdin=ADD).err
    assert "HLO202" in told
    assert "`notes.txt` is no array" in told
    integers = ADD.replace(b"f32", b"s8")
    for number in (300, "nan", "inf"):
        told = hlo("run", "-", "--fill", number, stdin=integers).err
        assert told.startswith("error[HLO202]"), told
    assert "HLO202" in hlo("run", "-", "--fill", 0.5, stdin=integers).err


@pytest.mark.parametrize(
    ("name", "at", "byte"),
    [("a.npy", 70, b"("), ("a.npz", 8, b"\x63"), ("a.npz", 6, b"\x01"), ("a.npz", 60, b"\xff")],
    ids=["a header", "the compression", "encryption", "what is compressed"],
)
def test_damaged_arrays_are_refused(hlo, tmp_path: Path, name: str, at: int, byte: bytes) -> None:
    path = tmp_path / name
    if path.suffix == ".npy":
        np.save(path, np.ones((30, 4), np.float32))
    else:
        np.savez_compressed(path, a=np.ones((30, 4), np.float32))
    raw = bytearray(path.read_bytes())
    # A zip tells a file's compression in front of the file, and at its own end.
    for start in (0, raw.rfind(b"PK\1\2") + 2) if path.suffix == ".npz" and at < 10 else (0,):
        raw[start + at] = byte[0]
    path.write_bytes(raw)
    err = hlo("run", "-", "--input", path, stdin=b"ENTRY e { ROOT x = f32[30,4] parameter(0) }").err
    assert err.startswith("error[HLO202]: cannot read the arrays of")


def test_files_without_arrays_are_refused(hlo, tmp_path: Path) -> None:
    """NumPy calls any text pickled, and proposes to load it in spite of that."""
    text, objects = tmp_path / "text.npy", tmp_path / "objects.npy"
    text.write_text("1, 2")
    np.save(objects, np.array([{}], object), allow_pickle=True)
    for path, told in ((text, "text.npy is neither .npy nor .npz"), (objects, "Object arrays")):
        result = hlo("run", "-", "--input", path, stdin=ADD)
        assert (result.status, told in result.err) == (2, True)
        assert "unsafely" not in result.err


def test_a_module_that_is_not_well_formed_is_refused(hlo) -> None:
    result = hlo("run", "-", stdin=ADD.replace(b"s = f32[2]", b"s = f32[3]"))
    assert result.status == 2
    assert "<stdin>:6:" in result.err


@pytest.mark.parametrize(("patience", "shown"), [(-1.0, True), (60.0, False)])
def test_a_bar_shows_for_long_runs(monkeypatch, patience: float, shown: bool) -> None:
    monkeypatch.setattr("hlo_tools.running.observers.PATIENCE", patience)
    module = parse(LOG_IN_A_LOOP.decode())
    terminal = io.StringIO()
    with progress(module, Console(file=terminal, force_terminal=True)) as observe:
        evaluate(module, observe=observe)
    assert ("100%" in terminal.getvalue()) == shown


def test_tolerances_take_the_place_of_the_promise(hlo, tmp_path: Path) -> None:
    np.savez(tmp_path / "near.npz", out0=np.array([4.001, 4.0], np.float32))
    words = ("run", "-", "--fill", 2, "--quiet", "--expect", tmp_path / "near.npz")
    assert hlo(*words, stdin=ADD).status == 1
    for near in (("--rtol", 1e-3), ("--atol", 2e-3), ("--ulps", 5000)):
        assert hlo(*words, *near, stdin=ADD).status == 0
    for far in (("--rtol", 1e-4), ("--atol", 5e-4), ("--ulps", 5), ("--ulps", 0)):
        assert hlo(*words, *far, stdin=ADD).status == 1
    told = hlo(*words, "--rtol", 1e-3, "--atol", 0, stdin=ADD).out
    assert told.endswith("arrays: 1, rtol: 0.001\n")


def test_a_loop_that_never_ends_is_given_up(hlo) -> None:
    text = b"""
more { x = f32[] parameter(0)  ROOT yes = pred[] constant(true) }
iteration { y = f32[] parameter(0)  ROOT s = f32[] sine(y) }
ENTRY e { z = f32[] parameter(0)  ROOT w = f32[] while(z), condition=more, body=iteration }
"""
    result = hlo("run", "-", "--max-iterations", 50, stdin=text)
    assert result.status == 2
    assert "error[HLO124]: w: the loop has not ended after 50 iterations" in result.err


SEVERAL = b"""ENTRY e {
  ROOT x = f32[2] parameter(0)
}
// -----

ENTRY e {
  x = f32[2] parameter(0)
  ROOT y = f32[2] negate(x)
}
"""


def test_a_file_may_have_several_modules(hlo) -> None:
    result = hlo("run", "-", "--split-input", "--fill", 1, stdin=SEVERAL)
    assert result.out == "f32[2] [1., 1.]\n// -----\nf32[2] [-1., -1.]\n"
    printed = hlo("opt", "-", "--split-input-file", "--passes", "dce", stdin=SEVERAL).out
    assert printed.count("HloModule") == 2
    assert printed.count("// -----\n") == 1
    # Lines of errors are those of the file.
    wrong = hlo("run", "-", "--split-input", stdin=SEVERAL.replace(b"negate(x)", b"negate(z)"))
    assert wrong.err.startswith("<stdin>:8:")


def test_iterations_take_one_seed_after_the_other(hlo) -> None:
    both = hlo("run", "-", "--seed", 3, "--iterations", 2, stdin=ADD).out
    assert both == "".join(hlo("run", "-", "--seed", seed, stdin=ADD).out for seed in (3, 4))
    words = ("--reference", "interpreter", "--quiet", "--iterations", 3)
    assert hlo("run", "-", *words, stdin=ADD).out.count("equal to interpreter") == 3


@pytest.mark.parametrize("platform", ["interpreter", "c"])
def test_runs_are_timed(hlo, platform: str) -> None:
    result = hlo("run", "-", "--platform", platform, "--repeat", 3, "--fill", 1, stdin=ADD)
    assert result.out == "f32[2] [2., 2.]\n"
    time = r"[\d.]+ (s|ms|µs)"
    assert re.fullmatch(
        f"{platform}: ready in .*, 3 runs: best {time}, median {time}\n", result.err
    )


def test_tolerances_have_the_names_of_xla(hlo) -> None:
    words = ("run", "-", "--reference_platform", "interpreter", "--quiet")
    told = hlo(*words, "--rel_error_bound", "0.5", "--abs_error_bound", "0.25", stdin=ADD).out
    assert told == "equal to interpreter, arrays: 1, rtol: 0.5, atol: 0.25\n"


def test_modes_are_shown_side_by_side(hlo, softmax: Path) -> None:
    words = ("--platform", "c", "--mode", "eager", "--ablate", "fusion", "--quiet")
    result = hlo("run", softmax, *words, "--reference", "interpreter")
    assert result.status == 0
    assert "equal to interpreter" in result.out
    rows = {line[:15].strip(): line[15:].split() for line in result.out.splitlines()}
    assert rows[""][:3] == ["kernels", "launches", "bytes"]
    assert int(rows["eager"][0]) > int(rows["compiled"][0])
    assert "without fusion" in rows
    both = "fusion,multi-output-fusion"
    result = hlo("run", softmax, "--platform", "c", "--ablate", both, "--quiet")
    rows = [line.split() for line in result.out.splitlines()]
    assert "without fusion, multi-output-fusion" in result.out
    assert int(rows[2][3]) > int(rows[1][1])
    assert "error[HLO151]" in hlo("run", softmax, "--platform", "c", "--ablate", "fussion").err
