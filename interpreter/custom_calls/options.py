"""The options of a custom call, which its backend configuration holds."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from hlo.instruction import Instruction

# `key = 76 : ui8`, `key = "text"`, `key = true`: a dictionary as MLIR writes it.
_ENTRY = re.compile(r'(\w+)\s*=\s*("(?:[^"\\]|\\.)*"|[^,:}\s]+)')


def config(instr: Instruction) -> dict[str, Any]:
    """The backend configuration of a custom call: JSON, or a dictionary as MLIR writes it.

    An integer that stands for a letter, as LAPACK's options do, is left an integer.
    """
    text = instr.annotations.backend_config
    if text.startswith('"') and text.endswith('"'):
        text = text[1:-1].replace('\\"', '"')
    try:
        options = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {key: _scalar(value) for key, value in _ENTRY.findall(text)}
    return cast("dict[str, Any]", options) if isinstance(options, dict) else {}


def _scalar(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
