// The grid of a cooperative launch, whose blocks may wait for each other. Groups of other sizes are not
// known on the processor: use __syncthreads, __syncwarp and __shfl_sync.
#pragma once
namespace cooperative_groups {
struct grid_group {
    void sync(CUDA_LINE) const { cuda_on_host::grid_barrier(line); }
};
inline grid_group this_grid() { return {}; }
}  // namespace cooperative_groups
