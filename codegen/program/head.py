"""The comment at the head of an emitted file: the module's text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.elements.names import comment
from hlo.write.print import Options, module_parts

if TYPE_CHECKING:
    from hlo.instruction import Module

_SHORT = Options(print_metadata=False, print_backend_config=False, print_large_constants=False)
# Lines of the module's text that are in the file's head.
HEAD_LINES = 200


def head(module: Module) -> str:
    """The module's text as a comment; of a long one, its beginning."""
    lines = [""]
    for part in module_parts(module, _SHORT):
        first, *others = part.split("\n")
        lines[-1] += first
        lines += others
        if len(lines) > HEAD_LINES:
            count = sum(1 for _ in module.instructions())
            return comment("\n".join([*lines[:HEAD_LINES], f"... {count} instructions in all"]))
    return comment("\n".join(lines).rstrip())
