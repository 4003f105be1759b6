"""The one rule of the fast reader: what it reads, the grammar reads as the same module."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from strategies.edits import TEXTS, garbled
from strategies.equal import assert_same
from strategies.modules import annotated_modules

import hlo
from hlo.attributes import attribute_specs
from hlo.errors.error import Source
from hlo.opcode import OPCODES
from hlo.read.by_grammar import GrammarReader
from hlo.read.fast.cut import UnusualError
from hlo.read.fast.reader import FastReader
from hlo.read.grammar import KINDS
from hlo.read.syntax import ModuleSyntax

if TYPE_CHECKING:
    from hlo.instruction import Module

TESTS = Path(__file__).parents[1]
MODELS = sorted((TESTS / "models").glob("*.hlo"))


def check(text: str) -> None:
    """See that both ways of reading give one module, or one error at one place."""
    fast, module = (outcome(text, fast=fast) for fast in (True, False))
    if isinstance(fast, str) or isinstance(module, str):
        assert fast == module
        return
    assert_same(fast, module)
    spans = [(i.span.start, i.span.end) for i in module.instructions() if i.span]
    assert spans == [(i.span.start, i.span.end) for i in fast.instructions() if i.span]


def outcome(text: str, *, fast: bool) -> Module | str:
    """The module that a text says, or what is wrong with it, with the place."""
    try:
        return hlo.parse(text, fast=fast)
    except hlo.HloError as error:
        return str(error)


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_models(path: Path) -> None:
    text = path.read_text()
    check(text)
    assert FastReader(
        Source(text)
    ).module()  # which raises UnusualError where the grammar is needed


@pytest.mark.parametrize("folder", ["cases", "errors"])
def test_texts_of_the_tests(folder: str) -> None:
    for path in sorted((TESTS / folder).rglob("*.hlo")):
        check(path.read_text())


@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(annotated_modules())
def test_random_modules(module: Module) -> None:
    check(str(module))


@settings(max_examples=150, derandomize=True, suppress_health_check=list(HealthCheck))
@given(garbled(TEXTS, 3))
def test_garbled_texts(text: str) -> None:
    check(text)


# A value of each form, and what comes after it: the lexer is contextual, and LALR merges states,
# so that a name could be taken for the end of a value.
VALUES = (
    "kind=kLoop",
    "index=1",
    "epsilon=-0.5",
    'custom_call_target="f"',
    "dimensions={0,1}",
    "slice={[0:8], [0:8:2]}",
    "padding=0_0x1_1",
    "padding=",
    "dim_labels=b01f_01io->b01f",
    "replica_groups=[2]<=[2]T(0)",
    "replica_groups=[2,1]<=[2]",
    'replica_groups=mesh["a"=2] {"a"}',
    'replica_groups=mesh["a"=2], device_ids=(1,0) {"a"}',
    "outfeed_shape=f32[2]{0}",
    "outfeed_shape=(f32[2], s32[])",
    "literal=s32[2]{0} {1, 2}",
    "literal=pred[] true",
    "literal=c64[] (1, 2)",
    "sharding={devices=[2]<=[2]}",
    "sharding={replicated}",
    'metadata={op_name="x"}',
    'backend_config={"a":{"b":[1]}}',
    "to_apply=%sum",
    "branch_computations={%a, %b}",
    "calls={ x = f32[] parameter(0) }",
    "control-predecessors={%p}",
)
NAMES = (
    *("%x", "x", "ROOT y", "T", "D", "E", "b", "mesh", "metadata", "device_ids", "kLoop"),
    *("%FileNames", "%nan", "%true", "%ENTRY"),
)


@pytest.mark.parametrize("value", VALUES)
def test_every_value_before_every_name(value: str) -> None:
    for name in NAMES:
        text = f"HloModule m\n\nENTRY e {{\n  p = f32[] f(), {value}\n  {name} = f32[] g(p)\n}}"
        syntax = GrammarReader(Source(text)).module()
        assert isinstance(syntax, ModuleSyntax)
        first, second = syntax.computations[0].body
        ((key, read),) = first.attributes
        assert f"{key.text}={read.text}" == value
        assert second.name == name.removeprefix("ROOT ").lstrip("%")


def test_the_grammar_names_no_opcode_and_every_kind() -> None:
    text = (TESTS.parent / "hlo" / "read" / "hlo.lark").read_text()
    assert "%declare" not in text
    words = set(re.findall(r'"([a-z][\w\-]+)"', text))
    assert not words & OPCODES.keys()
    named = {s.kind for row in OPCODES.values() for s in attribute_specs(row.attrs).values()}
    assert named - {"literal"} <= set(KINDS)


@pytest.mark.parametrize(
    "text",
    [
        "HloModule m /* never closed",
        "ENTRY e { ROOT p = f32[] parameter(0) }",
        'HloModule m\nENTRY e { ROOT p = f32[] parameter(0), x="never closed }',
    ],
)
def test_unusual_texts_are_left_to_the_grammar(text: str) -> None:
    with pytest.raises(UnusualError):
        FastReader(Source(text)).module()
