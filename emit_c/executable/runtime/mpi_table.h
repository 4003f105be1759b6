// What mpi.c is given of a library of MPI: emit_c/executable/mpi.py fills it in.
#ifndef HLO_MPI_H
#define HLO_MPI_H
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t hlo_mpi_handle;

struct hlo_mpi {
  int (*isend)(const void *, int, hlo_mpi_handle, int, int, hlo_mpi_handle, hlo_mpi_handle *);
  int (*irecv)(void *, int, hlo_mpi_handle, int, int, hlo_mpi_handle, hlo_mpi_handle *);
  int (*test)(hlo_mpi_handle *, int *, void *);
  int (*cancel)(hlo_mpi_handle *);
  int (*iprobe)(int, int, hlo_mpi_handle, int *, void *);
  int (*get_count)(const void *, hlo_mpi_handle, int *);
  hlo_mpi_handle byte;
  void *status_ignore;
  int64_t any_source, any_tag, source_in_status;  // the tag follows the source
};

// A wire by a communicator that nobody else uses. `lifelines` are sockets to the processes, by their
// ranks; negative for this one.
struct hlo_wire *hlo_mpi_wire(const struct hlo_mpi *mpi, uint64_t communicator, int64_t rank,
                              int64_t size, int64_t neighbours, int64_t most_tags,
                              const int64_t *lifelines);

#ifdef __cplusplus
}
#endif
#endif
