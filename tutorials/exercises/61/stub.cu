// Exercise 61: add up each row of a matrix. There is a block of 64 threads for each row: block
// blockIdx.x adds up the numbers x[blockIdx.x * columns], x[blockIdx.x * columns + 1], ... Let each
// thread add up every 64th number, and then all threads together what they have, in shared memory:
// half of them add the other half's, then a quarter, and so on. This is not written yet.

extern "C" __global__ void row_sums(const float *x, float *sums, int columns) {
}
