"""Shape inference: an example for each opcode, and instructions that make no sense."""

import pytest

import hlo
from hlo.build import instruction
from hlo.infer import infer
from hlo.types.element_type import F32, S32
from hlo.types.shape import array, tuple_of

# Computations that the examples below call.
CALLED = """
add_f32 { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT r = f32[] add(x, y) }
pair { a = f32[] parameter(0)  b = s32[] parameter(1)  c = f32[] parameter(2)
  d = s32[] parameter(3)  ROOT r = (f32[], s32[]) tuple(a, b) }
less { x = f32[] parameter(0)  y = f32[] parameter(1)
  ROOT r = pred[] compare(x, y), direction=LT }
positive { x = f32[] parameter(0)  zero = f32[] constant(0)
  ROOT r = pred[] compare(x, zero), direction=GT }
halve { x = f32[] parameter(0)  h = f32[] constant(0.5)  ROOT r = f32[] multiply(x, h) }
running { x = f32[3] parameter(0)  c = f32[3] parameter(1)  s = f32[3] add(x, c)
  ROOT r = (f32[3], f32[3]) tuple(s, s) }
"""

# An instruction without its shape, and the shape that it has.
EXAMPLES = {
    "abs(c64[3] x)": "f32[3]",
    "real(c128[3] x)": "f64[3]",
    "imag(f32[3] x)": "f32[3]",
    "sign(s8[3] x)": "s8[3]",
    "is-finite(f32[3] x)": "pred[3]",
    "not(pred[3] x)": "pred[3]",
    "reduce-precision(f32[3] x), exponent_bits=5, mantissa_bits=2": "f32[3]",
    "add(bf16[3] x, f32[3] y)": "f32[3]",
    "add(f16[3] x, bf16[3] y)": "bf16[3]",
    "add(pred[] x, pred[] y)": "pred[]",
    "add(f32[<=3] x, f32[3] y)": "f32[<=3]",
    "add(f32[?] x, f32[3] y)": "f32[3]",
    "add(f32[?] x, f32[<=3] y)": "f32[<=3]",
    "compare(s32[2,3] x, s32[2,3] y), direction=LT": "pred[2,3]",
    "complex(f32[3] x, f32[3] y)": "c64[3]",
    "clamp(f32[] low, f32[3] x, f32[3] high)": "f32[3]",
    "select(pred[] p, bf16[3] x, f32[3] y)": "f32[3]",
    "select(pred[<=3] p, f32[3] x, f32[3] y)": "f32[<=3]",
    "map(f32[2,3] x), dimensions={0,1}, to_apply=positive": "pred[2,3]",
    "transpose(f32[2,3,<=4] x), dimensions={2,0,1}": "f32[<=4,2,3]",
    "reverse(f32[2,3] x), dimensions={0,1}": "f32[2,3]",
    "slice(f32[10,<=8,<=8] x), slice={[1:9:3], [2:6], [2:3]}": "f32[3,<=4,1]",
    "pad(f32[4,0] x, f32[] v), padding=1_2_3x1_1_5": "f32[16,2]",
    "concatenate(f32[2,3] x, f32[2,5] y, f32[2,0] z), dimensions={1}": "f32[2,8]",
    "concatenate(f32[<=2] x, f32[3] y), dimensions={0}": "f32[<=5]",
    "dynamic-slice(f32[4,<=6] x, s32[] i, s32[] j), dynamic_slice_sizes={2,6}": "f32[2,<=6]",
    "dynamic-slice(f32[4,6] x, s32[2] i), dynamic_slice_sizes={2,3}": "f32[2,3]",
    "dynamic-update-slice(f32[4] x, f32[2] u, s64[] i)": "f32[4]",
    "copy((f32[2], s32[]) x)": "(f32[2], s32[])",
    "get-dimension-size(f32[<=4] x), dimensions={0}": "s32[]",
    "set-dimension-size(f32[4,5] x, s32[] n), dimensions={1}": "f32[4,<=5]",
    "gather(f32[10,20] x, s32[5,2] i), offset_dims={1}, collapsed_slice_dims={0}, "
    "start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,7}": "f32[5,7]",
    "gather(f32[10,20] x, s32[5,3] i), offset_dims={0,2}, collapsed_slice_dims={}, "
    "start_index_map={1}, index_vector_dim=2, slice_sizes={4,7}": "f32[4,5,7,3]",
    "gather(f32[8,10] x, s32[8,3] i), offset_dims={}, collapsed_slice_dims={1}, "
    "start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={0}, "
    "index_vector_dim=2, slice_sizes={1,1}": "f32[8,3]",
    "scatter(f32[10,20] x, s32[5,1] i, f32[5,20] u), update_window_dims={1}, "
    "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
    "to_apply=add_f32": "f32[10,20]",
    "dot(f32[2,3] x, f32[3,4] y), lhs_contracting_dims={1}, rhs_contracting_dims={0}": "f32[2,4]",
    "dot(f32[5,2,3] x, f32[5,4,3] y), lhs_batch_dims={0}, rhs_batch_dims={0}, "
    "lhs_contracting_dims={2}, rhs_contracting_dims={2}": "f32[5,2,4]",
    "ragged-dot(f32[11,5] x, f32[3,5,7] y, s32[3] g), lhs_contracting_dims={1}, "
    "rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}": "f32[11,7]",
    "ragged-dot(f32[11,5] x, f32[5,7] y, s32[3] g), lhs_contracting_dims={1}, "
    "rhs_contracting_dims={0}, lhs_ragged_dims={1}": "f32[3,11,7]",
    "scaled-dot(f8e4m3fn[4,32] x, f8e4m3fn[32,8] y, f8e8m0fnu[4,1] a, f8e8m0fnu[1,8] b), "
    "lhs_contracting_dims={1}, rhs_contracting_dims={0}": "f8e4m3fn[4,8]",
    "convolution(f32[1,8,8,3] x, f32[3,3,3,16] k), window={size=3x3 stride=2x2 pad=1_1x1_1}, "
    "dim_labels=b01f_01io->b01f": "f32[1,4,4,16]",
    "convolution(f32[6,8,4] x, f32[2,4,3] k), window={size=2}, dim_labels=b0f_0io->0bf, "
    "batch_group_count=3": "f32[7,2,3]",
    "reduce(f32[2,3,4] x, f32[] z), dimensions={0,2}, to_apply=add_f32": "f32[3]",
    "reduce(f32[2,3] x, s32[2,3] i, f32[] z, s32[] j), dimensions={1}, to_apply=pair": (
        "(f32[2], s32[2])"
    ),
    "reduce-window(f32[8] x, f32[] z), window={size=3 stride=2 pad=1_1 lhs_dilate=2 "
    "rhs_dilate=2}, to_apply=add_f32": "f32[7]",
    "select-and-scatter(f32[6] x, f32[3] s, f32[] z), window={size=2 stride=2}, select=less, "
    "scatter=add_f32": "f32[6]",
    "scan(f32[5,3] x, f32[3] c), dimensions={0}, num_carries=1, to_apply=running": (
        "(f32[5,3], f32[3])"
    ),
    "sort(f32[4] x), dimensions={0}, to_apply=less": "f32[4]",
    "topk(f32[4,9] x), k=3, largest=true": "(f32[4,3], s32[4,3])",
    "batch-norm-training(f32[2,3,5] x, f32[5] s, f32[5] o), epsilon=0.1, feature_index=2": (
        "(f32[2,3,5], f32[5], f32[5])"
    ),
    "batch-norm-grad(f32[2,5] x, f32[5] s, f32[5] m, f32[5] v, f32[2,5] g), epsilon=0.1, "
    "feature_index=1": "(f32[2,5], f32[5], f32[5])",
    "cholesky(f32[7,3,3] x), lower=true": "f32[7,3,3]",
    "triangular-solve(f32[3,3] a, f32[3,2] b), left_side=true, transpose_a=NO_TRANSPOSE": (
        "f32[3,2]"
    ),
    "fft(f32[4,9] x), fft_type=RFFT, fft_length={9}": "c64[4,5]",
    "fft(c128[4,5] x), fft_type=IRFFT, fft_length={9}": "f64[4,9]",
    "get-tuple-element((f32[2], s32[]) t), index=1": "s32[]",
    "tuple(f32[2] x, s32[] y)": "(f32[2], s32[])",
    "after-all(token[] a, token[] b)": "token[]",
    "add-dependency(f32[2] x, token[] t)": "f32[2]",
    "while(f32[] x), condition=positive, body=halve": "f32[]",
    "conditional(pred[] p, f32[] x, f32[] y), true_computation=halve, false_computation=halve": (
        "f32[]"
    ),
    "call(f32[] x, f32[] y), to_apply=add_f32": "f32[]",
    "copy-start(f32[3] x)": "(f32[3], f32[3], u32[])",
    "all-gather(f32[2,3] x), replica_groups={{0,1,2,3}}, dimensions={1}": "f32[2,12]",
    "all-gather-start(f32[2] x), replica_groups={{0,1}}, dimensions={0}": "(f32[2], f32[4])",
    "all-reduce(f32[2] x, f32[3] y), replica_groups={}, to_apply=add_f32": "(f32[2], f32[3])",
    "reduce-scatter(f32[8] x), replica_groups={{0,1}}, dimensions={0}, to_apply=add_f32": "f32[4]",
    "collective-permute(f32[4] x), source_target_pairs={{0,1}}": "f32[4]",
    "collective-broadcast(f32[4] x), replica_groups={{0,1}}": "f32[4]",
    "collective-broadcast(f32[4] x, s32[] root), replica_groups={}, has_dynamic_root=true": (
        "f32[4]"
    ),
    "send(f32[4] x, token[] t), channel_id=1": "(f32[4], u32[], token[])",
    "outfeed(f32[4] x, token[] t)": "token[]",
}


# An instruction that makes no sense, and the code of its error.
REFUSED = {
    "abs(u8[3] x)": "HLO022",
    "negate(pred[3] x)": "HLO022",
    "and(f32[3] x, f32[3] y)": "HLO022",
    "shift-left(f32[3] x, f32[3] y)": "HLO022",
    "complex(f16[3] x, f16[3] y)": "HLO022",
    "erf(c64[3] x)": "HLO022",
    "topk(c64[3] x), k=2, largest=true": "HLO022",
    "cbrt(c128[3] x)": "HLO022",
    "atan2(s32[3] x, s32[3] y)": "HLO022",
    "select(s32[3] p, f32[3] x, f32[3] y)": "HLO022",
    "select(pred[2] p, f32[3] x, f32[3] y)": "HLO021",
    "clamp(f32[2] low, f32[3] x, f32[] high)": "HLO021",
    "clamp(s32[] low, f32[3] x, f32[] high)": "HLO023",
    "compare(f32[3] x, f32[1] y), direction=LT": "HLO021",
    "map(f32[2,3] x), dimensions={1,0}, to_apply=positive": "HLO043",
    "map(s32[2] x), dimensions={0}, to_apply=positive": "HLO040",
    "transpose(f32[2,3] x), dimensions={0}": "HLO028",
    "transpose(f32[2,3] x), dimensions={0,0}": "HLO027",
    "reverse(f32[2,3] x), dimensions={2}": "HLO026",
    "slice(f32[4] x), slice={[3:2]}": "HLO031",
    "slice(f32[4] x), slice={[0:2:0]}": "HLO031",
    "pad(f32[4] x, s32[] v), padding=1_1": "HLO023",
    "pad(f32[4] x, f32[1] v), padding=1_1": "HLO025",
    "pad(f32[4] x, f32[] v), padding=1_1x1_1": "HLO028",
    "concatenate(f32[2,3] x, f32[2] y), dimensions={0}": "HLO021",
    "concatenate(f32[2,3] x, s32[2,3] y), dimensions={0}": "HLO023",
    "dynamic-slice(f32[4] x, f32[] i), dynamic_slice_sizes={2}": "HLO022",
    "dynamic-slice(f32[4] x, s32[] i), dynamic_slice_sizes={5}": "HLO031",
    "dynamic-slice(f32[4] x, s32[] i), dynamic_slice_sizes={-1}": "HLO031",
    "dynamic-slice(f32[4,4] x, s32[] i, s64[] j), dynamic_slice_sizes={1,1}": "HLO023",
    "dynamic-update-slice(f32[4] x, f32[5] u, s32[] i)": "HLO031",
    "dynamic-update-slice(f32[4] x, f32[] u, s32[] i)": "HLO028",
    "get-dimension-size(f32[4] x), dimensions={1}": "HLO026",
    "set-dimension-size(f32[4] x, s64[] n), dimensions={0}": "HLO022",
    "gather(f32[5,6] x, f32[3,1] i), offset_dims={1}, collapsed_slice_dims={0}, "
    "start_index_map={0}, index_vector_dim=1, slice_sizes={1,6}": "HLO022",
    "gather(f32[5,6] x, s32[3,1] i), offset_dims={1}, collapsed_slice_dims={0}, "
    "start_index_map={0}, index_vector_dim=3, slice_sizes={1,6}": "HLO026",
    "gather(f32[5,6] x, s32[3,1] i), offset_dims={1}, collapsed_slice_dims={0}, "
    "start_index_map={0}, index_vector_dim=1, slice_sizes={2,6}": "HLO037",
    "gather(f32[5,6] x, s32[3,1] i), offset_dims={1}, collapsed_slice_dims={0}, "
    "start_index_map={0}, index_vector_dim=1, slice_sizes={1,7}": "HLO031",
    "scatter(f32[10,20] x, s32[5,1] i, f32[5,21] u), update_window_dims={1}, "
    "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
    "to_apply=add_f32": "HLO031",
    "scatter(f32[10,20] x, s32[5,1] i, f32[4,20] u), update_window_dims={1}, "
    "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
    "to_apply=add_f32": "HLO037",
    "scatter(f32[10,20] x, f32[10,20] y, s32[5,1] i, f32[5,20] u, f32[5,9] v), "
    "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
    "index_vector_dim=1, to_apply=add_f32": "HLO021",
    "dot(f32[2,3] x, f32[3,4] y), lhs_contracting_dims={1}": "HLO028",
    "dot(f32[2,3] x, f32[3,4] y), lhs_contracting_dims={2}, rhs_contracting_dims={0}": "HLO026",
    "dot(f32[2,3] x, f32[2,3] y), lhs_batch_dims={0}, rhs_batch_dims={0}, "
    "lhs_contracting_dims={0}, rhs_contracting_dims={1}": "HLO027",
    "convolution(f32[1,8,4] x, f32[2,4,3] k), window={size=3}, dim_labels=b0f_0io->b0f": "HLO038",
    "convolution(f32[1,8,4] x, f32[2,4,3] k), window={size=2}, dim_labels=b0f_0io->b0f, "
    "batch_group_count=3": "HLO038",
    "reduce(f32[2,3] x, f32[] z), dimensions={2}, to_apply=add_f32": "HLO026",
    "reduce(f32[2,3] x, s32[] z), dimensions={0}, to_apply=add_f32": "HLO040",
    "reduce(f32[2,3] x, f32[] z), dimensions={0}, to_apply=less": "HLO041",
    "reduce(f32[2,3] x, f32[] z), dimensions={0}, to_apply=halve": "HLO040",
    "select-and-scatter(f32[6] x, f32[2] s, f32[] z), window={size=2 stride=2}, select=less, "
    "scatter=add_f32": "HLO029",
    "select-and-scatter(f32[6] x, f32[3] s, f32[] z), window={size=2 stride=2}, "
    "select=add_f32, scatter=add_f32": "HLO041",
    "sort(f32[4] x), dimensions={1}, to_apply=less": "HLO026",
    "sort(f32[4] x), dimensions={0}, to_apply=add_f32": "HLO041",
    "sort(s32[4] x), dimensions={0}, to_apply=less": "HLO040",
    "topk(f32[4,9] x), k=10, largest=true": "HLO043",
    "scan(f32[5,3] x, f32[4] c), dimensions={0}, num_carries=1, to_apply=running": "HLO040",
    "scan(f32[5,3] x, f32[3] c), dimensions={0}, num_carries=3, to_apply=running": "HLO043",
    "batch-norm-training(f32[2,5] x, f32[4] s, f32[5] o), epsilon=0.1, feature_index=1": "HLO029",
    "cholesky(f32[3,4] x)": "HLO029",
    "cholesky(s32[3,3] x)": "HLO022",
    "triangular-solve(f32[3,3] a, f32[3,2] b), transpose_a=NO_TRANSPOSE": "HLO029",
    "triangular-solve(f32[3,3] a, f32[3,2] b), left_side=true": "HLO043",
    "fft(f32[4] x), fft_type=FFT, fft_length={4}": "HLO022",
    "fft(f32[4] x), fft_type=RFFT, fft_length={5}": "HLO029",
    "fft(c64[4] x), fft_type=IRFFT, fft_length={9}": "HLO029",
    "get-tuple-element(f32[2] t), index=0": "HLO025",
    "add-dependency(f32[2] x, f32[] t)": "HLO025",
    "while(f32[] x), condition=halve, body=halve": "HLO041",
    "while(s32[] x), condition=positive, body=halve": "HLO040",
    "conditional(f32[] p, f32[] x), branch_computations={halve}": "HLO022",
    "conditional(s32[] p, f32[] x, f32[] y), branch_computations={halve, positive}": "HLO041",
    "conditional(s32[] p, f32[] x), branch_computations={halve, halve}": "HLO024",
    "copy-done(f32[3] x)": "HLO071",
    "async-done((f32[], f32[]) x)": "HLO071",
    "all-gather(f32[2,3] x), replica_groups={{0,1}}, dimensions={2}": "HLO026",
    "reduce-scatter(f32[7] x), replica_groups={{0,1}}, dimensions={0}, to_apply=add_f32": "HLO029",
    "outfeed(f32[4] x, f32[] t)": "HLO025",
}


def module_of(text: str) -> hlo.Module:
    """A module of one instruction, written without a shape, and a parameter an operand."""
    opcode, _, rest = text.partition("(")
    depth, end = 1, 0
    while depth:
        depth += {"(": 1, ")": -1}.get(rest[end], 0)
        end += 1
    declared = [operand.rpartition(" ") for operand in _split(rest[: end - 1])]
    lines = [f"{name} = {shape} parameter({i})" for i, (shape, _, name) in enumerate(declared)]
    names = ", ".join(name for *_, name in declared)
    body = "\n".join([*lines, f"ROOT it = {opcode}({names}){rest[end:]}"])
    return hlo.parse(f"HloModule m\n{CALLED}\nENTRY main {{\n{body}\n}}")


@pytest.mark.parametrize("text", EXAMPLES)
def test_the_shape_of_an_example(text: str) -> None:
    root = module_of(text).entry.root
    assert root.shape.text_without_layout == EXAMPLES[text]
    assert infer(root).text_without_layout == EXAMPLES[text]


@pytest.mark.parametrize("text", REFUSED)
def test_an_instruction_that_makes_no_sense(text: str) -> None:
    with pytest.raises(hlo.HloError) as error:
        module_of(text)
    assert error.value.code == REFUSED[text]
    assert error.value.span is not None
    assert error.value.message.startswith(text.partition("(")[0] + ": ")


def _split(operands: str) -> list[str]:
    """The operands, at commas that are in no bracket."""
    parts, depth = [""], 0
    for character in operands:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(character, 0)
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def test_what_a_backend_keeps_of_an_async_value_is_as_declared() -> None:
    halve = module_of("call(f32[] x), to_apply=halve").entry.root.called
    x = instruction("parameter", name="x", shape=array(F32), number=0)
    start = instruction("async-start", [x], name="s", called=halve)
    assert start.shape.text == "((f32[]), f32[])"
    declared = tuple_of(*start.shape.elements, array(S32))
    start = instruction("async-start", [x], name="s", called=halve, shape=declared)
    assert infer(start) == declared
    update = instruction("async-update", [start], name="u", shape=declared)
    assert infer(update) == declared
    assert instruction("async-done", [update], name="d").shape == array(F32)
