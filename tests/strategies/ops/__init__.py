"""One generator an opcode: an instruction with operands, attributes and called computations.

They feed every test that holds for all opcodes: inferred shape == evaluated shape, parse(print(m))
is m, a backend == the interpreter.
"""

# Generators enter themselves when they are imported.
import strategies.ops.calls
import strategies.ops.contraction
import strategies.ops.devices
import strategies.ops.elementwise
import strategies.ops.movement
import strategies.ops.order
import strategies.ops.plumbing  # noqa: F401
from strategies.ops.registry import OPS, given, modules_of

from hlo.opcode import OPCODES

__all__ = ["NOT_EVALUATED", "OPS", "STARTS", "given", "modules_of"]

# Opcodes that wait for the host, so that a module alone can't run them; a custom call needs a
# function, and what is under way after an async-update has no value to look at.
NOT_EVALUATED = {"infeed", "recv", "recv-done", "send", "send-done", "custom-call", "async-update"}
# Opcodes that must be followed by another one.
STARTS = {name for name in OPCODES if name.endswith(("-start", "-update"))} | {"send", "recv"}
