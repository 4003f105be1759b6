// Exercise 62: transpose a matrix. A block has 8 times 8 threads and does one tile: read it into
// shared memory as it lies, and write it so that neighbouring threads write neighbouring places.
// y has `columns` rows. Tiles at the edge are not full. This is not written yet.

extern "C" __global__ void transpose(const float *x, float *y, int rows, int columns) {
}
