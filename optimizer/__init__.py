"""The optimizer: rules, passes and pipelines that make modules better without changing them.

`optimize` runs the standard pipeline; `parse_pipeline("cse,dce")` makes any other.
"""

from importlib import import_module
from pkgutil import walk_packages

from optimizer.log import Event, Log, Observer, Pass
from optimizer.passes import PASSES, Fixpoint, Pipeline
from optimizer.pipeline_text import parse_pipeline, pipeline_text
from optimizer.pipelines import optimize, pipeline, prepare

# A file of these folders enters its pass into `PASSES` when it is imported.
for _module in walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)

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
