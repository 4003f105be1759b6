"""XLA as a backend, through jaxlib: a module is compiled for the CPU by the compiler of JAX.

It is named as any other: `hlo run m.hlo --platform c --reference xla`. XLA is given HLO's text; a
module that it refuses is HLO181. Some modules end its process, so `hlo check` asks it in a process
of its own.
"""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from hlo.backend import Backend, ModuleCompiler, ModuleExecutable
from hlo.errors.error import HloError
from hlo.types.element_type import S1, U1

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hlo.instruction import Instruction, Module
    from hlo.types.shape import Shape


class XlaModule(ModuleExecutable):
    """A module that XLA has compiled."""

    def __init__(self, module: Module) -> None:
        from hlo_jax.private.programs import compiled_by_xla, hlo_of_text  # noqa: PLC0415 - imports JAX

        try:
            self._executable, self._device = compiled_by_xla(hlo_of_text(str(module)))
        except Exception as error:
            told = str(error).partition("\n")[0]
            raise HloError("HLO181", f"XLA refuses {module.name}: {told}", module.span) from error
        super().__init__(module, self._run)

    def _run(self, *arguments: Any) -> Any:
        jax = import_module("jax")
        with jax.enable_x64(True):
            given = [jax.device_put(np.asarray(a), self._device) for a in arguments]
        results = iter(self._executable.execute(given))
        return nested(self.module.entry.root.shape, results)


def nested(shape: Shape, leaves: Iterator[Any]) -> Any:
    """The value of a shape whose arrays are in a row."""
    if shape.is_tuple:
        return tuple(nested(element, leaves) for element in shape.elements)
    return np.asarray(next(leaves)) if shape.is_array else None


class XlaCompiler(ModuleCompiler):
    """XLA for the CPU, as jaxlib has it."""

    def compile(self, module: Module) -> XlaModule:
        """The module as XLA compiles it.

        Raises
        ------
        HloError
            HLO200 if jaxlib is not installed; HLO181 if XLA refuses the module, or jaxlib its
            parameters or results.
        """
        if find_spec("jaxlib") is None:
            raise HloError("HLO200", "jaxlib is not installed", notes=["pip install 'pyhlo[jax]'"])
        # XLA tells of its devices on standard error.
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        for instr in (*module.entry.parameters, module.entry.root):
            nested_parameter = instr.shape.is_tuple and instr.opcode == "parameter"
            leaves = [leaf for _, leaf in instr.shape.leaves()]
            if nested_parameter or not all(map(is_passed, leaves)):
                message = f"{instr.name}: jaxlib passes no {instr.shape} in or out"
                raise HloError("HLO181", message, instr.span)
        for instr in module.instructions():
            if instr.opcode == "bitcast" and not is_of_usual_layout(instr):
                message = (
                    f"{instr.name}: XLA chooses the layouts, by which a bitcast means something"
                )
                raise HloError("HLO181", message, instr.span)
        return XlaModule(module)


def is_of_usual_layout(instr: Instruction) -> bool:
    """Whether operands and result lie in memory as they do where nothing says how."""
    shapes = [shape for each in (instr, *instr.operands) for _, shape in each.shape.leaves()]
    return all(shape == shape.with_default_layout() for shape in shapes)


def is_passed(shape: Shape) -> bool:
    """Whether jaxlib passes such an array to a module: of fixed sizes, and of no single bits."""
    return shape.is_array and not shape.is_dynamic and shape.element_type not in (S1, U1)


BACKENDS: Final = {
    "xla": Backend(
        "xla",
        XlaCompiler(),
        summary="XLA for the CPU, where jaxlib is installed",
        keeps_subnormals=False,
    )
}
