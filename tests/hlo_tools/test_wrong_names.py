"""No name that does not exist is ever ignored, whichever verb and option it is given to.

Every option whose value is free text is tried with a name that nothing has, and every verb with an
option and a word too many. An option of a new kind fails here until it is entered.
"""

import shlex
from pathlib import Path

import numpy as np
import pytest
from verb_options import options_of

from hlo_tools.cli import VERBS

ADD = "ENTRY e { x = f32[2] parameter(0) ROOT r = f32[2] add(x, x) }"
KERNEL = "__global__ void f(float *x) { x[0] = 1; }"
# Words that a verb needs. `M` is a module, `NO` stands for a name that nothing has.
NEEDED = {
    **dict.fromkeys(VERBS, "M"),
    "jax": "script.py",
    "tf": "script.py",
    "torch": "script.py",
    "pjrt": "",
    "cuda-host": "kernel.cu",
    "check": "cse",
    "step": "M --script script.py",
    "minimize": "M --command false",
    "grad": "M --mode forward",
    "vmap": "M --size 8",
    "aot": "M -o made",
    "diff": "M M",
    "ops": "",
    "passes": "",
    "rules": "",
    "why": "fuse M x r",
    "assignment": "make bugs 1 --seed 1",
    "exercise": "",
    "report-bug": "-o made.zip stats M",
    "replay": "bug.zip",
    "explain": "",
    "doctor": "",
}
# What else an option needs, so that it has an effect.
BESIDE = {
    "opt --kernel": "--stage loops",
    "opt --steps": "--stage loops",
    "opt --schedule": "--stage loops",
    "opt --arch": "--target gpu --stage ptx",
    "opt --input": "--check-values",
    "opt --explain-launch": "--target gpu --stage cuda",
    "rules --at": "--why M",
    "cuda-host --kernel": "--arg f32[2]",
    "cuda-host --out": "--arg f32[2]",
    "cuda-host --explain-launch": "--arg f32[2]",
    "run --profile-trace": "--platform c",
    "run --ablate": "--platform c",
    "run --schedule": "--platform c",
}
# Instead of what the verb needs elsewhere.
ALONE = {
    "check --backend": "",
    "check --reference": "--backend c",
    "check --opcodes": "--backend c",
    "minimize --passes": "M",
    "minimize --platform": "M",
    "minimize --reference": "M --platform interpreter",
    "step --script": "M",
    "aot -o": "M",
    "vmap --size": "M",
    "report-bug -o": "stats M",
    "tf --dump-to": "--auto-cluster script.py",
    "tf --since": "--auto-cluster script.py",
}
# A value of these is free: text to be looked for, a command, a name to be given.
FREE = {"minimize --command", "minimize --says", "aot --name"}
# These are written: in a folder that is not there, or below a file.
WRITTEN = {
    *("-o", "--trace", "--profile-trace", "--dump-to", "--svg", "--html", "--out", "--save-inputs"),
    *("--keep", "--header"),
}
CASES = [
    (verb, action.option_strings[0])
    for verb in VERBS
    for action in options_of(verb)
    if action.nargs != 0 and action.type is None and action.choices is None
]


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Splits words, with files for those that stand for them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.hlo").write_text(ADD)
    (tmp_path / "kernel.cu").write_text(KERNEL)
    (tmp_path / "script.py").write_text("")
    np.save(tmp_path / "a.npy", np.ones(2, np.float32))
    return lambda text: ["m.hlo" if word == "M" else word for word in shlex.split(text)]


@pytest.mark.parametrize(("verb", "option"), CASES, ids=[" ".join(each) for each in CASES])
def test_a_name_that_nothing_has_is_refused(hlo, words, verb: str, option: str) -> None:
    both = f"{verb} {option}"
    if both in FREE:
        return
    name = "m.hlo/nosuch" if option in WRITTEN else "nosuch"
    needed = ALONE.get(both, f"{NEEDED[verb]} {BESIDE.get(both, '')}")
    result = hlo(verb, *words(f"{option} {name} {needed}"))
    assert result.status == 2, result
    assert "nosuch" in result.err.replace("\n", "")
    assert "internal error" not in result.err
    assert not list(Path().glob("nosuch*"))


@pytest.mark.parametrize("verb", VERBS)
def test_a_word_too_many_is_refused(hlo, words, verb: str) -> None:
    needed = words(NEEDED[verb])
    for more in (["--nosuch"], ["--nosuch=1"]):
        result = hlo(verb, *more, *needed)
        assert result.status == 2, more
        assert "nosuch" in result.err
    if verb not in ("verify", "check", "why", "report-bug"):  # they take several
        result = hlo(verb, *needed, *["nosuch"] * 3)
        assert result.status == 2
        assert "nosuch" in result.err
