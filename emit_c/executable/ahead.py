"""A module ahead of time: C files that build without Python, for programs in C or C++.

`files` gives the text of every file: the module's C with one documented function, its header, the
runtime library, a Makefile, and an example that calls it.

References
----------
XLA, `tfcompile`.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, replace
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np

from codegen.elements.names import comment
from emit_c.code.foreign import prototypes
from emit_c.code.names import CNames
from emit_c.executable.runtime import FOLDER, c_files
from emit_c.executable.toolchain import MEANING
from emit_c.program.emit import emit
from optimizer.pipelines import prepare

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from emit_c.code.constants import ConstantArray
    from emit_c.program.units import Parts
    from hlo.instruction import Module
    from hlo.types.shape import Shape

# C's own names for element types; others are stored as unsigned integers of their size.
_C_NAMES = {
    "f32": "float", "f64": "double", "c64": "float _Complex", "c128": "double _Complex",
    **{f"s{bits}": f"int{bits}_t" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}_t" for bits in (8, 16, 32, 64)},
}  # fmt: skip

# Names with a meaning in the header, the example and the code around a function: C's words are
# known to `CNames`, those of C++ and of the C library are not.
_SIZED = [f"int{kind}{n}_t" for kind in ("", "_fast", "_least") for n in (8, 16, 32, 64)]
_MEANT = (
    *("class", "delete", "explicit", "export", "friend", "mutable", "namespace", "new", "operator"),
    *("private", "protected", "public", "template", "this", "throw", "try", "catch", "typename"),
    *("using", "virtual", "and", "or", "not", "xor", "bitand", "bitor", "compl", "decltype"),
    *("bool", "true", "false", "nullptr", "complex", "imaginary", "assert", "alignas", "alignof"),
    *("constexpr", "noexcept", "noreturn", "offsetof", "static_assert", "thread_local", "wchar_t"),
    *("size_t", "ptrdiff_t", "max_align_t", "div_t", "ldiv_t", "lldiv_t", "fpos_t", "I"),
    *(
        f"{u}int{kind}{n}_t"
        for u in ("", "u")
        for kind in ("", "_fast", "_least")
        for n in (32, 64)
    ),
    *(f"{sign}{word}" for sign in ("", "u") for word in _SIZED),
    *("intptr_t", "uintptr_t", "intmax_t", "uintmax_t", "pthread_once_t", "once", "constants"),
    *("calloc", "malloc", "realloc", "free", "aligned_alloc", "memcpy", "memset", "memmove"),
    *("printf", "fprintf", "stdin", "stdout", "stderr", "pthread_once", "i"),
)

# Lines in the Makefile and the header of a module that calls LAPACK, and of no other.
_WITH_LAPACK = {
    "lapack_makefile": """\
#
# It calls LAPACK with 32-bit integers, through its C interface LAPACKE, and BLAS:
#   make LAPACKLIBS=-lopenblas      one library may have all of them
#   make LAPACKLIBS=DIR/libscipy_openblas.so 'LAPACKNAME=scipy_##name'
#                                   and may call LAPACKE_sgetrf scipy_LAPACKE_sgetrf
LAPACKLIBS ?= -llapacke -llapack -lblas
LAPACKNAME ?= name
""",
    "lapack_flags": " '-DPYHLO_LAPACK(name)=$(LAPACKNAME)'",
    "lapack_libraries": "$(LAPACKLIBS) ",
    "lapack_header": """\
// It calls LAPACK, so programs are linked with LAPACKE and BLAS as well (see the Makefile).
//
""",
}


@dataclass(frozen=True, slots=True)
class ArrayParameter:
    """An array that the function is given, or one that it writes.

    Attributes
    ----------
    name : of the function's parameter; what HLO calls it.
    shape : None for a token, which has no parameter.
    """

    name: str
    shape: Shape

    @property
    def type(self) -> str:
        """Of its elements, in C."""
        element_type = self.shape.element_type
        return _C_NAMES.get(element_type.name, f"uint{8 * element_type.bytes}_t")

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.shape.size


@dataclass(frozen=True, slots=True)
class FunctionSignature:
    """The function of a module.

    Attributes
    ----------
    inputs, outputs : the leaves of its arguments and of its result; None for tokens.
    """

    name: str
    inputs: tuple[ArrayParameter | None, ...]
    outputs: tuple[ArrayParameter | None, ...]

    @property
    def parameters(self) -> str:
        """The parameters as C declares them."""
        given = [f"const {a.type} *{a.name}" for a in self.inputs if a]
        taken = [f"{a.type} *{a.name}" for a in self.outputs if a]
        return ", ".join([*given, *taken, "void *workspace"])


def signature(module: Module, name: str) -> FunctionSignature:
    """The function of a module, named as wanted."""
    names = CNames()
    for word in ("workspace", "element", *_MEANT):
        names.unique(word)
    function = names.unique(_no_macro(name))
    beside = {Path(file).stem.lower() for file in (*c_files(), "example.c", "Makefile")}
    if hasattr(ctypes.CDLL(None), function) or function.lower() in beside:
        # It is a name of the C library, like `exp`, or of a file beside the function's.
        function = names.unique(f"hlo_{name}")
    inputs = [
        ArrayParameter(names.unique(_no_macro(p.name)), leaf) if leaf.is_array else None
        for p in module.entry.parameters
        for _, leaf in p.shape.leaves()
    ]
    outputs = [
        ArrayParameter(names.unique("result"), leaf) if leaf.is_array else None
        for _, leaf in module.entry.root.shape.leaves()
    ]
    return FunctionSignature(function, tuple(inputs), tuple(outputs))


def _no_macro(name: str) -> str:
    """A name that is none of the macros of C's headers, which are spelled in capitals."""
    return f"{name}_v" if len(name) > 2 and name.isupper() else name


def files(module: Module, name: str) -> dict[str, str]:
    """The text of every file, by name.

    Parameters
    ----------
    module : optimized already.
    name : of the function and of its files.

    Raises
    ------
    HloError
        HLO181 if an instruction can't be emitted.
    """
    program = emit(prepare(module), exported=False)
    head = signature(module, name)
    texts = {
        "name": head.name,
        "NAME": head.name.upper(),
        "parameters": head.parameters,
        "documentation": _documentation(module, head),
        "arena": str(program.arena_bytes),
        "slot": str(program.slot_bytes),
        "inputs": ", ".join(a.name if a else "0" for a in head.inputs) or "0",
        "outputs": ", ".join(a.name if a else "0" for a in head.outputs) or "0",
        "meaning": " ".join(MEANING),
        "arrays": _example_arrays(head),
        "arguments": ", ".join([a.name for a in (*head.inputs, *head.outputs) if a] + ["0"]),
        "shown": _example_shown(head),
        "constants": _constants(program.constants),
        **(_WITH_LAPACK if program.functions else dict.fromkeys(_WITH_LAPACK, "")),
        "loaded": ", ".join(f"constant_{k}" for k in range(len(program.constants))) or "0",
    }
    parts = replace(
        program.parts,
        constants=_read(program.parts),
        foreign=prototypes(program.functions),
    )
    made = {
        path.name.replace("module.", f"{head.name}."): Template(path.read_text()).substitute(texts)
        for path in sorted((FOLDER / "ahead").iterdir())
    }
    made[f"{head.name}.c"] = f"{parts.whole()}\n{made[f'{head.name}.c']}"
    return made | c_files()


def _read(parts: Parts) -> dict[str, ConstantArray]:
    """The constants that kernels read; compilers warn of others."""
    used = set(parts.calls.mentions).union(*(each.mentions for each in parts.kernels.values()))
    return {name: each for name, each in parts.constants.items() if name in used}


def _documentation(module: Module, head: FunctionSignature) -> str:
    """The comment of the header about the function's parameters."""
    lines = [f"The HLO module {module.name}."]
    for title, arrays in (("Reads", head.inputs), ("Writes", head.outputs)):
        lines += [f"{title}:"] if any(arrays) else []
        for array in arrays:
            if array:
                shape = array.shape.text_without_layout
                stored = "" if array.shape.element_type.name in _C_NAMES else ", as its bytes"
                lines.append(f"  {array.name}: {shape}, {array.size} elements{stored}")
    return comment("\n".join(lines)).rstrip()


def _constants(arrays: Iterable[NDArray[Any]]) -> str:
    """Large constants as words of C, in the order in which they are loaded."""
    return "".join(f"{_constant(k, array)}\n" for k, array in enumerate(arrays))


def _constant(number: int, array: NDArray[Any]) -> str:
    data = array.tobytes()
    words = np.frombuffer(data + bytes(-len(data) % 4), np.uint32).tolist()
    rows = [", ".join(f"{w:#x}" for w in words[i : i + 12]) for i in range(0, len(words), 12)]
    body = ",\n  ".join(rows)
    kind = f"static const uint32_t constant_{number}[] __attribute__((aligned(64)))"
    return f"{kind} = {{\n  {body}}};\n"


def _example_arrays(head: FunctionSignature) -> str:
    arrays = [a for a in (*head.inputs, *head.outputs) if a]
    made = "".join(
        f"  {a.type} *{a.name} = calloc({max(a.size, 1)}, sizeof *{a.name});\n" for a in arrays
    )
    # Types that are stored as bytes stay 0; indices are whole, and small.
    return made + "".join(
        f"  for (int64_t element = 0; element < {a.size}; element++) "
        f"{a.name}[element] = {_example_number(a)};\n"
        for a in head.inputs
        if a and a.shape.element_type.name in _C_NAMES
    )


def _example_number(array: ArrayParameter) -> str:
    """A number of an input of the example, in C."""
    return "element % 3" if array.shape.element_type.is_integer else "0.25 * (element % 9) - 1"


def _example_shown(head: FunctionSignature) -> str:
    """Statements that print the first elements of each result."""
    lines: list[str] = []
    for array in head.outputs:
        if array:
            real = "(double)" if "_Complex" not in array.type else "(double)__real__ "
            lines.append(f'  printf("{array.name}:");\n')
            lines.append(f"  for (int i = 0; i < {min(array.size, 8)}; i++) ")
            lines.append(f'printf(" %g", {real}{array.name}[i]);\n  printf("\\n");\n')
    return "".join(lines)
