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


def check(text, promise=BITS, *, optimize=False, arguments=None):
    """Whether a module gives the same in C; returns its executable."""
    module = hlo.parse(text)
    arguments = arguments_for(module) if arguments is None else arguments
    executable = emit_c.compile(module, optimize=optimize)
    difference = compare(executable(*arguments), interpreter.evaluate(module, *arguments), promise)
    assert difference is None, f"{difference}\n{executable.source}"
    return executable


def entry(lines, before=""):
    """A module of one computation, whose instructions are given a line each."""
    body = "\n".join(f"  {line}" for line in lines.strip().split("\n"))
    return f"HloModule m\n{before}\nENTRY e {{\n{body}\n}}\n"
