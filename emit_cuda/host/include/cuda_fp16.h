// What this header declares is in cuda_on_host.h already.
