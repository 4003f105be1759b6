"""Constants: small arrays are written into the C, large ones are handed over when it is loaded."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from codegen.elements import constants as shared
from codegen.printer import integer
from codegen.program.collectives import Collectives
from emit_c.code.foreign import Foreign

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from emit_c.code.names import CNames

# Elements up to which an array is in the C text; a compiler reads about 1 MB of it a second.
LARGEST_IN_TEXT = 1024


@dataclass(frozen=True, slots=True)
class ConstantArray:
    """A constant array of a C file.

    Attributes
    ----------
    kind : the type of its elements.
    stored : the type of the literals that are written for them.
    text : its definition, where it is in the C; empty for one that is handed over.
    about : what is said of one that is handed over.
    """

    name: str
    kind: str
    stored: str = ""
    text: str = ""
    about: str = ""

    @property
    def is_loaded(self) -> bool:
        """Whether it is handed over when the C is loaded."""
        return not self.text

    def defined(self, storage: str = "static ") -> str:
        """The C that defines it.

        Parameters
        ----------
        storage : for one that is handed over, who sees the pointer: `static ` or `extern `.
        """
        return self.text or f"{storage}const {self.kind} *{self.name};  // {self.about}\n"


class CConstants(shared.Constants):
    """The arrays that a module's kernels read.

    Attributes
    ----------
    definitions : by name.
    loaded : arrays for `load_constants`, in the order of its pointers.
    foreign : functions of other libraries, for `load_functions`.
    collectives : the sites at which devices meet.
    """

    def __init__(self, names: CNames, grid: tuple[int, int] = (1, 1)) -> None:
        super().__init__(names)
        self.collectives = Collectives(*grid)
        self.definitions: dict[str, ConstantArray] = {}
        self.loaded: list[NDArray[Any]] = []
        self.foreign = Foreign()

    def define(self, name: str, kind: str, array: NDArray[Any]) -> None:
        """Write a small array into the C; keep a large one, which is handed over."""
        if array.size > LARGEST_IN_TEXT:
            # The digest tells apart modules whose texts are equal otherwise.
            digest = hashlib.sha256(array.tobytes()).hexdigest()[:16]
            about = f"{array.size} elements, SHA-256 {digest}"
            self.definitions[name] = ConstantArray(name, kind, about=about)
            self.loaded.append(array)
            return
        words, word = _words(array)
        rows = [", ".join(words[i : i + 12]) for i in range(0, len(words), 12)]
        body = ",\n  ".join(rows) or "0"
        if word == kind:
            text = f"static const {kind} {name}[{max(array.size, 1)}] = {{\n  {body}}};\n"
            self.definitions[name] = ConstantArray(name, kind, word, text)
            return
        # The bits as integers: so NaNs keep their payload.
        bits = self.names.unique(f"{name}_bits", "constant")
        text = (
            f"static const {word} {bits}[] __attribute__((aligned(64))) = {{\n  {body}}};\n"
            f"#define {name} ((const {kind} *){bits})\n"
        )
        self.definitions[name] = ConstantArray(name, kind, word, text)

    def loader(self) -> str:
        """The function that takes the large constants."""
        names = [name for name, definition in self.definitions.items() if definition.is_loaded]
        lines = "".join(f"  {name} = constants[{i}];\n" for i, name in enumerate(names))
        unused = "" if names else "  (void)constants;\n"
        return f"void load_constants(const void *const *constants) {{\n{lines}{unused}}}\n"


def _words(array: NDArray[Any]) -> tuple[list[str], str]:
    """The elements as literals, and the C type that they have.

    Numbers are written in the fewest digits that only they round to; what has other bits than such
    numbers, or is no type of C, is written as its bits.
    """
    size = array.dtype.itemsize
    if array.dtype.name in ("float32", "float64") and np.isfinite(array).all():
        kind, suffix = ("f32", "f") if size == 4 else ("f64", "")
        return [f"{number!s}{suffix}" for number in array.reshape(-1)], kind
    if array.dtype.kind in "iu":
        kind = ("s" if array.dtype.kind == "i" else "u") + str(8 * size)
        return [integer(int(x), kind) for x in array.reshape(-1)], kind
    width = min(size, 8)
    words = array.reshape(-1).view(f"u{width}")
    return [integer(int(x), f"u{8 * width}") for x in words], f"u{8 * width}"
