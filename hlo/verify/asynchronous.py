"""Rules of asynchronous operations: each start has its done, and channels match.

Sources: VerifyAsynchronousInstructionPairs, CheckAsyncOp and VerifyChannels in XLA's
`hlo_verifier.cc`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo import attributes as a
from hlo.infer.checks import compatible
from hlo.infer.control import async_parts, is_prefix
from hlo.opcode import ASYNC_ENDS, DONE_OF, HOST, STARTS
from hlo.types.shape import tuple_of
from hlo.verify.aliases import verify_output_aliases
from hlo.verify.scope import refuse
from hlo.verify.table import verifies
from hlo.walk import is_one_operation
from hlo.wording import counted

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction
    from hlo.verify.scope import VerifiedScope

_RUNNING = frozenset({"async-start", "async-update"})
# A loop may carry a running operation from one iteration into the next.
_CARRIED = STARTS & HOST
# The users of the value of each opcode: exactly one instruction, of these opcodes.
_FOLLOWERS = {
    **{start: frozenset({done}) for start, done in DONE_OF.items()},
    **{start: frozenset({DONE_OF[start], "tuple"}) for start in _CARRIED},
    **dict.fromkeys(_RUNNING, ASYNC_ENDS),
}
# The opcodes that the first operand of each opcode may have.
_LEADERS = {
    **{done: frozenset({start}) for start, done in DONE_OF.items()},
    **{DONE_OF[start]: frozenset({start, "get-tuple-element"}) for start in _CARRIED},
    **dict.fromkeys(ASYNC_ENDS, _RUNNING),
}
# Computations without any of these have no pairs.
PAIRED = _RUNNING | _LEADERS.keys() | _FOLLOWERS.keys()


def verify_pair(scope: VerifiedScope, instr: Instruction) -> None:
    """Check that a start is ended once, and that an end has its start.

    Raises
    ------
    HloError
        HLO070.
    """
    for i, operand in enumerate(instr.operands):
        if operand.opcode in _RUNNING and (i > 0 or instr.opcode not in ASYNC_ENDS):
            refuse(instr, "HLO070", f"uses {operand.name}, which only async-done may end")
    leaders = _LEADERS.get(instr.opcode)
    if leaders and instr.operands[0].opcode not in leaders:
        refuse(
            instr,
            "HLO070",
            f"its operand must be {' or '.join(sorted(leaders))}, not {instr.operands[0].opcode}",
        )
    if instr.opcode in _FOLLOWERS and not _is_wrapped(scope, instr):
        _verify_follower(scope, instr, _FOLLOWERS[instr.opcode])


def _is_wrapped(scope: VerifiedScope, instr: Instruction) -> bool:
    """Whether a send or recv runs in an async computation, and is ended by its async-done."""
    return (
        instr.opcode in ("send", "recv")
        and instr is scope.computation.root
        and scope.outer.is_called_by(scope.computation, "async-start")
    )


def _verify_follower(scope: VerifiedScope, instr: Instruction, followers: frozenset[str]) -> None:
    followers_here = [
        user
        for user in scope.users[instr]
        if getattr(user.attrs, "custom_call_target", "") != "control_dep"
    ]
    if len(followers_here) != 1:
        used = ", ".join(user.name for user in followers_here) or "nobody"
        refuse(instr, "HLO070", f"must be ended by one instruction, but is used by {used}")
    if instr is scope.computation.root:
        refuse(
            instr,
            "HLO070",
            f"is under way, so that it can't be the value of {scope.computation.name}",
        )
    if followers_here[0].opcode not in followers:
        refuse(
            instr,
            "HLO070",
            f"must be ended by {' or '.join(sorted(followers))}, not by {followers_here[0].opcode}",
        )


@verifies("async-start")
def verify_async_start(scope: VerifiedScope, instr: Instruction, attrs: a.AsyncStart) -> None:
    """The thread is the computation's; on the main thread that holds a single instruction."""
    (computation,) = instr.called
    for other in scope.outer.callers[computation]:
        if other is not instr and other.opcode == "async-start":
            refuse(instr, "HLO083", f"{computation.name} is called by {other.name} too")
    thread = attrs.async_execution_thread or "main"
    if thread != computation.execution_thread:
        refuse(
            instr,
            "HLO059",
            f"async_execution_thread is {thread}, but {computation.name} "
            f"runs on {computation.execution_thread}",
        )
    grouped = instr.annotations.frontend_attributes
    is_group = grouped is not None and grouped.get("_collectives_group") is not None
    if thread == "main" and not is_group and not is_one_operation(computation):
        refuse(
            instr,
            "HLO072",
            f"{computation.name} must consist of parameters and one instruction",
            "what runs asynchronously is one operation, or one call",
        )
    parameters = [parameter.shape for parameter in computation.parameters]
    whole = tuple_of(tuple_of(*parameters), computation.root.shape, *instr.shape.elements[2:])
    verify_output_aliases(instr, attrs.output_to_operand_aliasing, whole, parameters)


@verifies("async-update")
def verify_async_update(_scope: VerifiedScope, instr: Instruction, _attrs: a.Attrs) -> None:
    """Parameters are bound and results appear one after the other."""
    computation = _wrapped(instr)
    if computation is None:
        return
    bound, result = async_parts(instr.shape)
    parameters = computation.parameters
    if len(bound.elements) > len(parameters) or not all(
        compatible(b, p.shape) for b, p in zip(bound.elements, parameters, strict=False)
    ):
        refuse(instr, "HLO071", f"binds other operands than {computation.name} takes")
    if not is_prefix(result, computation.root.shape):
        refuse(instr, "HLO071", f"yields another value than {computation.name}")


@verifies("async-done")
def verify_async_done(_scope: VerifiedScope, instr: Instruction, _attrs: a.Attrs) -> None:
    """All parameters are bound, and the value is the computation's."""
    computation = _wrapped(instr)
    if computation is None:
        return
    bound, _ = async_parts(instr.operands[0].shape)
    if len(bound.elements) != len(computation.parameters):
        refuse(
            instr,
            "HLO071",
            f"{computation.name} takes {counted(len(computation.parameters), 'operand')}, "
            f"but only {len(bound.elements)} were given",
        )
    if not compatible(instr.shape, computation.root.shape):
        refuse(instr, "HLO071", f"yields another value than {computation.name}")


def _wrapped(instr: Instruction) -> Computation | None:
    """The computation that a chain of async instructions runs."""
    while instr.opcode in ASYNC_ENDS and instr.operands:
        instr = instr.operands[0]
    return instr.called[0] if instr.opcode == "async-start" else None


@verifies("send", "recv")
def verify_channel(scope: VerifiedScope, instr: Instruction, attrs: a.Channel) -> None:
    """The end is on the same channel, and with the same partner."""
    for user in scope.users[instr]:
        if user.opcode not in ("send-done", "recv-done"):
            continue
        end = a.Channel.of(user)
        if attrs.channel_id is not None and end.channel_id != attrs.channel_id:
            refuse(
                user,
                "HLO068",
                f"ends channel {end.channel_id}, but {instr.name} is on {attrs.channel_id}",
            )
        if end.is_host_transfer != attrs.is_host_transfer:
            refuse(user, "HLO068", f"is_host_transfer differs from that of {instr.name}")
