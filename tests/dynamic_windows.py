"""Windows along dimensions of run-time size, as TensorFlow writes them."""

CONVOLVED = """HloModule m
ENTRY main {{
  x = f32[1,<=7,2] parameter(0)
  k = f32[3,2,4] parameter(1)
  g = f32[1,<={places},4] parameter(2)
  n = s32[3] parameter(3)
  y = f32[1,<={places},4] custom-call(x, k), window={{size=3{forward}}}, dim_labels=b0f_0io->b0f,
    padding_type={padding}, custom_call_target="DynamicConvolutionForward"
  flipped = f32[3,2,4] reverse(k), dimensions={{0}}
  into_x = f32[1,<=7,2] custom-call(n, g, flipped), window={{size=3{dilated}}},
    dim_labels=b0f_0oi->b0f, padding_type={padding},
    custom_call_target="DynamicConvolutionInputGrad"
  into_k = f32[3,2,4] custom-call(x, g), window={{size={places}{spaced}}},
    dim_labels=f0b_i0o->0bf, padding_type={padding},
    custom_call_target="DynamicConvolutionKernelGrad"
  ROOT r = (f32[1,<={places},4], f32[1,<=7,2], f32[3,2,4]) tuple(y, into_x, into_k)
}}"""


def convolved(stride: int, *, same: bool) -> str:
    """A convolution of up to 7 places with a window of 3, and its two gradients."""
    return CONVOLVED.format(
        places=-(-7 // stride) if same else (7 - 3) // stride + 1,
        padding="PADDING_SAME" if same else "PADDING_VALID",
        forward=f" stride={stride}",
        dilated=f" pad=2_2 lhs_dilate={stride}",
        spaced=f" rhs_dilate={stride}",
    )


POOLED = """HloModule m
max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] maximum(a, b) }
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
ge { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = pred[] compare(a, b), direction=GE }
ENTRY main {
  x = f32[<=7] parameter(0)
  low = f32[] constant(-inf)
  y = f32[<=4] custom-call(x, low), window={size=3 stride=2 pad=1_1},
    custom_call_target="DynamicReduceWindowSamePadding", called_computations={max}
  zero = f32[] constant(0)
  into_x = f32[<=7] custom-call(x, y, zero), window={size=3 stride=2 pad=1_1},
    custom_call_target="DynamicSelectAndScatterSamePadding", called_computations={ge, add}
  ROOT r = (f32[<=4], f32[<=7]) tuple(y, into_x)
}"""
