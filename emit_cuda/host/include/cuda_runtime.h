// The declarations of this header are in cuda_on_host.h already.
