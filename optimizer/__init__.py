"""The optimizer: rules, passes and pipelines that make modules faster and keep their results.

`optimize` runs the standard pipeline of a target; `parse_pipeline` makes a pipeline of passes by
name. A module never changes: passes return a new one.

Examples
--------
>>> import hlo, optimizer
>>> module = hlo.parse("ENTRY e { x = f32[2] parameter(0)  y = f32[2] negate(x)"
...                    "  ROOT z = f32[2] negate(y) }")
>>> optimizer.parse_pipeline("algebraic-simplifier").run(module).entry.root
%x = f32[2]{0} parameter(0)
>>> optimizer.parse_pipeline("cse,dce").run(module) is module
True
>>> optimizer.optimize(module).entry.root
%copy = f32[2]{0} copy(%x)
"""

from typing import TYPE_CHECKING

from hlo.support.lazily import names_of
from optimizer.log import Event, Log, Observer, Pass
from optimizer.passes import PASSES, Fixpoint, Pipeline
from optimizer.pipeline_text import parse_pipeline, pipeline_text

if TYPE_CHECKING:
    from optimizer.pipelines import optimize, pipeline, prepare

# The standard pipelines import most of the passes.
__getattr__ = names_of(
    __name__, dict.fromkeys(("optimize", "pipeline", "prepare"), "optimizer.pipelines")
)

__all__ = [
    "PASSES",
    "Event",
    "Fixpoint",
    "Log",
    "Observer",
    "Pass",
    "Pipeline",
    "optimize",
    "parse_pipeline",
    "pipeline",
    "pipeline_text",
    "prepare",
]
