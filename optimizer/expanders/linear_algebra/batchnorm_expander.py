"""Writes batch normalization as reductions and arithmetic.

inference:  (x - mean) * (scale / sqrt(variance + epsilon)) + offset
training:   the same with the mean and the variance of x, which are results too
gradient:   scale / sqrt(variance + epsilon) * (g - sum(g) / n - x' sum(g x') / n), where x' is x
            normalized; and sum(g x'), sum(g)

The factor of a feature is computed once a feature. The variance is the mean of (x - mean)^2. XLA
takes the mean of x^2 less mean^2, which reads x once only, but loses all digits where the mean is
large. Small floats are computed in f32 and rounded once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.attributes import BatchNorm
from interpreter.numbers.compare import ROUNDING
from optimizer.expanders.op_expander import ExpansionSite, expand
from optimizer.expanders.parts import folded, number, size_of, spread, to_type, wide
from optimizer.passes import register
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction, Module
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class BatchNormExpander:
    """Replaces the three opcodes of batch normalization."""

    name = "batchnorm_expander"
    xla = "xla/service/batchnorm_expander.cc"
    promise = ROUNDING

    def run(self, module: Module, log: Log) -> Module:
        """The module without batch normalization."""
        expansions = {
            "batch-norm-inference": inference,
            "batch-norm-training": training,
            "batch-norm-grad": gradient,
        }
        return expand(module, log, expansions, mixed=True)


class Features:
    """An array whose features lie along one dimension."""

    def __init__(self, site: ExpansionSite) -> None:
        self.site, self.attrs = site, BatchNorm.of(site.instr)
        self.dims = site.instr.operands[0].shape.dims
        index = self.attrs.feature_index
        self.others = [d for d in range(len(self.dims)) if d != index]
        self.count = size_of([self.dims[d] for d in self.others])

    def along(self, feature: Instruction) -> Instruction:
        """A number for each feature, repeated over the array."""
        return spread(feature, self.dims, (self.attrs.feature_index,))

    def total(self, x: Instruction) -> Instruction:
        """The sum of each feature."""
        element_type = x.shape.element_type
        adder = self.site.binary("add", element_type)
        return folded(x, number(0, element_type), self.others, adder)

    def average(self, total: Instruction) -> Instruction:
        """Sums of features over how many elements each has."""
        return make("divide", total, self.count)

    def mean(self, x: Instruction) -> Instruction:
        """The mean of each feature."""
        return self.average(self.total(x))

    def factor(self, variance: Instruction) -> Instruction:
        """One over the standard deviation of each feature."""
        return make("rsqrt", make("add", variance, self.attrs.epsilon))

    def normalized(
        self,
        centred: Instruction,
        variance: Instruction,
        scale: Instruction,
        offset: Instruction,
    ) -> Instruction:
        """A centred array, scaled and moved."""
        factor = make("multiply", self.factor(variance), scale)
        scaled = make("multiply", centred, self.along(factor))
        return make("add", scaled, self.along(offset))


def inference(site: ExpansionSite, features: Features | None = None) -> Instruction:
    """The array, normalized by a given mean and variance."""
    features = features or Features(site)
    x, scale, offset, mean, variance = map(wide, site.instr.operands)
    centred = make("subtract", x, features.along(mean))
    result = features.normalized(centred, variance, scale, offset)
    return to_type(result, site.instr.shape.element_type)


def training(site: ExpansionSite, features: Features | None = None) -> Instruction:
    """The array, normalized by its own mean and variance; and these two."""
    features = features or Features(site)
    x, scale, offset = map(wide, site.instr.operands)
    mean = features.mean(x)
    centred = make("subtract", x, features.along(mean))
    variance = features.mean(make("multiply", centred, centred))
    output = features.normalized(centred, variance, scale, offset)
    return results(site, output, mean, variance)


def gradient(site: ExpansionSite, features: Features | None = None) -> Instruction:
    """The gradients of operand, scale and offset."""
    features = features or Features(site)
    x, scale, mean, variance, grad = map(wide, site.instr.operands)
    factor = features.factor(variance)
    centred = make("subtract", x, features.along(mean))
    normal = make("multiply", centred, features.along(factor))
    grad_offset = features.total(grad)
    grad_scale = features.total(make("multiply", grad, normal))
    shift = features.along(features.average(grad_offset))
    slope = features.along(features.average(grad_scale))
    rest = make("subtract", make("subtract", grad, shift), make("multiply", normal, slope))
    grad_operand = make("multiply", features.along(make("multiply", scale, factor)), rest)
    return results(site, grad_operand, grad_scale, grad_offset)


def results(site: ExpansionSite, *values: Instruction) -> Instruction:
    """The tuple of results, in their element types."""
    shapes = site.instr.shape.elements
    converted = [to_type(v, s.element_type) for v, s in zip(values, shapes, strict=True)]
    return make("tuple", *converted)
