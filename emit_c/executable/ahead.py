"""A module ahead of time: C files that build without Python, for programs in C or C++.

`files` gives the text of every file: the module's C, which is that of every other way to run it,
with one documented function after it; the header of the function, the runtime library, a Makefile,
and an example that calls it.

References
----------
XLA, `tfcompile`.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np

from codegen.elements.names import comment
from codegen.file_text import FileText, Section
from emit_c.code.foreign import linked_functions
from emit_c.code.names import CNames
from emit_c.executable.runtime import FOLDER, c_files
from emit_c.executable.toolchain import MEANING
from emit_c.program.emit import emit
from optimizer.pipelines import prepare

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from codegen.program.collectives import Meetings
    from emit_c.conditions import Conditions
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


_LOAD_FUNCTIONS = "  hlo_load_functions_of_{}(functions);\n"
# The lists of arrays that the entry is given; and those of several devices.
_ONE_DEVICE = """\
  const void *in[] = {{{inputs}}};
  void *out[] = {{{outputs}}};
"""
_SEVERAL_DEVICES = """\
  const void *in[{n}][{ins}], *const *ins[{n}];
  void *out[{n}][{outs}], *const *outs[{n}], *arenas[{n}];
  int64_t report[HLO_REPORT_HEAD + 2 * {n}] = {{0}};
  for (int d = 0; d < {n}; d++) {{
    const void *const given[] = {{{inputs}}};
    void *const taken[] = {{{outputs}}};
    for (int k = 0; k < {ins}; k++) in[d][k] = given[k];
    for (int k = 0; k < {outs}; k++) out[d][k] = taken[k];
    ins[d] = in[d], outs[d] = out[d];
    arenas[d] = (char *)memory + d * one_workspace();
  }}
"""
_ABOUT_DEVICES = """\
// It runs {n} devices, which are threads: each parameter is a list of {n} arrays, one a device.
// Device d is replica d / partitions and partition d % partitions.
//
"""


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
    devices : that it runs. If there are several, each parameter is a list of as many arrays.
    """

    name: str
    inputs: tuple[ArrayParameter | None, ...]
    outputs: tuple[ArrayParameter | None, ...]
    devices: int = 1

    @property
    def parameters(self) -> str:
        """The parameters as C declares them."""
        several = "const *" if self.devices > 1 else ""
        inputs = [f"const {a.type} *{several}{a.name}" for a in self.inputs if a]
        taken = [f"{a.type} *{several}{a.name}" for a in self.outputs if a]
        return ", ".join([*inputs, *taken, "void *workspace"])


def signature(module: Module, name: str) -> FunctionSignature:
    """The function of a module, named as wanted."""
    names = CNames()
    for word in ("workspace", "element", *_MEANT):
        names.unique(word)
    function = names.unique(_no_macro(name))
    beside = {Path(file).stem.lower() for file in (*c_files(several=True), "example.c", "Makefile")}
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
    devices = module.header.replica_count * module.header.num_partitions
    return FunctionSignature(function, tuple(inputs), tuple(outputs), devices)


def _no_macro(name: str) -> str:
    """A name that is none of the macros of C's headers, which are spelled in capitals."""
    return f"{name}_v" if len(name) > 2 and name.isupper() else name


def files(module: Module, name: str, conditions: Conditions | None = None) -> dict[str, str]:
    """The text of every file, by name.

    Parameters
    ----------
    module : optimized already.
    name : of the function and of its files.
    conditions : as of `emit`.

    Raises
    ------
    HloError
        HLO181 if an instruction can't be emitted.
    """
    program = emit(prepare(module), conditions=conditions)
    head = signature(module, name)
    texts = {
        "name": head.name,
        "NAME": head.name.upper(),
        "parameters": head.parameters,
        "documentation": _documentation(module, head),
        "arena": str(program.arena_bytes),
        "slot": str(program.slot_bytes),
        "devices": str(head.devices),
        **_call(head, program.meetings),
        "meaning": " ".join(MEANING),
        "arrays": _example_arrays(head),
        "arguments": _example_arguments(head),
        "shown": _example_shown(head),
        "constants": _constants(program.constants),
        **(_WITH_LAPACK if program.functions else dict.fromkeys(_WITH_LAPACK, "")),
        "loaded": ", ".join(f"constant_{k}" for k in range(len(program.constants))) or "0",
        "functions": linked_functions(program.functions),
        "load_functions": _LOAD_FUNCTIONS.format(head.name) if program.functions else "",
    }
    contents = {
        path.name.replace("module.", f"{head.name}."): _filled(path, texts, program.source)
        for path in sorted((FOLDER / "ahead").iterdir())
    }
    return contents | c_files(several=_is_together(head, program.meetings))


def _filled(template: Path, texts: Mapping[str, str], source: FileText) -> FileText:
    """A file with texts in the place of the template's names."""
    before, hole, after = template.read_text().partition("${source}")
    first, last = (Template(part).substitute(texts) for part in (before, after))
    own = source.sections if hole else ()
    return FileText((Section(first), *own, Section(last, texts["name"])))


def _is_together(head: FunctionSignature, meetings: Meetings) -> bool:
    """Whether the runtime library runs the module's devices."""
    return head.devices > 1 or bool(meetings.sites)


def _call(head: FunctionSignature, meetings: Meetings) -> dict[str, str]:
    """The texts of the call of the module's entry, on one device or on several."""
    called = f"hlo_call_of_{head.name}"
    if not _is_together(head, meetings):
        inputs, outputs = (
            ", ".join(a.name if a else "0" for a in arrays) or "0"
            for arrays in (head.inputs, head.outputs)
        )
        return {
            "plan": "",
            "lists": _ONE_DEVICE.format(inputs=inputs, outputs=outputs),
            "call": f"{called}(in, out, memory)",
            "objects": "runtime.o",
            "headers": "",
            "several": "",
        }
    numbers = ", ".join(map(str, meetings.plans[head.devices].numbers))
    part = "[d]" if head.devices > 1 else ""
    inputs, outputs = (
        ", ".join(f"{a.name}{part}" if a else "0" for a in arrays) or "0"
        for arrays in (head.inputs, head.outputs)
    )
    ins, outs = len(head.inputs) or 1, len(head.outputs) or 1
    return {
        "plan": f'#include "devices.h"\n\nstatic const int64_t plan[] = {{{numbers}}};\n\n',
        "lists": _SEVERAL_DEVICES.format(
            n=head.devices, ins=ins, outs=outs, inputs=inputs, outputs=outputs
        ),
        "call": f"hlo_run_devices((hlo_module *){called}, plan, ins, outs, arenas, report)",
        "objects": "runtime.o collectives.o devices.o",
        "headers": " devices.h transport.h",
        "several": _ABOUT_DEVICES.format(n=head.devices) if head.devices > 1 else "",
    }


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
    if head.devices > 1:
        return _example_lists(head, arrays)
    declared = "".join(
        f"  {a.type} *{a.name} = calloc({max(a.size, 1)}, sizeof *{a.name});\n" for a in arrays
    )
    # Types that are stored as bytes stay 0; indices are whole, and small.
    return declared + "".join(
        f"  for (int64_t element = 0; element < {a.size}; element++) "
        f"{a.name}[element] = {_example_number(a)};\n"
        for a in head.inputs
        if a and a.shape.element_type.name in _C_NAMES
    )


def _example_arguments(head: FunctionSignature) -> str:
    """The arguments of the example's call."""
    passed = [
        f"(const {a.type} *const *){a.name}" if head.devices > 1 else a.name
        for a in head.inputs
        if a
    ]
    return ", ".join([*passed, *(a.name for a in head.outputs if a), "0"])


def _example_lists(head: FunctionSignature, arrays: Sequence[ArrayParameter]) -> str:
    """The arrays of several devices, each of which has other numbers."""
    n = head.devices
    declared = "".join(f"  {a.type} *{a.name}[{n}];\n" for a in arrays)
    allocated = "".join(
        f"    {a.name}[d] = calloc({max(a.size, 1)}, sizeof *{a.name}[d]);\n" for a in arrays
    )
    filled = "".join(
        f"    for (int64_t element = 0; element < {a.size}; element++) "
        f"{a.name}[d][element] = d + {_example_number(a)};\n"
        for a in head.inputs
        if a and a.shape.element_type.name in _C_NAMES
    )
    return f"{declared}  for (int d = 0; d < {n}; d++) {{\n{allocated}{filled}  }}\n"


def _example_number(array: ArrayParameter) -> str:
    """A number of an input of the example, in C."""
    return "element % 3" if array.shape.element_type.is_integer else "0.25 * (element % 9) - 1"


def _example_shown(head: FunctionSignature) -> str:
    """Statements that print the first elements of each result, of the first device."""
    lines: list[str] = []
    first = "[0]" if head.devices > 1 else ""
    for array in head.outputs:
        if array:
            real = "(double)" if "_Complex" not in array.type else "(double)__real__ "
            lines.append(f'  printf("{array.name}:");\n')
            lines.append(f"  for (int i = 0; i < {min(array.size, 8)}; i++) ")
            lines.append(f'printf(" %g", {real}{array.name}{first}[i]);\n  printf("\\n");\n')
    return "".join(lines)
