// The kernel itself finds that something is wrong.
// launch: <<<1, 32>>> s32[32]
extern "C" __global__ void checks(const int *x) {
  assert(x[threadIdx.x] < 31);  // <- failed
}
