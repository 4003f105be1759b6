"""Identifiers in C, beside its keywords and the functions of its prelude."""

from __future__ import annotations

from codegen.elements import names
from emit_c.code.prelude import PRELUDE

# Words of C, names that compilers predefine, and those that emitted functions use themselves.
KEYWORDS = frozenset(
    {
        *("auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else"),
        *("enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "register"),
        *("restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch"),
        *("typedef", "union", "unsigned", "void", "volatile", "while", "asm", "typeof", "main"),
        *("unix", "linux", "errno", "in", "out", "arena", "scratch", "run", "load_constants"),
        *(
            "k",
            "level",
            "begin",
            "end",
            "at",
            "done",
            "step",
            "iteration",
            "status",
            "slot",
            "own",
            "given",
            "arguments",
        ),
    }
)


class CNames(names.Names):
    """Identifiers of one scope in C, all different."""

    keywords = KEYWORDS

    def reserved(self) -> frozenset[str]:
        """The names of the prelude's functions, without their types."""
        return PRELUDE.reserved
