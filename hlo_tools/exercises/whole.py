"""Exercises of chapter 20: the whole compiler at once."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import hlo
import optimizer
from codegen.elements.table import Scalar
from hlo.errors.error import HloError
from hlo.infer.table import infers
from hlo.types.element_type import F32
from hlo_tools.exercises.emitting import check_c, own
from hlo_tools.exercises.exercise import Exercise, course_folder
from hlo_tools.exercises.finding import Mistake, unwritten
from hlo_tools.exercises.meaning import check_evaluate, check_infer
from hlo_tools.exercises.memory import moved_bytes
from interpreter.table import evaluates
from optimizer.log import Log, Silent
from optimizer.passes import Fixpoint, Pipeline
from optimizer.pipeline_text import parse_pipeline

if TYPE_CHECKING:
    from hlo.instruction import Module
    from hlo_tools.exercises.exercise import SearchEffort, Submission
    from optimizer.log import Pass

MOST_PASSES, SLACK = 8, 1.1


class Busy(Silent):
    """An observer that remembers which passes change something, in order."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}

    def after(self, pass_: Pass, before: Module, after: Module, log: Log) -> None:  # noqa: ARG002
        """Remember one."""
        if after is not before and not isinstance(pass_, Pipeline | Fixpoint):
            self.names[pass_.name] = None


def layer() -> Module:
    """The layer that is optimized."""
    return hlo.load(str(course_folder() / "models" / "transformer_layer.hlo"))


@cache
def own_pipeline() -> str:
    """The passes of the standard pipeline that change the layer, each once, up to fusion."""
    busy = Busy()
    optimizer.optimize(layer(), observers=[busy])
    names = list(busy.names)
    first = [n for n in names if n in ("inline", "algebraic-simplifier", "dce", "cse")]
    return f"fix({','.join(first)}),fusion,multi-output-fusion,dce"


def pass_names(pass_: Pass) -> list[str]:
    """The passes of a pipeline, taken apart."""
    if isinstance(pass_, Pipeline | Fixpoint):
        return [name for pass_ in pass_.passes for name in pass_names(pass_)]
    return [pass_.name]


def check_pipeline(answer: Submission, _: SearchEffort) -> Mistake | None:
    """Few passes, and few bytes."""
    text = answer["PIPELINE"]
    if not text:
        return unwritten("PIPELINE")
    if not isinstance(text, str):
        return Mistake("wrong", f"PIPELINE is a {type(text).__name__}, not a text")
    try:
        pipeline = parse_pipeline(text)
    except HloError as error:
        return Mistake("wrong", "PIPELINE is no pipeline", str(error))
    names = pass_names(pipeline)
    if len(names) > MOST_PASSES:
        message = f"PIPELINE has {len(names)} passes where {MOST_PASSES} would do"
        return Mistake("weak", message)
    moved = moved_bytes(pipeline.run(layer(), Log()))
    bar = SLACK * moved_bytes(optimizer.optimize(layer()))
    if moved > bar:
        message = f"PIPELINE moves {moved:,} bytes where {int(bar):,} would do"
        return Mistake("weak", message)
    return None


def check_sign(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Three tables, one after the other."""
    for check in (
        check_infer("sign", "infer_sign"),
        check_evaluate("sign", "evaluate_sign"),
        check_c("sign", "write_sign", Scalar, (F32,)),
    ):
        if mistake := check(answer, effort):
            return mistake
    return None


EXERCISES = (
    Exercise(
        76, "choose the passes", 20, "medium",
        {"PIPELINE": own_pipeline}, "optimizer/pipelines.py:pipeline", check_pipeline,
    ),
    Exercise(
        77, "give an opcode everything", 20, "hard",
        {
            "infer_sign": lambda: infers["sign"],
            "evaluate_sign": lambda: evaluates["sign"],
            "write_sign": lambda: own("sign"),
        },
        "hlo/opcode.py:OPCODES", check_sign,
    ),
)  # fmt: skip
