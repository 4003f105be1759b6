"""The fuzzer on fixed seeds, and planted mistakes that it must find."""

import json
import os
from argparse import Namespace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from strategies.wrong import opcodes

import emit_c
import emit_cuda
import hlo
import optimizer
from tests.fuzz.__main__ import fuzz, parsed_arguments, place_of
from tests.fuzz.cases import Run, halves
from tests.fuzz.corpus import CALLS, DONATIONS, DONORS, corpus
from tests.fuzz.excuses import judge
from tests.fuzz.findings import Findings, shrunk
from tests.fuzz.judge import prepared, read
from tests.fuzz.merge import merged
from tests.fuzz.mistakes import Case, Mistake
from tests.fuzz.mutate import GENTLE, TEXTUAL, module_of, text_of
from tests.fuzz.shrink import smaller, split
from tests.fuzz.xla import LIBERTIES, PROMISE, Xla

SUM = "HloModule m\n\nENTRY e {\n  x = f32[] parameter(0)\n  ROOT r = f32[] add(x, x)\n}\n"


@pytest.fixture(autouse=True)
def fixed_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that others add to the tests must not make other cases of the seeds."""
    monkeypatch.setattr("tests.fuzz.mutate.corpus", lambda: corpus("models"))


def arguments(tmp_path: Path, *words: object) -> Namespace:
    words = ("--workers", 1, "--out", tmp_path, "--no-shrink", *words)
    return parsed_arguments(list(map(str, words)))


def test_texts_are_refused_or_read(tmp_path: Path) -> None:
    counts, findings = fuzz(arguments(tmp_path, "--texts", 1000, "--seed", "ci"))
    assert counts["texts"] == 1000
    assert counts["parsed and verified"] > 150
    assert findings.counts == {}


def test_texts_of_stablehlo_are_refused_or_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.fuzz.stablehlo.corpus", lambda *_: corpus("models"))
    counts, findings = fuzz(arguments(tmp_path, "--texts", 60, "--stablehlo", "--seed", "ci"))
    assert counts["parsed and verified"] > 10
    assert findings.counts == {}


def test_modules_mean_the_same_three_ways(tmp_path: Path) -> None:
    counts, findings = fuzz(arguments(tmp_path, "--modules", 60, "--seed", "ci"))
    assert counts["run three ways"] > 10
    assert counts["of them donating"] > 0
    assert findings.counts == {}


@pytest.mark.parametrize("words", [[], ["--sanitize"]], ids=["unwatched", "watched"])
def test_modules_mean_the_same_in_cuda(tmp_path: Path, words: list[str]) -> None:
    asked = ("--modules", 60, "--platform", "cuda-host", "--seed", "ci", *words)
    counts, findings = fuzz(arguments(tmp_path, *asked))
    assert counts["run three ways"] > 10
    assert counts["of them donating"] > 0
    assert findings.counts == {}


@pytest.mark.slow
def test_many_modules_mean_the_same_three_ways(tmp_path: Path) -> None:
    counts, findings = fuzz(arguments(tmp_path, "--modules", 600, "--seed", "slow"))
    assert counts["run three ways"] > 100
    assert findings.counts == {}


def test_every_kind_of_mutation_makes_something_new() -> None:
    for kinds in (TEXTUAL, GENTLE):
        for kind, mutation in kinds.items():
            made = {mutation(text, Random(i)) for text in (DONORS, CALLS) for i in range(20)}
            assert len(made - {DONORS, CALLS}) > 5, kind


def test_the_same_seed_makes_the_same_case() -> None:
    assert text_of(Random("a/1")) == text_of(Random("a/1"))
    assert module_of(Random("a/1")) != module_of(Random("a/2"))


def test_the_corpus_is_sound() -> None:
    assert len(corpus().files) > 300
    for text in (DONATIONS, DONORS, CALLS):
        module = read(text)
        assert module is not None
        assert prepared(module, Random(0)).value is not None


def test_merged_modules_have_the_values_of_each() -> None:
    texts = [DONORS, DONATIONS, SUM, SUM]
    cases = [prepared(hlo.parse(text), Random(0)) for text in texts]
    executable = emit_c.compile(merged([c.optimized for c in cases]), optimize=False)
    values = executable(*[a for case in cases for a in case.arguments])
    for case, value in zip(cases, values, strict=True):
        judge(case, value, "C")
        with pytest.raises(Mistake):
            judge(case, None, "C")


def test_halves() -> None:
    assert halves([1, 2, 3]) == [[1], [2, 3]]


def test_a_rounding_error_is_excused_and_a_wrong_value_is_not() -> None:
    text = "HloModule m\n\nENTRY e {\n  x = f32[2] parameter(0)\n  ROOT r = f32[2] OP(x)\n}\n"
    near = hlo.parse(text.replace("OP", "floor"))
    one = np.float32([1, 1])
    case = Case(near, [one], one)
    # A number that is a little less than 1 is rounded to 0.
    judge(case, np.float32([1, 0]), "C")
    with pytest.raises(Mistake, match="C:"):
        judge(Case(hlo.parse(text.replace("OP", "negate")), [one], -one), one, "C")


def test_a_quotient_may_be_a_product_by_the_reciprocal() -> None:
    text = """HloModule m

ENTRY e {
  x = f16[1] parameter(0)
  one = f16[1] divide(x, x)
  ROOT r = f16[1] log(one)
}
"""
    # 4.44 * (1 / 4.44) is 0.9995 in f16, whose logarithm is far from 0.
    case = Case(hlo.parse(text), [np.float16([4.44])], np.float16([0]))
    judge(case, np.log(np.float16([0.9995])), "optimized")
    with pytest.raises(Mistake):
        judge(Case(case.module, [np.float16([4])], case.value), np.float16([-0.5]), "optimized")


FOLDED = """
HloModule m

f {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT r = s32[] subtract(a, b)
}

ENTRY e {
  x = s32[3] parameter(0)
  zero = s32[] constant(0)
  folded = s32[] reduce(x, zero), dimensions={0}, to_apply=f
  one = s32[1] slice(x), slice={[2:3]}
  short = s32[] reduce(one, zero), dimensions={0}, to_apply=f
  other = s32[3] negate(x)
  ROOT t = (s32[], s32[], s32[3]) tuple(folded, short, other)
}
"""


def test_an_order_of_folding_excuses_what_depends_on_it_and_nothing_else() -> None:
    x = np.int32([1, 2, 4])
    value = (np.int32(-7), np.int32(-4), -x)
    case = Case(hlo.parse(FOLDED), [x], value)
    # 0 - (1 - (2 - 4)), as a tree folds it; one element can be folded in one way only.
    judge(case, (np.int32(-3), *value[1:]), "C")
    for at, wrong in ((1, np.int32(4)), (2, x)):
        got = list(value)
        got[0], got[at] = np.int32(-3), wrong
        with pytest.raises(Mistake, match=rf"C: \{{{at}\}}"):
            judge(case, tuple(got), "C")


OPENED = """
HloModule m

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}

ENTRY e {
  x = f32[2] parameter(0)
  one = f32[] constant(1)
  alone = f32[1,2] reshape(x)
  kept = f32[2] reduce(alone, one), dimensions={0}, to_apply=add
  folded = f32[] reduce(x, one), dimensions={0}, to_apply=add
  tiny = f32[] constant(1e-40)
  large = f32[] constant(1e38)
  small = f32[] multiply(tiny, large)
  zero = f32[] constant(0)
  sum = f32[] reduce(x, zero), dimensions={0}, to_apply=add
  ROOT t = (f32[2], f32[], f32[], f32[]) tuple(kept, folded, small, sum)
}
"""


def test_choices_of_xla_are_excused_and_other_values_are_not() -> None:
    """It takes an initial value for neutral, and flushes subnormal numbers."""
    x = np.float32([1, 2])
    value = (x + 1, np.float32(4), np.float32(0.01), np.float32(3))
    case = Case(hlo.parse(OPENED), [x], value)
    judge(case, (x, np.float32(5), np.float32(0), value[3]), "XLA", PROMISE, LIBERTIES)
    with pytest.raises(Mistake, match=r"XLA: \{3\}"):
        judge(case, (x, np.float32(4), value[2], np.float32(2)), "XLA", PROMISE, LIBERTIES)
    with pytest.raises(Mistake):
        judge(case, (x, *value[1:]), "C")


def case_of(line: str, given: np.ndarray, value: np.ndarray) -> Case:
    text = f"HloModule m\nENTRY e {{ x = c64[1] parameter(0) {line} }}"
    return Case(hlo.parse(text), [given], value)


def test_another_backend_is_asked_and_may_end_its_process() -> None:
    x = np.complex64([3 + 4j])
    negated = case_of("ROOT r = c64[1] negate(x)", x, -x)
    size = case_of("ROOT r = f32[1] abs(x)", x, np.float32([5]))
    turned = case_of("ROOT r = c64[1] reverse(x), dimensions={0}", x, x)
    there = Xla(f"{opcodes.__file__}:complex_abs_is_its_real_part")
    assert [there.ask(case) for case in (negated, turned)] == ["value", "value"]
    with pytest.raises(Mistake, match="XLA: "):
        there.ask(size)
    there = Xla(f"{opcodes.__file__}:ends_the_process")
    assert [there.ask(case) for case in (negated, turned, size)] == ["value", "crashed", "value"]


@pytest.mark.slow
def test_modules_mean_the_same_in_xla(tmp_path: Path) -> None:
    pytest.importorskip("jaxlib")
    counts, findings = fuzz(arguments(tmp_path, "--modules", 100, "--xla"))
    assert counts["run by XLA"] > 20
    assert findings.counts == {}


def test_all_cases_of_a_finding_are_kept(tmp_path: Path) -> None:
    findings = Findings(tmp_path)
    kept = [findings.add("late", "here", "told", "text", f"0/{n}") for n in range(20)]
    assert kept[0] is not None
    assert kept[1:] == [None] * 19
    assert findings.report().endswith("20  late-here  0/0 0/1 0/2 0/3 0/4 0/5 0/6 0/7 ...")
    findings.save({})
    told = json.loads((tmp_path / "counts.json").read_text())
    assert told["findings"] == {"late-here": [f"0/{n}" for n in range(20)]}


def test_a_foreign_exception_is_found(tmp_path: Path, monkeypatch) -> None:
    true_parse = hlo.parse

    def parse(text: str, *rest: str) -> hlo.Module:
        if "multiply" in text:
            raise ValueError("planted")
        return true_parse(text, *rest)

    monkeypatch.setattr(hlo, "parse", parse)
    counts, findings = fuzz(arguments(tmp_path, "--texts", 60))
    assert counts["foreign exceptions"] > 2
    (name,) = findings.counts
    path = tmp_path / f"{name}.hlo"
    assert "// parse: " in path.read_text()
    smaller(findings, Run("0", gentle=False, last=60))
    _, text = split(path)
    # Little is left of the text beside the word.
    assert "multiply" in text
    assert len(text) < 30


def test_a_wrong_value_is_found(tmp_path: Path, monkeypatch) -> None:
    true_optimize = optimizer.optimize

    def optimize(module: hlo.Module, **options: object) -> hlo.Module:
        text = str(true_optimize(module, **options)).replace(" subtract(", " add(")
        return hlo.parse(text)

    monkeypatch.setattr(optimizer, "optimize", optimize)
    counts, findings = fuzz(arguments(tmp_path, "--modules", 80))
    assert counts["differences"] > 0
    assert any(name.startswith("difference-optimized") for name in findings.counts)


def test_a_wrong_value_of_a_kernel_is_found(tmp_path: Path, monkeypatch) -> None:
    true_compile = emit_cuda.compile

    def compile_(module: hlo.Module, *rest: object, **options: object):
        text = str(module).replace(" multiply(", " add(")
        return true_compile(hlo.parse(text), *rest, **options)

    monkeypatch.setattr(emit_cuda, "compile", compile_)
    _, findings = fuzz(arguments(tmp_path, "--modules", 40, "--platform", "cuda-host"))
    assert any(name.startswith("difference-CUDA") for name in findings.counts)


def test_a_crash_is_found_and_its_module_named(tmp_path: Path, monkeypatch) -> None:
    true_compile = emit_c.compile

    def compile_(module: hlo.Module, **options: object):
        made = true_compile(module, **options)
        crashes = any(i.opcode == "negate" for i in module.instructions())
        return (lambda *_: os.abort()) if crashes else made

    monkeypatch.setattr(emit_c, "compile", compile_)
    counts, findings = fuzz(arguments(tmp_path, "--modules", 12))
    assert counts["crashes"] > 0
    (name,) = [name for name in findings.counts if name.startswith("crash")]
    assert "negate" in (tmp_path / f"{name}.hlo").read_text()


def test_sanitizers_say_where() -> None:
    said = "part0.c:119:53: runtime error: passing zero to clz(), which is not a valid argument"
    assert place_of(f"noise\n{said}\n") == "passing zero to clz(), which is not a valid argument"
    said = "SUMMARY: AddressSanitizer: heap-buffer-overflow /tmp/part0.c:51 in hlo_tile"
    assert place_of(said) == "heap-buffer-overflow in hlo_tile"


def test_texts_are_shrunk_to_what_matters() -> None:
    text = "".join(f"line {i} of many words\n" for i in range(40))
    assert shrunk(text, lambda fewer: "17" in fewer).strip() == "17"
