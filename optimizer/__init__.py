"""The optimizer: rules, passes and pipelines that make modules better without changing them.

`optimize` runs the standard pipeline; `parse_pipeline("cse,dce")` makes any other.
"""

from optimizer.catalogue import MODULES
from optimizer.log import Event, Log, Observer, Pass
from optimizer.passes import PASSES, Fixpoint, Pipeline
from optimizer.pipeline_text import parse_pipeline, pipeline_text
from optimizer.pipelines import optimize, pipeline

__all__ = [
    "MODULES",
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
]
