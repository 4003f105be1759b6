"""Short answers to wrong words, and hints at the right ones."""

import numpy as np
import pytest

NEGATE = "HloModule m\nENTRY e { x = f32[2] parameter(0)  ROOT y = f32[2] negate(x) }\n"


def test_help_is_a_verb(hlo):
    assert hlo("help").out == hlo("--help").out
    assert hlo("help").status == 0
    assert hlo("help", "run").out == hlo("run", "--help").out
    assert "there is no verb `rum`; did you mean `run`?" in hlo("help", "rum").err


@pytest.mark.parametrize(
    ("words", "told"),
    {
        (
            "run",
            "--fill",
            "x",
            "m.hlo",
        ): "hlo run: error: argument --fill: invalid float value",
        ("stats",): "hlo stats: error: the following arguments are required: FILE",
        ("why", "nothing"): "hlo why: error: argument question: invalid choice: 'nothing'",
    }.items(),
)
def test_an_error_comes_before_one_line_of_usage(hlo, words, told):
    found = hlo(*words)
    assert found.status == 2
    error, usage = found.err.splitlines()
    assert error.startswith(told)
    assert usage.startswith(f"usage: hlo {words[0]} ")
    assert usage.endswith(f"; `hlo {words[0]} --help` tells more")


def test_a_question_says_its_own_usage(hlo, softmax):
    told = hlo("why", "fuse", softmax, "a").err
    assert "why fuse asks about 2 instructions, 1 given" in told
    assert "= usage: hlo why fuse FILE A B" in told


@pytest.mark.parametrize(("name", "meant"), {"gpu": "cuda", "cpu": "c", "CPU": "c"}.items())
def test_a_platform_under_another_name(hlo, softmax, name, meant):
    told = hlo("run", softmax, "--platform", name).err
    assert f"there is no platform `{name}`" in told
    assert f"did you mean `{meant}`?" in told


def test_the_timeline_is_that_of_a_gpu(hlo, softmax):
    assert hlo("timeline", softmax, "--target", "gpu").status == 0
    assert "invalid choice: 'cpu'" in hlo("timeline", softmax, "--target", "cpu").err


def test_a_page_of_differences_is_not_printed_as_well(hlo, tmp_path):
    for name, op in (("a", "negate"), ("b", "cosine")):
        (tmp_path / f"{name}.hlo").write_text(NEGATE.replace("negate", op))
    files = tmp_path / "a.hlo", tmp_path / "b.hlo"
    assert hlo("diff", *files, "--names").out.count("\n") == 4
    found = hlo("diff", *files, "--names", "--html", tmp_path / "d.html")
    assert (found.status, found.out) == (1, "1 changed, 0 added, 0 removed\n")


@pytest.mark.parametrize(
    ("command", "words", "told"),
    [
        ("true", [], "the command gave 0; it must fail on a module that shows the mistake"),
        ("false", ["--interesting"], "the command gave 1; with --interesting it must give 0"),
        ("echo ab; false", ["--says", "xy"], "the command's output has no `xy`"),
    ],
)
def test_a_command_that_shows_no_mistake_says_the_convention(hlo, tmp_path, command, words, told):
    (tmp_path / "m.hlo").write_text(NEGATE)
    found = hlo("minimize", tmp_path / "m.hlo", "--command", f"{command} #", *words)
    assert found.status == 1
    assert found.err.startswith(told)


def test_a_command_may_have_the_convention_of_c_reduce(hlo, tmp_path):
    """`grep -q` gives 0 where the word is there."""
    (tmp_path / "m.hlo").write_text(
        "ENTRY e { x = f32[2] parameter(0)  y = f32[2] cosine(x)  ROOT z = f32[2] negate(y) }"
    )
    words = ("--command", "grep -q cosine {}", "--interesting", "-o", tmp_path / "small.hlo")
    assert hlo("minimize", tmp_path / "m.hlo", *words).status == 0
    small = (tmp_path / "small.hlo").read_text()
    assert "cosine" in small
    assert "negate" not in small


def test_nan_that_comes_in_is_told(hlo, tmp_path):
    (tmp_path / "m.hlo").write_text(NEGATE)
    found = hlo("run", tmp_path / "m.hlo", "--fill", "nan", "--stop-at-nan", "--quiet")
    assert found.status == 2
    assert "error[HLO205]: parameter: NaN comes in with argument %x" in found.err
    assert hlo("run", tmp_path / "m.hlo", "--stop-at-nan").status == 0
    found = hlo("run", tmp_path / "m.hlo", "--fill", "inf", "--stop-at-inf")
    assert "infinity comes in with argument %x" in found.err


def test_a_part_for_one_device_says_how_whole_arrays_are_cut(hlo, tmp_path):
    (tmp_path / "m.hlo").write_text(
        "HloModule m, num_partitions=4\nENTRY e {\n"
        "  x = f32[2,16] parameter(0), sharding={devices=[4,1]<=[4]}\n"
        "  ROOT y = f32[2,16] negate(x)\n}"
    )
    np.save(tmp_path / "x.npy", np.ones((8, 16), np.float32))
    told = hlo("run", tmp_path / "m.hlo", "--input", tmp_path / "x.npy").err
    assert "[8, 16] is cut into 4 x 1 parts; give each device its own" in told
    np.save(tmp_path / "x.npy", np.ones((3, 16), np.float32))
    assert "is cut into" not in hlo("run", tmp_path / "m.hlo", "--input", tmp_path / "x.npy").err


def test_source_lines_follow_instructions(hlo, tmp_path):
    """The text still reads back: they are comments."""
    told = 'metadata={op_name="jit(f)/neg" source_file="model.py" source_line=3}'
    (tmp_path / "m.hlo").write_text(NEGATE.replace("negate(x)", f"negate(x), {told}"))
    text = hlo("print", tmp_path / "m.hlo", "--source-lines").out
    assert "  ROOT %y = f32[2]{0} negate(%x)  // model.py:3\n" in text
    assert hlo("run", "-", "--fill", 1, stdin=text.encode()).out == "f32[2] [-1., -1.]\n"


def test_families_of_passes_are_left_out(hlo, softmax):
    words = ("--platform", "c", "--quiet")
    out = hlo("run", softmax, *words, "--ablate", "fusion", "--ablate", "*-simplifier,layout").out
    assert "without fusion" in out
    assert "without *-simplifier, layout" in out
    wrong = hlo("run", softmax, *words, "--ablate", "fusin")
    assert "the pipeline has no pass `fusin`" in wrong.err
    assert "families are: calls, cleanup, " in wrong.err
