"""Recognizes texts in other languages that people take for HLO, and hints at how to get HLO."""

from __future__ import annotations

import re
from typing import Final

_START: Final = r"\A(?:\s|//[^\n]*\n|#[^\n]*\n)*"
_MLIR = re.compile(
    _START + r"(?:module(?:\s+@[\w.$-]+)?\s*(?:attributes\b|\{)|func\.func\b|\"builtin)"
)
_JAXPR = re.compile(_START + r"(?:let\b[^\n]*\n|\{\s*lambda\b)")
_LLVM = re.compile(r"\A(?:;[^\n]*\n|\s)*(?:source_filename|target (?:datalayout|triple)|define )")
_FILE = re.compile(r"\A[^\s{}()\[\]=]+\.(?:hlo|txt|pb|pbtxt)\s*\Z")
_HINTS: Final = (
    (_FILE, "this is the name of a file, not its text: hlo.load(path) reads a file"),
    (
        _MLIR,
        "this is MLIR, not HLO: hlo.frontends.stablehlo.parse(text) reads it, if it is StableHLO",
    ),
    (
        _JAXPR,
        'this is a jaxpr, not HLO: jax.jit(f).lower(*arguments).as_text("hlo") gives HLO',
    ),
    (
        re.compile("\\A\ufeff"),
        "the text begins with a byte order mark, which is not seen: save it without one",
    ),
    (_LLVM, "this is LLVM IR, which XLA makes of HLO: --xla_dump_hlo_as_text dumps the HLO"),
)


def is_stablehlo(text: str) -> bool:
    """Whether a text is MLIR, as `hlo.frontends.stablehlo` reads it."""
    return _MLIR.match(text[:4000]) is not None


def other_language(text: str) -> str:
    """A hint for a text in another language; "" if none is known."""
    beginning = text[:4000]
    return next((hint for pattern, hint in _HINTS if pattern.match(beginning)), "")
