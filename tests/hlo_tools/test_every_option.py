"""Every option of every verb has an effect, and a nonsensical value of it is refused.

A new option fails here until it is entered: with words under which it changes something.
"""

from pathlib import Path

import numpy as np
import pytest
from verb_options import options_of

from hlo_tools.cli import VERBS

MODULE = """HloModule m

f {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

ENTRY e {
  x = f32[2,3] parameter(0), metadata={op_name="x"}
  k = f32[12] constant({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
  l = f32[12] log(k)
  zero = f32[] constant(0)
  s = f32[] reduce(l, zero), dimensions={0}, to_apply=f
  y = f32[2,3] broadcast(s), dimensions={}
  z = f32[2,3] multiply(x, y), backend_config={"a":1}
  w = f32[2,3] sqrt(z)
  v = f32[2,3] add(w, x)
  ROOT r = f32[3,2] transpose(v), dimensions={1,0}
}
"""
# Words under which an option changes what is printed, written, or said. `M` is the module, `K` the
# same without layouts or names, `A` its argument, `OUT` a file that is not there.
EFFECTS = {
    "print": {
        "--entry": "M --entry f",
        "-o": "M -o OUT",
        "--short-parsable": "M --short-parsable",
        "--operand-shapes": "M --operand-shapes",
        "--elide-constants": "M --elide-constants",
        "--large-constants": "M --elide-constants --large-constants",
        "--no-metadata": "M --no-metadata",
        "--no-backend-config": "M --no-backend-config",
        "--no-layouts": "M --no-layouts",
        "--no-percent": "M --no-percent",
        "--no-signatures": "M --no-signatures",
        "--source-lines": "M --source-lines",
    },
    "run": {
        "--entry": "M --entry f",
        "--platform": "M --platform nonsense",
        "--input": "M --input A",
        "--seed": "M --seed 7",
        "--fill": "M --fill 2",
        "--replicas": "M --replicas 2",
        "-o": "M -o OUT.npz",
        "--split-input": "TWO --split-input",
        "--iterations": "M --iterations 2",
        "--repeat": "M --repeat 2",
        "--quiet": "M --quiet",
        "--expect": "M --expect A",
        "--reference": "M --reference interpreter",
        "--trace": "M --trace OUT",
        "--stop-at-nan": "M --seed 1 --stop-at-nan",
        "--stop-at-inf": "M --fill 1e38 --stop-at-inf",
        "--profile": "M --fill 1 --platform c --profile",
        "--profile-trace": "M --fill 1 --platform c --profile-trace OUT",
        "--mode": "M --fill 1 --platform c --mode eager",
        "--ablate": "M --fill 1 --platform c --ablate fusion",
        "--max-iterations": "LOOP --max-iterations 1",
        "--promise": "M --expect A --promise BITS",
        "--rtol": "M --expect A --rtol 1e9",
        "--atol": "M --expect A --atol 1e9",
        "--ulps": "M --expect A --ulps 3",
    },
    "opt": {
        "--entry": "M --entry f",
        "--passes": "M --passes dce",
        "--target": "S --target gpu",
        "--strict": "S --strict",
        "--until": "M --until algebraic-simplifier",
        "--fuel": "M --fuel 1",
        "--skip": "M --skip 1",
        "--log": "M --log",
        "--log-diff": "M --log-diff",
        "--time": "M --time",
        "--print-after": "M --print-after all",
        "--dump-to": "M --dump-to OUT",
        "--check-values": "M --check-values --input BAD",
        "--input": "M --check-values --input BAD",
        "--stage": "M --stage buffers",
        "--kernel": "M --stage loops --kernel nonsense",
        "--svg": "M --svg OUT",
        "--trace": "M --trace OUT",
        "--split-input": "TWO --split-input",
        "-o": "M -o OUT",
    },
    "grad": {
        "--entry": "M --mode vjp --entry f",
        "--wrt": "M --mode vjp --wrt 7",
        "--mode": "M --mode vjp",
        "--of": "M --of 3",
        "--checkpoint": "SINES --checkpoint",
        "-o": "SINES -o OUT",
        "--split-input": "TWO --split-input",
    },
    "vmap": {
        "--entry": "M --size 8 --entry f",
        "--size": "M --size 8",
        "--dimensions": "M --size 8 --dimensions 1",
        "-o": "M --size 8 -o OUT",
        "--split-input": "TWO --size 8 --split-input",
    },
    "aot": {
        "--entry": "M -o OUT --entry f",
        "-o": "M -o OUT",
        "--name": "M -o OUT --name n",
        "--no-optimize": "M -o OUT --no-optimize",
        "--subnormals": "M -o OUT --subnormals flush",
        "--threads": "M -o OUT --threads 1",
    },
    "bisect": {
        "--entry": "M --entry f",
        "--passes": "M --passes dce",
        "--target": "S --target gpu",
        "--strict": "S --strict",
        "--input": "M --input BAD",
        "--promise": "M --promise FINITE",
        "--rtol": "M --rtol 1",
        "--atol": "M --atol 1",
        "--ulps": "M --ulps 1",
    },
    "graph": {
        "--entry": "M --entry f",
        "--computation": "M --computation f",
        "--around": "M --around w",
        "--hops": "M --around w --hops 1",
        "--collapse": "CALL --collapse",
        "--most": "M --most 1",
        "--format": "M --format dot",
        "-o": "M -o OUT",
    },
    "minimize": {
        "--entry": "M --nan --entry f",
        "--nan": "M --nan --seed 1",
        "--inf": "M --inf",
        "--passes": "M --passes dce",
        "--platform": "M --platform interpreter",
        "--command": "M --command false",
        "--says": "M --command false --says nonsense",
        "--interesting": "M --command false --interesting",
        "--reference": "M --platform interpreter --reference nonsense",
        "-o": "M --nan --seed 1 -o OUT",
        "--save-inputs": "M --nan --seed 1 --save-inputs OUT.npz",
        "--input": "M --nan --input BAD",
        "--fill": "M --nan --fill 2",
        "--replicas": "M --nan --replicas 2",
    },
    "accuracy": {
        "--entry": "M --entry f",
        "--passes": "M --fill 1 --passes dce",
        "--target": "M --fill 1 --target gpu",
        "--input": "M --input BAD",
        "--seed": "M --seed 5",
        "--fill": "M --fill 3",
        "--replicas": "M --replicas 2",
        "--instructions": "M --instructions 1",
        "--platform": "M --fill 1 --platform interpreter",
    },
    "verify": {"--entry": "M --entry f"},
    "stats": {"--largest": "M --largest 1", "--entry": "M --entry f", "--devices": "M --devices"},
    "diff": {
        "--names": "M K --names",
        "--metadata": "M K --metadata",
        "--no-layouts": "M L --no-layouts",
        "--html": "M K --html OUT",
    },
    "rules": {
        "--promise": "add --promise BITS",
        "--why": "add --why M",
        "--at": "add --why M --at v",
    },
    "why": {"--target": "fuse M z w --target gpu", "--entry": "fuse M z w --entry f"},
    "timeline": {"--list": "M --list", "--entry": "M --entry f"},
    "report-bug": {"-o": "-o OUT.zip stats M"},
    "explain": {"--all": "--all"},
    "doctor": {"--cache": "--cache"},
}
# Options whose effects other tests show, for they need more than a module.
ELSEWHERE = {
    "run": {
        "--threads",
        "--subnormals",
        "--sanitize",
        "--checked",
        "--no-library",
        "--schedule",  # test_own_schedules.py
        "--transport",  # emit_c/test_processes.py
    },  # test_watching.py
    "opt": {
        "--arch",
        "--explain-launch",
        "--seed",
        "--fill",
        "--replicas",
        "--plain",
        "--steps",
        "--schedule",  # test_own_schedules.py
        *("--prove", "--proof-steps", "--proof-elements"),  # test_module_proofs.py
    },  # test_optimizing.py; the loops of kernels
    "diff": {
        *("--prove", "--proof-steps", "--proof-elements"),
        *("--promise", "--rtol", "--atol", "--ulps"),
    },  # test_module_proofs.py
    "bisect": {"--seed", "--fill", "--replicas"},  # inputs as of `run`
    "graph": {"--engine"},  # test_graph.py
    "minimize": {
        "--seed",
        "--timeout",
        "--seconds",
        "--promise",
        "--rtol",
        "--atol",
        "--ulps",
    },  # as of `run`
    "timeline": {"--target", "--topology", "--bandwidth", "--latency"},  # and test_timeline.py
    "accuracy": {"--strict"},  # pipelines as of `opt`
    "check": {
        *("--examples", "--seed", "--rules", "--promise", "--rtol", "--atol", "--ulps"),
        *("--backend", "--reference", "--opcodes"),  # test_conformance.py
    },
    "rules": {"--prove", "--record"},  # test_proofs.py
    "doctor": {"--clear-cache"},
    "explore": {"--port", "--open", "--seconds"},  # test_explore.py
    "lsp": {"--stdio"},  # test_lsp.py
    "replay": {"--keep", "--trust"},  # test_bug_report.py
}
# Verbs whose options have tests of their own; each is named in one of these.
APART = {"jax", "tf", "torch", "pjrt", "cuda-host", "step", "view", "assignment", "exercise"}
TESTS = Path(__file__).parents[1]


SHOWN = [(verb, option, words) for verb, rows in EFFECTS.items() for option, words in rows.items()]


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_is_shown_to_have_an_effect(verb: str) -> None:
    known = set(EFFECTS.get(verb, {})) | ELSEWHERE.get(verb, set())
    there = {a.option_strings[0] for a in options_of(verb)}
    if verb in APART:
        assert not known
        here = Path(__file__).name
        tests = [path for path in TESTS.rglob("test_*.py") if path.name != here]
        texts = "".join(path.read_text() for path in tests)
        assert {o for o in there if o not in texts} == set()
    else:
        assert there == known, "enter it with words under which it has an effect"


@pytest.mark.parametrize("verb", VERBS)
def test_a_nonsensical_value_is_refused(hlo, verb: str) -> None:
    """Wherever the parser knows what a value must be."""
    for action in options_of(verb):
        assert action.help, f"{action.option_strings} tells nothing"
        if (action.choices or action.type) and action.nargs != 0:
            result = hlo(verb, action.option_strings[0], "nonsense")
            assert (result.status, result.out) == (2, "")
            assert action.option_strings[0] in result.err


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """What stands for the words in capitals."""
    texts = {
        "M": MODULE,
        "K": MODULE.replace("  w = ", "  other = ")
        .replace("add(w", "add(other")
        .replace('"x"', '"y"'),
        "L": MODULE.replace("v = f32[2,3] add", "v = f32[2,3]{0,1} add"),
        "TWO": "ENTRY e { ROOT x = f32[] parameter(0) }\n// -----\n"
        "ENTRY e { ROOT x = f32[] parameter(0) }",
        "CALL": "f { ROOT a = f32[] parameter(0) } ENTRY e { x = f32[] parameter(0) "
        "ROOT r = f32[] call(x), to_apply=f }",
        "LOOP": "c { a = s32[] parameter(0) k = s32[] constant(5) ROOT r = pred[] compare(a, k), "
        "direction=LT } b { d = s32[] parameter(0) o = s32[] constant(1) ROOT n = s32[] add(d, o) }"
        " ENTRY e { z = s32[] constant(0) ROOT w = s32[] while(z), condition=c, body=b }",
        "SINES": "c { s = (s32[], f32[]) parameter(0) i = s32[] get-tuple-element(s), index=0 "
        "k = s32[] constant(9) ROOT r = pred[] compare(i, k), direction=LT } b { s = (s32[], f32[])"
        " parameter(0) i = s32[] get-tuple-element(s), index=0 o = s32[] constant(1) n = s32[] "
        "add(i, o) v = f32[] get-tuple-element(s), index=1 w = f32[] sine(v) ROOT t = (s32[], "
        "f32[]) tuple(n, w) } ENTRY e { x = f32[] parameter(0) z = s32[] constant(0) s = (s32[], "
        "f32[]) tuple(z, x) l = (s32[], f32[]) while(s), condition=c, body=b ROOT r = f32[] "
        "get-tuple-element(l), index=1 }",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.hlo").write_text(text)
    np.save(tmp_path / "A.npy", np.array([[1, 2, 3], [4, 5, 6]], np.float32))
    np.save(tmp_path / "W.npy", np.ones((3, 2), np.float32))
    np.save(tmp_path / "BAD.npy", np.ones(7, np.float32))
    return {
        **{name: str(tmp_path / f"{name}.hlo") for name in texts},
        "A": str(tmp_path / "A.npy"),
        "W": str(tmp_path / "W.npy"),
        "S": str(TESTS / "models" / "softmax_layer.hlo"),
        "BAD": str(tmp_path / "BAD.npy"),
        "OUT": str(tmp_path / "made"),
    }


@pytest.mark.parametrize(("verb", "option", "words"), SHOWN, ids=[f"{v} {o}" for v, o, _ in SHOWN])
def test_an_option_has_an_effect(
    hlo,
    files: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    verb: str,
    option: str,
    words: str,
) -> None:
    if verb == "doctor":  # a user's cache may have gigabytes
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if option == "--expect" or " --expect " in words:
        words = words.replace("--expect A", "--expect W")
    given = [
        files.get(word, files["OUT"] + word[3:] if word.startswith("OUT") else word)
        for word in words.split()
    ]
    with_it, wrote = outcome(hlo, tmp_path, verb, given)
    assert "internal error" not in with_it.err
    place = given.index(option)
    action = next(a for a in options_of(verb) if option in a.option_strings)
    without = given[:place] + given[place + (1 if action.nargs == 0 else 2) :]
    assert outcome(hlo, tmp_path, verb, without) != (with_it, wrote)


def outcome(hlo, folder: Path, verb: str, words: list[str]) -> tuple[object, dict[Path, bytes]]:
    """What is printed, and what is written, which is removed again."""
    before = set(folder.rglob("*"))
    result = hlo(verb, *words)
    made = sorted(set(folder.rglob("*")) - before, reverse=True)
    written = {path: path.read_bytes() for path in made if path.is_file()}
    for path in made:
        path.unlink() if path.is_file() else path.rmdir()
    return result, written
