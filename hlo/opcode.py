"""One row for each of XLA's 133 opcodes. Everything else in the project looks them up here.

A row says how the opcode is spelled, how many operands it has, which attributes and computations,
which traits, and its meaning in one line. Its exact meaning is in the tables keyed by opcode:
`hlo.infer` (shapes), `interpreter` (values), `emit_c` and `emit_cuda` (code).

Source: `xla/hlo/ir/hlo_opcode.h`; the attributes are those that XLA's parser accepts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from hlo import attributes as a

# The traits of opcodes. A pass asks for the trait, never for a list of names.
TRAITS: Final = {
    "elementwise": "each element of the result depends on the operands' elements at the same index alone",
    "commutative": "the two operands may be swapped",
    "associative": "(x op y) op z is x op (y op z) for integers and pred",
    "leaf": "no operands",
    "movement": "elements are moved, repeated or dropped, never computed",
    "view": "each element is one of the only operand's, at an index that follows from shapes and attributes",
    "identity": "the first operand's value, unchanged",
    "forwarding": "the first operand's value, in the operand's own memory",
    "same_order": "the first operand's elements, in the same row-major order",
    "same_dimensions": "dimension i of an operand of the result's rank is dimension i of the result",
    "conversion": "the result's element type need not be the operand's",
    "explicit_shape": "operands and attributes do not determine the shape: the text has to give it",
    "given": "the value exists before the computation runs",
    "compile_time": "each element is known at compile time",
    "tuples": "makes a tuple, or takes an element of one",
    "slicing": "reads only as many elements of the first operand as the result has",
    "updating": "the first operand with some of its elements replaced",
    "transcendental": "counted as a transcendental by XLA's cost analysis: as costly as tens of additions",
    "data_dependent": "values decide which elements are read or written",
    "effect": "does something besides computing its value: must stay even if unused",
    "collective": "exchanges values with other devices",
    "async": "starts, updates or ends an operation that runs in the background",
    "start": "starts an operation that runs in the background",
    "done": "waits for an operation that was started",
    "wrapper": "starts, updates or ends the asynchronous execution of a computation",
    "device": "the value depends on the device, or on state that the device keeps",
    "device_number": "the number of the device that runs it",
    "host": "exchanges values with the host or, through a channel, with another program",
    "control": "decides which computation runs, or how often",
    "sequential": "runs each of its computations on whole values, not for each element",
    "ordering": "depends on which of two numbers is greater: complex numbers have no order",
    "contraction": "sums products over dimensions of its operands",
    "reduction": "combines many elements into few",
}


@dataclass(frozen=True)
class Opcode:
    """The row of one opcode in the language's table.

    Attributes
    ----------
    name : as in HLO text.
    arity : number of operands; None for any number.
    attrs : the group of its attributes.
    called : attribute keys of the computations that it calls, in printing order. A key that ends
        in `*` holds a list of computations; alternatives are resolved by `hlo.parse`.
    traits : keys of TRAITS.
    summary : one line of meaning.
    """

    name: str
    arity: int | None
    attrs: type[a.Attrs]
    called: tuple[str, ...]
    traits: frozenset[str]
    summary: str

    @cached_property
    def elementwise(self) -> bool:
        """Whether it works element by element."""
        return "elementwise" in self.traits

    @cached_property
    def pure(self) -> bool:
        """Whether equal operands give an equal value, and nothing else happens."""
        return not self.traits & {"effect", "collective", "async", "device"}


OPCODES: dict[str, Opcode] = {}


def _op(
    name: str,
    arity: int | None,
    summary: str,
    traits: str = "",
    attrs: type[a.Attrs] = a.Attrs,
    called: str = "",
) -> None:
    marks = frozenset(traits.split())
    if unknown := marks - TRAITS.keys():
        raise ValueError(f"{name}: unknown traits {sorted(unknown)}")
    OPCODES[name] = Opcode(name, arity, attrs, tuple(called.split()), marks, summary)


def having(trait: str) -> frozenset[str]:
    """The names of the opcodes with a trait.

    Raises
    ------
    ValueError
        if there is no such trait.
    """
    if trait not in TRAITS:
        raise ValueError(f"unknown trait {trait!r}")
    return frozenset(row.name for row in OPCODES.values() if trait in row.traits)


# fmt: off
# Leaves and plumbing
_op("parameter",         0, "the n-th argument of the computation",               "leaf given explicit_shape", a.ParameterNumber)
_op("constant",          0, "a literal array or tuple",                           "leaf given compile_time explicit_shape", a.Constant)
_op("iota",              0, "0, 1, 2, ... along a dimension",                     "leaf compile_time explicit_shape", a.Iota)
_op("tuple",          None, "a tuple of the operands", "tuples")
_op("get-tuple-element", 1, "one element of a tuple",                             "tuples", a.GetTupleElement)
_op("copy",              1, "the same value in a buffer, layout or memory space of its own", "movement identity view same_order same_dimensions")
_op("bitcast",           1, "the same bytes under another shape or layout",       "movement view same_order explicit_shape conversion")
_op("opt-barrier",       1, "the operand; no optimization crosses it",            "effect identity forwarding same_order")
_op("after-all",      None, "a token that is ready once all operands are",        "effect")
_op("add-dependency",    2, "the first operand, once the second, a token, is ready",       "effect identity forwarding same_order")
_op("domain",            1, "the operand; ends a region of one sharding",         "identity forwarding same_order", a.Domain)

# Elementwise, one operand
_op("abs",               1, "absolute value; the magnitude of a complex number",  "elementwise")
_op("acos",              1, "arc cosine",                                         "elementwise transcendental", a.Accuracy)
_op("acosh",             1, "inverse hyperbolic cosine",                          "elementwise transcendental", a.Accuracy)
_op("asin",              1, "arc sine",                                           "elementwise transcendental", a.Accuracy)
_op("asinh",             1, "inverse hyperbolic sine",                            "elementwise transcendental", a.Accuracy)
_op("atanh",             1, "inverse hyperbolic tangent",                         "elementwise transcendental", a.Accuracy)
_op("cbrt",              1, "cube root, with the operand's sign",                 "elementwise transcendental", a.Accuracy)
_op("ceil",              1, "rounded up to a whole number",                       "elementwise")
_op("convert",           1, "the same number in another element type",            "elementwise explicit_shape conversion")
_op("cosine",            1, "cosine of an angle in radians",                      "elementwise transcendental", a.Accuracy)
_op("cosh",              1, "hyperbolic cosine",                                  "elementwise transcendental", a.Accuracy)
_op("count-leading-zeros", 1, "number of 0 bits above the highest 1 bit",         "elementwise")
_op("erf",               1, "error function",                                     "elementwise transcendental", a.Accuracy)
_op("exponential",       1, "e to the power x",                                   "elementwise transcendental", a.Accuracy)
_op("exponential-minus-one", 1, "e to the power x, minus 1, exact near 0",        "elementwise transcendental", a.Accuracy)
_op("floor",             1, "rounded down to a whole number",                     "elementwise")
_op("imag",              1, "imaginary part; 0 for real numbers",                 "elementwise")
_op("is-finite",         1, "whether x is neither infinite nor NaN",              "elementwise")
_op("log",               1, "natural logarithm",                                  "elementwise transcendental", a.Accuracy)
_op("log-plus-one",      1, "natural logarithm of 1 + x, exact near 0",           "elementwise transcendental", a.Accuracy)
_op("logistic",          1, "1 / (1 + exp(-x))",                                  "elementwise transcendental", a.Accuracy)
_op("negate",            1, "-x",                                                 "elementwise")
_op("not",               1, "all bits flipped; logical not of pred",              "elementwise")
_op("popcnt",            1, "number of bits that are 1",                          "elementwise")
_op("real",              1, "real part",                                          "elementwise")
_op("reduce-precision",  1, "rounded to a smaller float format, in the same type", "elementwise", a.ReducePrecision)
_op("round-nearest-afz", 1, "rounded to a whole number, halves away from zero",   "elementwise")
_op("round-nearest-even", 1, "rounded to a whole number, halves to the even one", "elementwise")
_op("rsqrt",             1, "1 / square root",                                    "elementwise transcendental", a.Accuracy)
_op("sign",              1, "-1, 0 or 1; keeps -0 and NaN; x / abs(x) if complex", "elementwise")
_op("sine",              1, "sine of an angle in radians",                        "elementwise transcendental", a.Accuracy)
_op("sinh",              1, "hyperbolic sine",                                    "elementwise transcendental", a.Accuracy)
_op("sqrt",              1, "square root",                                        "elementwise transcendental", a.Accuracy)
_op("tan",               1, "tangent of an angle in radians",                     "elementwise transcendental", a.Accuracy)
_op("tanh",              1, "hyperbolic tangent",                                 "elementwise transcendental", a.Accuracy)

# Elementwise, two and three operands
_op("add",               2, "x + y; pred: or",                                    "elementwise commutative associative")
_op("and",               2, "bitwise and",                                        "elementwise commutative associative")
_op("atan2",             2, "angle of the point (y, x): x is the second operand", "elementwise transcendental")
_op("compare",           2, "whether x EQ, NE, GE, GT, LE or LT y, as pred",      "elementwise ordering", a.Compare)
_op("complex",           2, "a complex number from its parts",                    "elementwise")
_op("divide",            2, "x / y; integers are rounded towards 0",              "elementwise")
_op("maximum",           2, "the larger; NaN if either is; pred: or",             "elementwise commutative associative ordering")
_op("minimum",           2, "the smaller; NaN if either is; pred: and",           "elementwise commutative associative ordering")
_op("mulhi",             2, "high half of the double-width integer product",      "elementwise commutative")
_op("multiply",          2, "x * y; pred: and",                                   "elementwise commutative associative")
_op("or",                2, "bitwise or",                                         "elementwise commutative associative")
_op("power",             2, "x to the power y",                                   "elementwise transcendental")
_op("remainder",         2, "the remainder of a division, with the dividend's sign", "elementwise")
_op("shift-left",        2, "x << y; 0 if y is the type's width or more",         "elementwise")
_op("shift-right-arithmetic", 2, "x >> y, filled with the sign bit",              "elementwise")
_op("shift-right-logical", 2, "x >> y, filled with 0",                            "elementwise")
_op("stochastic-convert", 2, "convert that rounds up or down, as random bits decide", "elementwise explicit_shape conversion")
_op("subtract",          2, "x - y",                                              "elementwise")
_op("xor",               2, "bitwise exclusive or",                               "elementwise commutative associative")
_op("clamp",             3, "min(max(low, x), high)",                             "elementwise ordering")
_op("select",            3, "the second operand where the first is true, else the third", "elementwise")
_op("map",            None, "a scalar computation applied to each element",       "same_dimensions", a.Map, "to_apply")

# Shape and data movement
_op("bitcast-convert",   1, "the same bits under another element type",           "same_dimensions explicit_shape conversion")
_op("broadcast",         1, "the operand, repeated along new dimensions",         "movement view explicit_shape", a.Broadcast)
_op("concatenate",    None, "the operands, joined along a dimension",             "movement same_dimensions", a.Dimensions)
_op("dynamic-slice",  None, "a slice whose start is known at run time, clamped",  "movement data_dependent slicing same_dimensions", a.DynamicSlice)
_op("dynamic-update-slice", None, "the operand with a slice replaced, start clamped", "movement data_dependent updating same_dimensions")
_op("gather",            2, "slices of the operand, at indices that are computed", "movement data_dependent slicing", a.Gather)
_op("pad",               2, "the operand, with padding around and between its elements", "movement same_dimensions", a.Pad)
_op("reshape",           1, "the same elements, row-major, under other dimensions", "movement view same_order explicit_shape", a.Reshape)
_op("reverse",           1, "the operand, with some dimensions reversed",         "movement view same_dimensions", a.Dimensions)
_op("slice",             1, "every stride-th element from start to limit",        "movement view slicing same_dimensions", a.Slice)
_op("transpose",         1, "result dimension i is operand dimension dimensions[i]", "movement view", a.Dimensions)

# Contraction, reduction, windows
_op("convolution",       2, "a windowed dot product in any number of dimensions", "contraction", a.Convolution)
_op("dot",               2, "batched product of arrays, summed over contracting dimensions", "contraction", a.DotDims)
_op("ragged-dot",        3, "dot whose lhs rows use the weights of their group",  "contraction", a.RaggedDotDims)
_op("scaled-dot",        4, "dot of operands that are scaled in blocks",          "contraction", a.DotDims)
_op("reduce",         None, "combines the elements along some dimensions by a computation", "reduction", a.Dimensions, "to_apply")
_op("reduce-window",  None, "combines the elements of each window by a computation", "reduction same_dimensions", a.Windowed, "to_apply")
_op("select-and-scatter", 3, "combines each source element with the element selected in its window", "same_dimensions", a.Windowed, "select scatter")
_op("scatter",        None, "combines updates with slices of the operand, at indices that are computed", "data_dependent updating", a.Scatter, "to_apply")
_op("sort",           None, "sorts operands together by a comparator",            "same_dimensions", a.Sort, "to_apply")
_op("topk",              1, "the k largest or smallest of the last dimension, and their indices", "", a.TopK)
_op("scan",           None, "passes a value along a dimension by a computation, and keeps each result", "", a.Scan, "to_apply")
_op("batch-norm-grad",   5, "gradients of batch-norm-training",                   "", a.BatchNorm)
_op("batch-norm-inference", 5, "normalizes each feature by a given mean and variance", "", a.BatchNorm)
_op("batch-norm-training", 3, "normalizes each feature by its own mean and variance", "", a.BatchNorm)

# Linear algebra and transforms
_op("cholesky",          1, "the triangular factor of a positive definite matrix", "", a.Cholesky)
_op("triangular-solve",  2, "solves a triangular system of equations for many right sides", "", a.TriangularSolve)
_op("fft",               1, "Fourier transform over the last dimensions",         "", a.Fft)

# Random numbers
_op("rng",            None, "random numbers from the device's own generator",     "device explicit_shape", a.Rng)
_op("rng-bit-generator", 1, "random bits that follow from a state, and the next state", "explicit_shape", a.RngBitGenerator)
_op("rng-get-and-update-state", 0, "reads and advances the device's random state", "device effect leaf explicit_shape", a.RngGetAndUpdateState)

# Control
_op("call",           None, "runs a computation",                                 "control sequential", a.CompositeCall, "to_apply")
_op("conditional",    None, "runs one of several computations",                   "control sequential", a.Attrs, "true_computation false_computation branch_computations*")
_op("while",             1, "runs the body as long as the condition is true",     "control sequential", a.Attrs, "condition body")
_op("fusion",         None, "runs the fused computation as one kernel",           "", a.Fusion, "calls")
_op("custom-call",    None, "runs a function that is registered under a name",    "explicit_shape", a.CustomCall, "to_apply called_computations*")
_op("async-start",    None, "begins to run a computation",                        "async sequential start wrapper explicit_shape", a.AsyncStart, "calls")
_op("async-update",   None, "a step between async-start and async-done",          "async done wrapper")
_op("async-done",        1, "waits for the computation and yields its result",    "async done wrapper")
_op("copy-start",        1, "begins a copy",                                      "async start", a.CopyStart)
_op("copy-done",         1, "waits for the copy",                                 "async done")

# Dynamic shapes
_op("get-dimension-size", 1, "the run-time size of a dimension, s32",             "", a.Dimensions)
_op("set-dimension-size", 2, "the operand with a run-time size for a dimension",  "same_dimensions", a.Dimensions)
_op("dynamic-reshape", None, "reshape to sizes that are known at run time",       "explicit_shape")

# Devices
_op("partition-id",      0, "the number of this partition, u32",                  "device leaf device_number")
_op("replica-id",        0, "the number of this replica, u32",                    "device leaf device_number")
_op("all-gather",     None, "the group's pieces, joined along a dimension",       "collective", a.AllGather)
_op("all-gather-start", None, "begins an all-gather",                             "collective async start", a.AllGather)
_op("all-gather-done",   1, "waits for an all-gather",                            "async done")
_op("all-reduce",     None, "the group's values, combined by a computation",      "collective same_dimensions", a.AllReduce, "to_apply")
_op("all-reduce-start", None, "begins an all-reduce",                             "collective async start", a.AllReduce, "to_apply")
_op("all-reduce-done",   1, "waits for an all-reduce",                            "async done")
_op("all-to-all",     None, "member i's j-th piece goes to member j",             "collective explicit_shape", a.AllToAll)
_op("collective-broadcast", None, "each group's first member sends to the rest",  "collective", a.CollectiveBroadcast)
_op("collective-permute", None, "values go from sources to targets; other devices get 0", "collective", a.CollectivePermute)
_op("collective-permute-start", None, "begins a collective-permute",              "collective async start", a.CollectivePermute)
_op("collective-permute-done", 1, "waits for a collective-permute",               "async done")
_op("ragged-all-to-all", 6, "all-to-all with offsets and sizes that are known at run time", "collective", a.RaggedAllToAll)
_op("reduce-scatter", None, "all-reduce of which each member keeps one piece",      "collective", a.ReduceScatter, "to_apply")

# The host
_op("infeed",            1, "the next value of the device's infeed queue, and a token", "device effect explicit_shape host", a.Infeed)
_op("outfeed",           2, "puts a value into the device's outfeed queue",       "device effect host", a.Outfeed)
_op("recv",              1, "begins to receive through a channel",                "device effect async start explicit_shape host", a.Channel)
_op("recv-done",         1, "waits until the value is received",                  "device effect async done host", a.Channel)
_op("send",              2, "begins to send through a channel",                   "device effect async start host", a.Channel)
_op("send-done",         1, "waits until the value is sent",                      "device effect async done host", a.Channel)
# fmt: on

ASYNC_ENDS: Final = having("wrapper") & having("done")
CONTROL: Final = having("control")
CONVERSIONS: Final = having("conversion")
EXPLICIT_SHAPE: Final = having("explicit_shape")
DONE: Final = having("done")
ELEMENTWISE: Final = having("elementwise")
COMPILE_TIME: Final = having("compile_time")
FORWARDING: Final = having("forwarding")
GIVEN: Final = having("given")
HOST: Final = having("host")
IDENTITIES: Final = having("identity")
SAME_ORDER: Final = having("same_order")
SEQUENTIAL: Final = having("sequential")
STARTS: Final = having("start")
TRANSCENDENTAL: Final = having("transcendental")
TUPLES: Final = having("tuples")
VIEWS: Final = having("view")
# The opcode that waits for what another starts.
DONE_OF: Final = {start: f"{start.removesuffix('-start')}-done" for start in sorted(STARTS)}
