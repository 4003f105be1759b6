"""The kernels and modules that the script runs."""

ADD = """
extern "C" __global__ void add(const float *x, float *y, int n, float c) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += x[i] + c;
}
extern "C" __global__ void reverse(const float *x, float *y, unsigned char flag) {
  extern __shared__ float tile[];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (flag) y[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}
extern "C" __global__ void fails() { assert(threadIdx.x > 40); }
"""
SOFTMAX = """HloModule m
most { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT m = f32[] maximum(a, b) }
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[8,100] parameter(0)
  low = f32[] constant(-inf)
  m = f32[8] reduce(x, low), dimensions={1}, to_apply=most
  b = f32[8,100] broadcast(m), dimensions={0}
  d = f32[8,100] subtract(x, b)
  e = f32[8,100] exponential(d)
  zero = f32[] constant(0)
  s = f32[8] reduce(e, zero), dimensions={1}, to_apply=sum
  t = f32[8,100] broadcast(s), dimensions={0}
  ROOT y = f32[8,100] divide(e, t)
}"""

BRANCHES = """HloModule m
ENTRY e {
  x = f32[24,24] parameter(0)
  y = f32[24,24] parameter(1)
  a = f32[24,24] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = f32[24,24] dot(y, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  c = f32[24,24] dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={1}
  d = f32[24,24] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = (f32[24,24], f32[24,24]) tuple(c, d)
}"""
# Doubles numbers until their sum is large, and then takes one of two branches.
LOOP = """HloModule m
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
cond { x = f32[64,64] parameter(0)  z = f32[] constant(0)
  s = f32[] reduce(x, z), dimensions={0,1}, to_apply=sum  n = f32[] constant(9000)
  ROOT p = pred[] compare(s, n), direction=LT }
body { x = f32[64,64] parameter(0)  ROOT y = f32[64,64] add(x, x) }
there { x = f32[64,64] parameter(0)
  d = f32[64,64] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = f32[64,64] dot(d, x), lhs_contracting_dims={1}, rhs_contracting_dims={1} }
here { x = f32[64,64] parameter(0)  ROOT n = f32[64,64] negate(x) }
ENTRY e {
  x = f32[64,64] parameter(0)  i = s32[] parameter(1)
  w = f32[64,64] while(x), condition=cond, body=body
  c = f32[64,64] conditional(i, w, w), branch_computations={there, here}
  p = pred[] parameter(2)
  ROOT d = f32[64,64] conditional(p, c, c), true_computation=here, false_computation=there
}"""
# A loop and a branch inside of a loop, which has work beside its predicate, too.
NESTED = """HloModule m
go { s = (s32[], f32[64,64], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0  n = s32[] get-tuple-element(s), index=2
  ROOT p = pred[] compare(i, n), direction=LT }
twice { s = (s32[], f32[64,64], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0  one = s32[] constant(1)  j = s32[] add(i, one)
  x = f32[64,64] get-tuple-element(s), index=1  n = s32[] get-tuple-element(s), index=2
  d = f32[64,64] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = (s32[], f32[64,64], s32[]) tuple(j, d, n) }
there { x = f32[64,64] parameter(0)
  d = f32[64,64] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = f32[64,64] dot(d, x), lhs_contracting_dims={1}, rhs_contracting_dims={1} }
here { x = f32[64,64] parameter(0)  ROOT n = f32[64,64] negate(x) }
body { s = (s32[], f32[64,64], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0  one = s32[] constant(1)  j = s32[] add(i, one)
  x = f32[64,64] get-tuple-element(s), index=1  n = s32[] get-tuple-element(s), index=2
  y = f32[64,64] conditional(i, x, x), branch_computations={there, here}
  z = s32[] constant(0)  u = (s32[], f32[64,64], s32[]) tuple(z, y, i)
  v = (s32[], f32[64,64], s32[]) while(u), condition=go, body=twice
  w = f32[64,64] get-tuple-element(v), index=1
  ROOT t = (s32[], f32[64,64], s32[]) tuple(j, w, n) }
ENTRY e { x = f32[64,64] parameter(0)  n = s32[] parameter(1)  z = s32[] constant(0)
  s = (s32[], f32[64,64], s32[]) tuple(z, x, n)
  w = (s32[], f32[64,64], s32[]) while(s), condition=go, body=body
  ROOT y = f32[64,64] get-tuple-element(w), index=1 }"""
# The predicate needs no product.
BESIDE = NESTED.replace("condition=go, body=body", "condition=go, body=twice")
UPDATE = """HloModule m, input_output_alias={ {0}: (0, {}, must-alias) }
ENTRY e {
  x = f32[16] parameter(0)
  y = f32[16] parameter(1)
  s = f32[16] add(x, y)
  p = f32[16] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}
  ROOT r = (f32[16], f32[16]) tuple(s, p)
}"""
