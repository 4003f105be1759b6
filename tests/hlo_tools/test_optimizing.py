"""`hlo opt`, `bisect`, `passes` and `rules`."""

import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import emit_c
import optimizer
from hlo import Instruction, Module
from hlo.walk import rebuild, rebuild_module
from hlo_tools.options.files import read_module
from hlo_tools.step import Stepper
from interpreter.numbers.compare import BITS, ROUNDING
from optimizer.catalogue import all_rules
from optimizer.log import Log
from optimizer.rewriting.make import make


@dataclass(frozen=True)
class Wrong:
    """Makes every subtraction an addition: a bug to be found."""

    name = "wrong"

    def run(self, module: Module, log: Log) -> Module:
        def added(i: Instruction) -> Instruction:
            return make("add", *i.operands)

        def change(computation):
            found = [i for i in computation.instructions if i.opcode == "subtract"]
            plan = {i: added(i) for i in found}
            asked = {i: new for i, new in plan.items() if log.rewrite("to-add", i, new)}
            return rebuild(computation, asked)

        return rebuild_module(module, change)


@pytest.fixture
def wrong(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(optimizer.PASSES, "wrong", Wrong)
    return "wrong"


def test_opt_makes_the_module_smaller_and_keeps_its_value(hlo, softmax: Path, tmp_path) -> None:
    arrays = softmax.with_suffix(".npz")
    small = tmp_path / "small.hlo"
    result = hlo("opt", softmax, "-o", small, "--check-values", "--input", arrays)
    assert (result.status, result.out, result.err) == (0, "", "")
    before, after = (path.read_text().partition("ENTRY")[2] for path in (softmax, small))
    assert len(after.splitlines()) < len(before.splitlines())
    assert hlo("run", small, "--input", arrays, "--expect", arrays, "--quiet").status == 0


def test_an_option_is_named_that_divides_a_module(hlo, tmp_path: Path) -> None:
    """Parameters and results stay whole without it, and this module has nothing else."""
    module = tmp_path / "m.hlo"
    module.write_text("""HloModule m, num_partitions=2
ENTRY e {
  x = f32[8] parameter(0), sharding={devices=[2]<=[2]}
  ROOT y = f32[8] negate(x)
}""")
    told = hlo("opt", module, "--passes", "sharding-propagation,spmd-partitioning").err
    assert told == (
        "spmd-partitioning: nothing is divided but regions of shard_map; "
        "try spmd-partitioning{entry=true}\n"
    )
    divided = hlo("opt", module, "--passes", "spmd-partitioning{entry=true}")
    assert divided.err == ""
    assert "f32[4]" in divided.out


@pytest.mark.parametrize("model", ["softmax_layer", "conv_net_gradient"])
def test_the_c_that_is_shown_is_the_c_that_runs(hlo, softmax: Path, model) -> None:
    """Results of the second one are views of arrays in another order, which are not compiled."""
    path = softmax.with_stem(model)
    source = hlo("opt", path, "--stage", "c").out
    assert "int run(" in source
    assert source == emit_c.compile(read_module(str(path))).source


def test_fuel_stops_after_so_many_rewrites(hlo, softmax: Path) -> None:
    whole = hlo("opt", softmax, "--log")
    assert len(whole.err.splitlines()) > 3
    assert hlo("opt", softmax, "--fuel", 0).out == hlo("print", softmax).out
    two = hlo("opt", softmax, "--fuel", 2, "--log")
    assert two.err.splitlines() == whole.err.splitlines()[:2]


BY_COLUMNS = b"""HloModule m, entry_computation_layout={(f32[2,3]{1,0})->f32[3,2]{0,1}}
ENTRY e {
  x = f32[2,3]{1,0} parameter(0)
  n = f32[2,3]{1,0} negate(x)
  ROOT t = f32[3,2]{0,1} transpose(n), dimensions={1,0}
}"""


def test_what_precedes_code_is_logged_and_skipped_as_any_pass(hlo) -> None:
    """The emitters change nothing in the module that these passes leave."""
    for stage, name in {"c": "preparation.result-views", "cuda": "row-major-entry"}.items():
        assert f"{name}: " in hlo("opt", "-", "--stage", stage, "--log", stdin=BY_COLUMNS).err
    shown = hlo("opt", "-", "--stage", "c", stdin=BY_COLUMNS)
    assert "bitcast" not in shown.out
    assert "bitcast" in hlo("opt", "-", "--stage", "c", "--skip", 3, stdin=BY_COLUMNS).out


def test_what_precedes_code_is_a_step() -> None:
    stepper = Stepper(BY_COLUMNS.decode())
    stepper.breakpoint("result-views")
    assert "leave to the caller" in str(stepper.cont())


def test_rewrites_are_shown_before_and_after(hlo) -> None:
    text = b"ENTRY e { x = f32[2] parameter(0) n = f32[2] negate(x) ROOT r = f32[2] negate(n) }"
    told = hlo("opt", "-", "--passes", "algebraic-simplifier", "--log-diff", stdin=text).err
    assert told == (
        "    1 pipeline.algebraic-simplifier: negate(negate(x)) => x: %r -> %x\n"
        "-       %r = f32[2]{0} negate(%n)\n"
        "+       %x = f32[2]{0} parameter(0)\n"
    )


def test_until_stops_after_a_pass(hlo, softmax: Path) -> None:
    stopped = hlo("opt", softmax, "--until", "algebraic-simplifier", "--log").err
    assert "algebraic-simplifier" in stopped
    assert ".fusion:" not in stopped
    assert ".fusion:" in hlo("opt", softmax, "--log").err


def test_passes_can_be_chosen(hlo, softmax: Path) -> None:
    told = hlo("opt", softmax, "--passes", "cse", "--log").err
    assert all(".cse:" in line for line in told.splitlines())
    assert "error[HLO151]" in hlo("opt", softmax, "--passes", "csee").err


def test_modules_between_passes_can_be_seen(hlo, softmax: Path, tmp_path: Path) -> None:
    result = hlo("opt", softmax, "--print-after", "fusion", "--dump-to", tmp_path / "d", "--time")
    assert re.search(r"^// after .*\.fusion$", result.err, re.MULTILINE)
    assert re.search(r" s +\d+ runs?  fusion$", result.err, re.MULTILINE)
    names = [path.name for path in sorted((tmp_path / "d").iterdir())]
    assert names[0].startswith("module_0000.jit_softmax_layer.0000.")


def test_checking_values_finds_a_wrong_pass(hlo, softmax: Path, wrong: str) -> None:
    assert hlo("opt", softmax, "--passes", wrong).status == 0
    result = hlo("opt", softmax, "--passes", f"cse,{wrong}", "--check-values")
    assert result.status == 2
    assert "error[HLO153]: the pass pipeline.wrong changed the result" in result.err


def test_bisect_finds_the_wrong_rewrite(hlo, softmax: Path, wrong: str) -> None:
    model = softmax.with_name("layer_norm.hlo")
    assert hlo("bisect", model).status == 0
    result = hlo("bisect", model, "--passes", f"algebraic-simplifier,cse,{wrong},dce")
    assert result.status == 1
    lines = result.out.splitlines()
    assert re.match(r"rewrite \d+ of \d+ makes it wrong: .* elements differ", lines[0])
    assert lines[1] == "pass pipeline.wrong, rule to-add"
    assert " subtract(" in lines[2]
    assert lines[3].partition("(")[2] == lines[2].partition("(")[2]
    assert " add(" in lines[3]


def test_passes_are_listed_with_their_options(hlo) -> None:
    out = hlo("passes").out
    assert all(re.search(rf"^{name} +\w", out, re.MULTILINE) for name in optimizer.PASSES)
    assert re.search(r"^ +strict=false$", out, re.MULTILINE)
    assert "optimizer/expanders/optimization_barrier_expander.py:" in out
    assert "()" not in out, "each has a location"


def test_rules_are_listed_with_their_promises(hlo) -> None:
    *lines, _, last = hlo("rules").out.splitlines()
    rules = [line for line in lines if not line.startswith(" ")]
    assert len(rules) == len(all_rules())
    words = Counter(line.split()[1] for line in rules)
    assert last.startswith(f"{len(rules)} rules: {words['proved']} proved, ")
    assert words.keys() <= {"proved", "partly", "sampled"}
    for wanted, start in ((("--promise", "BITS"), "BITS"), (("transpose",), "")):
        *some, _, _ = hlo("rules", *wanted).out.splitlines()
        named = [line for line in some if not line.startswith(" ")]
        assert named
        assert all(line.startswith(start) for line in named)
        assert all(wanted[-1] in line for line in named)


# The difference cancels all but what rounding leaves.
CANCELLING = b"""HloModule m

ENTRY e {
  x = f32[64] parameter(0)
  y = f32[64] parameter(1)
  e = f32[64] exponential(x)
  f = f32[64] exponential(y)
  p = f32[64] multiply(e, f)
  s = f32[64] add(x, y)
  t = f32[64] exponential(s)
  ROOT n = f32[64] subtract(p, t)
}
"""


@dataclass(frozen=True)
class Rounds:
    """Iterations exp(x) * exp(y) into exp(x + y): that rounds, as it says."""

    name = "rounds"
    promise = ROUNDING

    def run(self, module: Module, log: Log) -> Module:
        def change(computation):
            (old,) = (i for i in computation.instructions if i.name == "p")
            added = make("add", *(operand.operands[0] for operand in old.operands))
            total = replace(added, name="total")
            new = make("exponential", total)
            return rebuild(computation, {old: new} if log.rewrite("sum", old, total, new) else {})

        return rebuild_module(module, change)


@dataclass(frozen=True)
class Breaks(Rounds):
    """Says that it keeps all bits."""

    name = "breaks"
    promise = BITS


def test_bisect_does_not_accuse_a_rule_of_the_rounding_that_it_promises(hlo, monkeypatch) -> None:
    monkeypatch.setitem(optimizer.PASSES, "rounds", Rounds)
    monkeypatch.setitem(optimizer.PASSES, "breaks", Breaks)
    sound = hlo("bisect", "-", "--passes", "rounds", stdin=CANCELLING)
    assert (sound.status, sound.out.splitlines()) == (
        0,
        [
            "rewrite 1, pipeline.rounds: sum: it keeps its promise, ROUNDING",
            "no rewrite breaks its promise after 1 rewrite, promise: ROUNDING",
        ],
    )
    wrong = hlo("bisect", "-", "--passes", "breaks", stdin=CANCELLING)
    assert wrong.status == 1
    assert "rewrite 1 of 1 makes it wrong" in wrong.out


def test_bisect_goes_on_behind_a_rewrite_that_rounds(hlo, monkeypatch, wrong: str) -> None:
    monkeypatch.setitem(optimizer.PASSES, "rounds", Rounds)
    result = hlo("bisect", "-", "--passes", f"rounds,{wrong}", stdin=CANCELLING)
    assert result.status == 1
    assert "rewrite 1, pipeline.rounds: sum: it keeps its promise" in result.out
    assert "rewrite 2 of 2 makes it wrong" in result.out
    assert "rule to-add" in result.out


def test_bisect_takes_tolerances(hlo, monkeypatch) -> None:
    monkeypatch.setitem(optimizer.PASSES, "breaks", Breaks)
    words = ("bisect", "-", "--passes", "breaks")
    assert hlo(*words, "--atol", 1e-3, stdin=CANCELLING).out.endswith("rewrite, atol: 0.001\n")
    assert hlo(*words, "--ulps", 3, stdin=CANCELLING).status == 1


def test_the_number_that_bisect_shows_is_the_one_that_opt_skips(hlo, softmax, wrong: str) -> None:
    model = softmax.with_name("layer_norm.hlo")
    passes = ("--passes", f"algebraic-simplifier,cse,{wrong},dce")
    found = re.match(r"rewrite (\d+) of", hlo("bisect", model, *passes).out)
    assert found
    number = int(found[1])
    logged = hlo("opt", model, *passes, "--log").err.splitlines()
    assert logged[number - 1].startswith(f"{number:>5} pipeline.wrong: to-add:")
    skipped = hlo("opt", model, *passes, "--skip", number).out
    assert skipped.count(" subtract(") == 1 + hlo("opt", model, *passes).out.count(" subtract(")
    fuelled = hlo("opt", model, *passes, "--fuel", number, "--log").err.splitlines()
    assert fuelled == logged[:number]


# What XLA writes beside the modules between passes: of other kinds, or from inside of a pass.
APART = re.compile(r"cpu_after_optimizations-|\.copy-insertion\.after_(adding|removing)")
BETWEEN = re.compile(r"(\d{4})\.([\w-]+)\.after_([\w-]+)\.before_([\w-]+)")


@pytest.mark.slow
def test_dumps_are_named_as_those_of_xla(hlo, tmp_path):
    """XLA itself dumps the module, in a process of its own."""
    pytest.importorskip("jaxlib")
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    program = (
        "import jax, jax.numpy as jnp\n"
        "jax.jit(lambda x: jnp.sum(jax.nn.softmax(x @ x.T) / 3 + 0 * x.sum()))"
        ".lower(jax.ShapeDtypeStruct((8, 8), 'float32')).compile()\n"
    )
    flags = f"--xla_dump_to={theirs} --xla_dump_hlo_pass_re=.* --xla_dump_hlo_as_text"
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    first = next(theirs.glob("*.before_optimizations.txt"))
    assert hlo("opt", first, "--dump-to", ours, "-o", tmp_path / "m").status == 0

    def places(folder) -> list[str]:
        stem = re.compile(r"module_\d{4}\.jit__lambda\.(.*)\.txt")
        found = [m[1] for path in folder.iterdir() if (m := stem.fullmatch(path.name))]
        return sorted(place for place in found if not APART.search(place))

    ends = ["before_optimizations", "cpu_after_optimizations"]
    named: dict[str, set[str]] = {}
    for folder in (theirs, ours):
        *between, first, last = places(folder)
        assert [first, last] == ends
        found = [BETWEEN.fullmatch(place) for place in between]
        assert all(found), between
        numbers = [int(match[1]) for match in found if match]
        assert numbers == sorted(numbers)
        named[folder.name] = {word for match in found if match for word in match.groups()[1:]}
    shared = named["theirs"] & named["ours"]
    assert shared >= {"algsimp", "simplification", "pipeline-start", "fusion"}
    assert shared >= {f"HLO_passes_{side}_layout_assignment" for side in ("through", "after")}
    assert "simplification_after_layout_assignment" in shared
