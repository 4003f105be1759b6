"""Rules of buffers: memory that is written in place, so that each state of it has one writer.

A buffer `b(f32[4])` is made of an array by the custom-call Pin, or out of nothing by CreateBuffer,
and becomes an array again by Unpin. In between custom-calls may write to it, each yielding its next
state; two writers of one state would race.

Source: VerifyBuffers in XLA's `hlo_verifier.cc`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from hlo.attributes import GetTupleElement
from hlo.infer.checks import compatible, show
from hlo.opcode import CONTROL, TUPLES, having
from hlo.types.element_type import BUFFER
from hlo.verify.scope import refuse

if TYPE_CHECKING:
    from hlo.attributes import CustomCall
    from hlo.instruction import Instruction, Module
    from hlo.types.shape import Shape
    from hlo.verify.scope import VerifiedScope

# Opcodes whose use of a buffer is a write, as far as one can tell without looking into them.
_WRITERS = CONTROL | having("wrapper") | {"custom-call", "dynamic-update-slice", "fusion"}
# Opcodes that only hand buffers on; async ones are checked where the computation is.
_PASSING = TUPLES | having("wrapper") | {"opt-barrier"}
_PIN, _CREATE, _UNPIN = "Pin", "CreateBuffer", "Unpin"


def has_buffers(module: Module) -> bool:
    """Whether any value of a module is or holds a buffer."""
    shapes = {id(instr.shape): instr.shape for instr in module.instructions()}
    return any(_buffers(shape) for shape in shapes.values())


def _buffers(shape: Shape) -> list[tuple[int, ...]]:
    """The indices at which a shape has buffers."""
    return [index for index, leaf in shape.leaves() if leaf.element_type is BUFFER]


def verify_buffers(scope: VerifiedScope, instr: Instruction) -> None:
    """Check the operands and results of an instruction that are buffers.

    Raises
    ------
    HloError
        HLO081.
    """
    if instr.opcode == "custom-call":
        _verify_custom_call(scope, instr, instr.attrs)  # type: ignore[arg-type]
    elif scope.outer.is_called_by(scope.computation, "async-start"):
        return
    elif instr.opcode == "parameter" and scope.computation is scope.outer.module.entry:
        _refuse_buffers(instr, instr.shape)
    elif instr.opcode in ("parameter", "while"):
        _verify_writers(scope, instr)
    elif instr.opcode == "dynamic-update-slice":
        if not _buffers(instr.operands[0].shape):
            _refuse_buffers(instr, instr.shape)
        for operand in instr.operands[1:]:
            _refuse_buffers(instr, operand.shape)
        _verify_writers(scope, instr)
    elif instr.opcode not in _PASSING and not _is_streamed(instr):
        for shape in (instr.shape, *(operand.shape for operand in instr.operands)):
            _refuse_buffers(instr, shape)


def _is_streamed(instr: Instruction) -> bool:
    """Whether a call will become async-start and async-done, which may hand on buffers."""
    said = instr.annotations.frontend_attributes
    return (
        instr.opcode == "call"
        and said is not None
        and said.get("_xla_stream_annotation") is not None
    )


def _refuse_buffers(instr: Instruction, shape: Shape) -> None:
    if _buffers(shape):
        refuse(
            instr,
            "HLO081",
            f"cannot work on {show(shape)}",
            "make an array of a buffer by custom-call Unpin first",
        )


def _verify_custom_call(scope: VerifiedScope, instr: Instruction, attrs: CustomCall) -> None:
    aliases = attrs.output_to_operand_aliasing
    target = attrs.custom_call_target
    shapes = [operand.shape for operand in instr.operands]
    if target == _CREATE:
        if shapes or instr.shape.element_type is not BUFFER:
            refuse(instr, "HLO081", "CreateBuffer takes nothing and yields a buffer")
    elif target in (_PIN, _UNPIN):
        _verify_conversion(instr, attrs)
    else:
        taken = Counter((alias.operand, alias.operand_index) for alias in aliases)
        counts = Counter(alias.output_index for alias in aliases)
        for i, shape in enumerate(shapes):
            for index in _buffers(shape):
                if taken[i, index] != 1:
                    refuse(instr, "HLO081", f"the buffer in operand {i} must be in 1 output")
        for index in _buffers(instr.shape):
            if counts[index] != 1:
                refuse(instr, "HLO081", f"the buffer at {list(index)} must come from 1 operand")
    _verify_writers(scope, instr)


def _verify_conversion(instr: Instruction, attrs: CustomCall) -> None:
    """Pin makes a buffer of an array, Unpin an array of a buffer, in the same memory."""
    shapes = [operand.shape for operand in instr.operands]
    pins = attrs.custom_call_target == _PIN
    if len(shapes) == 1 and len(attrs.output_to_operand_aliasing) == 1:
        array, buffer = (shapes[0], instr.shape) if pins else (instr.shape, shapes[0])
        if (
            array.is_array
            and buffer.element_type is BUFFER
            and compatible(array, buffer.elements[0])
        ):
            return
    wanted = "an array and yields its buffer" if pins else "a buffer and yields its array"
    refuse(instr, "HLO081", f"{attrs.custom_call_target} takes {wanted}, in the same memory")


def _verify_writers(scope: VerifiedScope, instr: Instruction) -> None:
    for index in _buffers(instr.shape):
        count = _count_writers(scope, instr, index)
        if count > 1:
            where = f" at {list(index)}" if index else ""
            refuse(instr, "HLO081", f"its buffer{where} is written by {count} instructions")


def _count_writers(scope: VerifiedScope, instr: Instruction, index: tuple[int, ...]) -> int:
    """The number of instructions that write to a buffer, followed through tuples."""
    loops = scope.outer.is_called_by(scope.computation, "while")
    count = 0
    stack = [(instr, index)]
    while stack:
        value, at = stack.pop()
        for user in scope.users[value]:
            if user.opcode in _WRITERS:
                count += 1
            elif (
                user.opcode == "get-tuple-element"
                and at
                and GetTupleElement.of(user).index == at[0]
            ):
                stack.append((user, at[1:]))
            elif user.opcode == "tuple" and user is scope.computation.root:
                # The next iteration of a loop writes to the result of this one.
                count += loops
            elif user.opcode == "tuple":
                stack.append((user, (user.operands.index(value), *at)))
    return count
