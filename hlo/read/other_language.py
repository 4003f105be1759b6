"""Recognizes texts in other languages that people take for HLO, and hints at how to get HLO."""

from __future__ import annotations

import re
from typing import Final

_START: Final = r"\A(?:\s|//[^\n]*\n|#[^\n]*\n)*"
# A module, a function, one of these in the generic form, a mesh, an alias, or resources.
_MLIR = re.compile(
    r"(?:\s|//[^\n]*(?:\n|\Z))*"
    r"(?:(?:builtin\.)?module(?:\s+@(?:[\w.$-]+|\"[^\"\n]*\"))?\s*(?:attributes\b|\{)"
    r"|(?:func\.)?func(?:\s+(?:public|private|nested))?\s+@"
    r"|(?:func|sdy|vhlo|stablehlo|mhlo|chlo)\.\w|\"(?:builtin|func|sdy|vhlo|stablehlo)\."
    r"|[!#][A-Za-z_][\w$.-]*\s*=|\{-#)"
)
MLIR_END: Final = ".mlir"  # of a file's name
_HLO = re.compile(_START + r"HloModule\b")
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


def is_stablehlo(text: str, name: str = "") -> bool:
    """Whether a text is MLIR, as `hlo.frontends.stablehlo` reads it, by how it begins.

    Parameters
    ----------
    name : of its file; one that ends in .mlir holds MLIR, unless its text begins as HLO does.
    """
    if name.endswith(MLIR_END) and not _HLO.match(text):
        return True
    return _MLIR.match(text) is not None


def other_language(text: str) -> str:
    """A hint for a text in another language; "" if none is known."""
    beginning = text[:4000]
    return next((hint for pattern, hint in _HINTS if pattern.match(beginning)), "")
