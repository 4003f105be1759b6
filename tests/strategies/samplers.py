"""Left sides of rules that the general generator of instances cannot guess, by the rule's name."""

from collections.abc import Callable
from random import Random
from typing import Any

from hlo.build import Builder, module
from hlo.instruction import Module
from hlo.shape import tuple_of
from hlo_tools.generate.operands import random_shape

# (random, function that makes values of a shape) -> a module whose root the rule matches
Sampler = Callable[[Random, Any], Module]

SAMPLERS: dict[str, Sampler] = {}


def sampler(name: str) -> Callable[[Sampler], Sampler]:
    """Enter a function as the sampler of a rule."""

    def enter(function: Sampler) -> Sampler:
        SAMPLERS[name] = function
        return function

    return enter


@sampler("tuple_of_all_elements")
def _taken_apart(random: Random, _values: Any) -> Module:
    builder = Builder()
    shape = tuple_of(*(random_shape(random) for _ in range(random.randint(1, 3))))
    whole = builder.parameter(shape)
    parts = [builder.add("get-tuple-element", whole, index=i) for i in range(len(shape.elements))]
    return module(builder.build(builder.add("tuple", *parts)))
