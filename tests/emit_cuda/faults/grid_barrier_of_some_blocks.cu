// The last block has nothing to do, and does not wait for the others, which wait for it.
// launch: cooperative <<<3, 32>>> f32[96]
#include <cooperative_groups.h>
extern "C" __global__ void turned(float *x) {
  int i = blockIdx.x * 32 + threadIdx.x;
  if (i >= 64) return;
  float next = x[(i + 32) % 64];
  cooperative_groups::this_grid().sync();  // <- divergent barrier
  x[i] = next;
}
