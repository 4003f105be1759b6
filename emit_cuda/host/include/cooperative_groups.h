#error "cooperative groups are not known on the processor: use __syncthreads, __syncwarp and __shfl_sync"
