"""Whether C gives what the interpreter gives."""

import numpy as np

import emit_c
import hlo
import interpreter
from interpreter.numbers.compare import BITS, compare

# Computations that fold two numbers, of a type {T}.
ADD = "add { x = {T}[] parameter(0)  y = {T}[] parameter(1)  ROOT s = {T}[] add(x, y) }"
MAX = "max { x = {T}[] parameter(0)  y = {T}[] parameter(1)  ROOT s = {T}[] maximum(x, y) }"


def arguments_for(module):
    """Small numbers for every parameter; whole ones are small enough to be indices."""
    generator = np.random.default_rng(7)
    found = []
    for parameter in module.entry.parameters:
        shape = parameter.shape
        if shape.element_type.is_complex:
            parts = generator.standard_normal((2, *shape.dims))
            found.append((parts[0] + 1j * parts[1]).astype(shape.element_type.dtype))
        elif shape.element_type.is_floating:
            numbers = generator.standard_normal(shape.dims).astype(np.float32)
            found.append(np.asarray(numbers).astype(shape.element_type.dtype))
        else:
            numbers = generator.integers(0, 5, shape.dims)
            found.append(np.asarray(numbers).astype(shape.element_type.dtype))
    return found


def whole(low, high, seed=0):
    """Arguments of whole numbers, so small that sums of them are exact in any order."""
    generator = np.random.default_rng(seed)

    def numbers(shape):
        most = min(high, 2) if shape.element_type.kind == "pred" else high
        return np.asarray(generator.integers(low, most, shape.dims)).astype(
            shape.element_type.dtype
        )

    return lambda module: [numbers(p.shape) for p in module.entry.parameters]


def check(module, promise=BITS, *, optimize=False, arguments=arguments_for, **options):
    """Whether a module, or its text, gives the same in C; returns its executable.

    Parameters
    ----------
    promise : of the value, or a tuple of one for each element of a tuple.
    arguments : a list, or what makes one for a module.
    options : others of `emit_c.compile`.
    """
    module = hlo.parse(module) if isinstance(module, str) else module
    arguments = arguments(module) if callable(arguments) else arguments
    executable = emit_c.compile(module, optimize=optimize, **options)
    with np.errstate(all="ignore"):
        wanted = interpreter.evaluate(module, *arguments)
    found = executable(*arguments)
    each = zip(found, wanted, promise, strict=True) if isinstance(promise, tuple) else None
    for case in each or [(found, wanted, promise)]:
        difference = compare(*case)
        assert difference is None, f"{difference}\n{executable.source}"
    return executable


def entry(lines, before=""):
    """A module of one computation, whose instructions are given a line each."""
    body = "\n".join(f"  {line}" for line in lines.strip().split("\n"))
    return f"HloModule m\n{before}\nENTRY e {{\n{body}\n}}\n"
