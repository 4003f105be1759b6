"""Convolutions in tiles: what lies in the padding is no factor, whatever the weights are."""

import random
from dataclasses import replace

import numpy as np
import pytest
from cuda_batches import Batch, callees_in

import emit_cuda
import hlo
from emit_cuda import nvrtc
from emit_cuda.grids import gemm, tensor_cores, tile_sizes
from hlo.types.values import WindowDim
from hlo_tools.generate.values import tame
from interpreter.numbers.compare import ROUNDING
from optimizer import prepare
from optimizer.analysis import image_layouts

# Types of both operands and of the result.
TYPES = [("bf16", "bf16"), ("f16", "f32"), ("f32", "f32"), ("s8", "s32"), ("f64", "f64"),
         ("c64", "c64"), ("s32", "s32"), ("f32", "s32"), ("f8e5m2", "bf16")]  # fmt: skip
# Sums may be rounded otherwise, but what is NaN or infinite must be so.
SPECIAL_AS_WELL = replace(ROUNDING, finite=False)
SPECIAL = (np.inf, -np.inf, np.nan)
# Of a ResNet-50.
RESNET = """HloModule m
ENTRY e {{
  x = {0}[64,56,56,64] parameter(0)  w = {0}[{2}] parameter(1)
  ROOT r = {1}[64,56,56,64] convolution(x, w), window={{size=3x3 pad=1_1x1_1}}, dim_labels={3}
}}"""


def shaped(order, sizes):
    """The dimensions of a shape, whose roles are in an order."""
    return ",".join(str(sizes[role]) for role in order)


def window_text(window):
    def values(name):
        return "x".join(str(int(getattr(w, name))) for w in window)

    pads = "x".join(f"{w.pad_low}_{w.pad_high}" for w in window)
    return (
        f"{{size={values('size')} stride={values('stride')} pad={pads}"
        f" lhs_dilate={values('base_dilation')} rhs_dilate={values('window_dilation')}"
        f" rhs_reversal={values('reversal')}}}"
    )


def convolution(seed, kinds):
    """A convolution with holes: dimensions in any order, in groups of features or of the batch."""
    choose = random.Random(seed)
    rank, groups = choose.randint(1, 2), choose.choice((1, 1, 2, 3))
    of_features = choose.random() < 0.5
    spatial = "01"[:rank]
    features, outputs = choose.choice((1, 2, 4, 8)), groups * choose.choice((1, 3, 4, 8))
    inputs = {"b": choose.choice((1, 2, 3)), "f": features}
    inputs["f" if of_features else "b"] *= groups
    batch = inputs["b"] if of_features else inputs["b"] // groups
    kernel, result = {"i": features, "o": outputs}, {"b": batch, "f": outputs}
    window = []
    for d in spatial:
        w = WindowDim(
            choose.randint(1, 3), choose.choice((1, 1, 2)), choose.randint(-1, 2),
            choose.randint(0, 2), choose.choice((1, 1, 2, 3)), choose.choice((1, 1, 2)),
            choose.random() < 0.3,
        )  # fmt: skip
        inputs[d] = next(n for n in range(choose.randint(2, 5), 99) if w.positions(n))
        kernel[d], result[d] = w.size, w.positions(inputs[d])
        window.append(w)
    orders = ["".join(choose.sample(list(s), len(s))) for s in (inputs, kernel, result)]
    x, w, r = (shaped(o, s) for o, s in zip(orders, (inputs, kernel, result), strict=True))
    count = "feature_group_count" if of_features else "batch_group_count"
    return (
        f"x = {kinds[0]}[{x}] parameter(0)  w = {kinds[0]}[{w}] parameter(1)"
        f"  ROOT r = {kinds[1]}[{r}] convolution(x, w), window={window_text(window)},"
        f" dim_labels={orders[0]}_{orders[1]}->{orders[2]}, {count}={groups}"
    )


def arguments(module, seed, few):
    """An input, and weights of which one in so many is infinite or NaN; of whole numbers none."""
    choose = random.Random(seed)
    image, weights, *others = (tame(p.shape, choose) for p in module.entry.parameters)
    if np.dtype(weights.dtype).kind not in "iu":
        flat = weights.reshape(-1)
        for at in choose.sample(range(flat.size), -(-flat.size // few)):
            flat[at] = choose.choice(SPECIAL)
    return [image, weights, *others]


def parsed(body):
    return hlo.parse(f"HloModule m\n{CALLED}\nENTRY e {{ {body} }}")


def batch_of(bodies, few=8, *, optimize=False):
    batch = Batch(optimize)
    for seed, body in enumerate(bodies):
        module = parsed(body)
        batch.add(module, arguments(module, seed, few))
    return batch


@pytest.mark.parametrize(
    "seeds", [range(54), pytest.param(range(54, 500), marks=pytest.mark.slow)], ids=["few", "many"]
)
@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("parts", [1, 2])
def test_holes_are_no_factors_of_infinities(monkeypatch, seeds, checked, parts):
    """In products that would be too small for tiles, and where a second launch costs nothing."""
    for module, name in ((gemm, "LEAST"), (tensor_cores, "LEAST"), (tensor_cores, "LEAST_DEPTH")):
        monkeypatch.setattr(module, name, 1)
    monkeypatch.setattr(gemm, "FEWEST", 0)
    for name, value in (("SPLITS", (1, parts)), ("LEAST_DEPTH", 1), ("LAUNCH", 0), ("BYTE", 0)):
        monkeypatch.setattr(tile_sizes, name, value)
    batch = batch_of(convolution(seed, TYPES[seed % len(TYPES)]) for seed in seeds)
    kinds = {step.kind for *_, program in batch.cases for step in program.steps}
    assert {"convolution", "convolution on tensor cores"} <= kinds
    assert ("sums of a convolution" in kinds) == (parts > 1)
    assert "lost" in batch.kernels.words
    found = batch.differences(SPECIAL_AS_WELL, checked=checked)
    assert not found, f"{len(found)} of {len(batch.cases)} differ, among them {found[0]}"


CALLED = """
rectified {
  x = f32[2,6,7,16] parameter(0)  w = f32[3,3,16,64] parameter(1)  b = f32[2,6,7,64] parameter(2)
  n = f32[2,6,7,16] negate(x)
  c = f32[2,6,7,64] convolution(n, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  s = f32[2,6,7,64] add(c, b)
  ROOT r = bf16[2,6,7,64] convert(s)
}
"""
# Copied past the registers, by one thread after the other, and in tiles that all warps multiply.
WHOLE = {
    "copied": "x = bf16[2,6,7,16] parameter(0)  w = bf16[3,3,16,64] parameter(1)  ROOT r ="
    " bf16[2,6,7,64] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f",
    "features first": "x = f16[2,16,6,8] parameter(0)  w = f16[48,16,3,3] parameter(1)  ROOT r ="
    " f16[2,48,6,8] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01",
    "gradient of the input": "x = bf16[2,5,5,32] parameter(0)  w = bf16[3,3,16,32] parameter(1)"
    "  ROOT r = f32[2,10,10,16] convolution(x, w), dim_labels=b01f_01oi->b01f,"
    " window={size=3x3 pad=1_2x1_2 lhs_dilate=2x2 rhs_reversal=1x1}",
    "bytes": "x = s8[2,6,7,32] parameter(0)  w = s8[48,3,3,32] parameter(1)  ROOT r ="
    " s32[2,6,7,48] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_o01i->b01f",
    "work before and behind": "x = f32[2,6,7,16] parameter(0)  w = f32[3,3,16,64] parameter(1)"
    "  b = f32[2,6,7,64] parameter(2)"
    "  ROOT r = bf16[2,6,7,64] fusion(x, w, b), kind=kCustom, calls=rectified",
    "floats": "x = f32[2,6,7,16] parameter(0)  w = f32[3,3,16,64] parameter(1)  ROOT r ="
    " f32[2,6,7,64] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f",
}


@pytest.mark.parametrize("size", tile_sizes.WARP_SIZES, ids=lambda s: f"{s.rows}x{s.depth_bytes}")
@pytest.mark.parametrize("checked", [False, True])
def test_padding_in_whole_tiles(monkeypatch, size, checked):
    monkeypatch.setattr(tile_sizes, "WARP_SIZES", (size,))
    monkeypatch.setattr(tensor_cores, "LEAST", 16)
    batch = batch_of(WHOLE.values(), few=1000)
    assert sum(p.steps[0].kind.endswith("tensor cores") for *_, p in batch.cases) == len(WHOLE) - 2
    expected = [case[2] for case in batch.cases if case[2].dtype.kind != "i"]
    assert all(np.isfinite(e.astype(float)).any() for e in expected)
    assert not batch.differences(SPECIAL_AS_WELL, checked=checked)


# Places of images last: forwards, and both gradients.
PLACES_LAST = {
    "forwards": "x = bf16[2,16,6,8] parameter(0)  w = bf16[48,16,3,3] parameter(1)  ROOT r ="
    " bf16[2,48,6,8] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01",
    "gradient of the input": "x = f16[2,48,6,8] parameter(0)  w = f16[48,16,3,3] parameter(1)"
    "  ROOT r = f16[2,16,6,8] convolution(x, w), dim_labels=bf01_io01->bf01,"
    " window={size=3x3 pad=1_1x1_1 rhs_reversal=1x1}",
    "gradient of the kernel": "x = bf16[8,16,6,8] parameter(0)  w = bf16[8,48,6,8] parameter(1)"
    "  ROOT r = bf16[16,48,3,3] convolution(x, w), dim_labels=fb01_io01->bf01,"
    " window={size=6x8 pad=1_1x1_1}",
    "of one kind": "x = bf16[2,6,8,16] parameter(0)  w = bf16[48,16,3,3] parameter(1)  ROOT r ="
    " bf16[2,6,8,48] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_oi01->b01f",
}


@pytest.mark.parametrize("checked", [False, True])
def test_places_come_before_features_on_tensor_cores(monkeypatch, checked):
    """Then 16 bytes are copied at once."""
    for name in ("LEAST_USES", "LEAST_PRODUCTS", "LEAST"):
        monkeypatch.setattr(image_layouts, name, 1)
    monkeypatch.setattr(tensor_cores, "LEAST", 16)
    batch = batch_of(PLACES_LAST.values(), few=1000, optimize=True)
    for *_, program in batch.cases:
        copying = [each for each in program.steps if each.kind.endswith("on tensor cores")]
        (copied,) = (batch.kernels.written[each.kernel] for each in copying)
        assert "copy_16_bytes" in callees_in([copied])
    assert not batch.differences(SPECIAL_AS_WELL, checked=checked)


def test_places_of_small_images_stay_where_they_are():
    module = emit_cuda.optimized(parsed(PLACES_LAST["forwards"]))
    assert all(i.opcode != "transpose" for i in module.instructions())


@pytest.mark.skipif(bool(nvrtc.missing()), reason=nvrtc.missing())
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_100"])
def test_a_branch_for_infinite_weights_takes_no_registers_from_sums(architecture):
    for kinds in (("bf16", "bf16"), ("f32", "f32"), ("s8", "s32")):
        for labels in ("b01f_01io->b01f", "b01f_o01i->b01f"):
            size = "64,3,3,64" if labels[5] == "o" else "3,3,64,64"
            text = RESNET.format(*kinds, size, labels)
            program = emit_cuda.emit(prepare(hlo.parse(text)))
            on_tensor_cores = program.steps[0].kind.endswith("on tensor cores")
            assert on_tensor_cores == (kinds[0] != "f32")
            for usage in nvrtc.compile(program.source, architecture).usage.values():
                assert usage.spilled_bytes < 16
