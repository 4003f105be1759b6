"""Each error code has a text that provokes it, whose leading comment says what comes of it.

The first line is `// CODE at line:column: message`, the next ones `// = note`. A file's name starts
with its code.
"""

import re
from pathlib import Path

import pytest

import hlo
from hlo.errors.error import did_you_mean
from hlo.frontends import stablehlo
from hlo_tools.explanations.text_codes import TEXT_CODES
from hlo_tools.explanations.verifier_codes import VERIFIER_CODES

ERRORS = Path(__file__).parents[1] / "errors"
ROOT = Path(__file__).parents[2]
# Codes that no text provokes, because the parser refuses it before; test_verify_structure.py
# provokes them with modules that are put together by hand, test_literal_text.py HLO011, and
# test_writing.py HLO014.
NOT_FROM_TEXT = {
    *("HLO011", "HLO014"),
    *("HLO044", "HLO050", "HLO051", "HLO052", "HLO053", "HLO055", "HLO056", "HLO060"),
}


TEXTS = sorted([*ERRORS.glob("*.hlo"), *ERRORS.glob("*.mlir")])


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_text_provokes_the_error_that_its_comment_says(path: Path) -> None:
    text = path.read_text()
    said = []
    for line in text.splitlines():
        if not line.startswith("// "):
            break
        said.append(line.removeprefix("// "))
    with pytest.raises(hlo.HloError) as caught:
        hlo.verify((stablehlo if path.suffix == ".mlir" else hlo).parse(text))
    error = caught.value
    assert error.span is not None
    place = f"{error.span.line}:{error.span.column}"
    notes = [f"= {note}" for note in error.notes]
    assert [f"{error.code} at {place}: {error.message}", *notes] == said
    assert path.stem.startswith(error.code)


def test_messages_are_english() -> None:
    wrong = re.compile(r"(?<![-\w])(1 (?!is |has )[a-z]+s|an? [a-z]+\(s\)|a [aeio]\w+)\b")
    for path in TEXTS:
        said = [line for line in path.read_text().splitlines() if line.startswith("// ")]
        assert not [found[0] for line in said if (found := wrong.search(line))], path.name


def test_every_code_has_a_text() -> None:
    written = {path.stem[:6] for path in TEXTS}
    assert {*TEXT_CODES, *VERIFIER_CODES} - written == NOT_FROM_TEXT


def test_every_code_that_is_raised_is_explained() -> None:
    files = [p for p in (ROOT / "hlo").rglob("*.py") if not p.name.endswith("codes.py")]
    raised = {code for path in files for code in re.findall(r'"(HLO0\d\d)"', path.read_text())}
    assert raised == {*TEXT_CODES, *VERIFIER_CODES}


@pytest.mark.parametrize(
    ("name", "meant"),
    [("i32", "s32"), ("bool", "pred"), ("i1", "pred"), ("ui8", "u8"), ("uint16", "u16"),
     ("bfloat16", "bf16"), ("complex64", "c64"), ("double", "f64"), ("F32", "f32"), ("f23", "f32")],
)  # fmt: skip
def test_element_types_of_other_languages_are_known(name: str, meant: str) -> None:
    with pytest.raises(hlo.HloError, match=f"did you mean `{meant}`"):
        hlo.parse(f"HloModule m\nENTRY e {{ ROOT x = {name}[4] parameter(0) }}")


def test_capitals_do_not_hide_a_word() -> None:
    assert did_you_mean("Dot", ["not", "dot"]) == ("did you mean `dot`?",)
    assert did_you_mean("lt", ["LE", "LT"]) == ("did you mean `LT`?",)
