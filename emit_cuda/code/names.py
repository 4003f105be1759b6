"""Identifiers in CUDA C, beside its keywords and the functions of its prelude."""

from __future__ import annotations

from codegen.elements import names
from codegen.expressions import Level
from emit_cuda.code.prelude import PRELUDE

_MATH = (
    *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign"),
    *("cos", "cosh", "erf", "exp", "expm1", "fabs", "floor", "fma", "fmod", "hypot", "isnan"),
    *("log", "log1p", "pow", "rint", "round", "sin", "sinh", "sqrt", "rsqrt", "tan", "tanh"),
    *("trunc", "min", "max", "abs"),
)
# Words of C++ beside C's, CUDA's predefined names, short functions of its headers, and the names
# that emitted kernels use themselves.
KEYWORDS = names.C_WORDS | {
    *("alignas", "alignof", "and", "bitand", "bitor", "bool", "catch", "class", "compl"),
    *("constexpr", "decltype", "delete", "explicit", "export", "false", "friend", "mutable"),
    *("namespace", "new", "noexcept", "not", "nullptr", "operator", "or", "private", "protected"),
    *("public", "template", "this", "throw", "true", "try", "typeid", "typename", "using"),
    *("virtual", "wchar_t", "xor", "assert"),
    *(level.value for level in Level),
    *("warpSize", "half", "half2"),
    *(f"{name}{suffix}" for name in _MATH for suffix in ("", "f")),
    *("memcpy", "memset", "printf", "clock", "y0", "y1", "j0", "j1", "jn", "yn", "gamma"),
    *("div", "exit", "signal"),
    *("k", "level", "begin", "end", "at", "done", "step", "own", "scratch", "shared_memory"),
    *("thread", "iteration", "first_tile", "second_tile", "blocks_here"),
}


class CudaNames(names.Names):
    """Identifiers of one scope in CUDA C, all different."""

    keywords = KEYWORDS

    def reserved(self) -> frozenset[str]:
        """The names of the functions and types that the prelude may define."""
        return PRELUDE.reserved
