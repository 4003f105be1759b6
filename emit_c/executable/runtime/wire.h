// How messages get from one process to another: what processes.c asks of MPI (mpi.c) and of sockets
// (sockets.c). The names of ends are numbers of devices.
#ifndef HLO_WIRE_H
#define HLO_WIRE_H
#include "devices.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HLO_WIRE_TAG = 15 };  // of messages of the wire itself

// A message under way, which the wire fills in.
struct hlo_request {
  uint64_t handle;
  int64_t from, to, tag, bytes;
  char *at;
  struct hlo_request *next;
  int is_done, is_receive;
};

// Messages of one pair of devices with one tag keep their order. Functions give 0, or a negative
// number if the wire fails.
struct hlo_wire {
  int64_t devices;
  int64_t here;           // how many of them are of this process
  const int64_t *local;   // those
  int64_t neighbours;     // processes on this machine
  int64_t most_tags;
  int64_t run;            // how many runs there have been, since the wire was made or renewed
  int64_t gone;           // 1 + the device of a process that has ended
  void *early;            // the message that stops the next run, come before this one's end
  // Start to send, or to receive; the bytes stay where they are until the request is done.
  int (*send)(struct hlo_wire *, int64_t from, int64_t to, int64_t tag, const void *at,
              int64_t bytes, struct hlo_request *);
  int (*receive)(struct hlo_wire *, int64_t from, int64_t to, int64_t tag, void *at, int64_t bytes,
                 struct hlo_request *);
  // 1 if a request is done.
  int (*test)(struct hlo_wire *, struct hlo_request *);
  // Want nothing more of a request; 1 if its bytes may be let go.
  int (*drop)(struct hlo_wire *, struct hlo_request *);
  // The number of bytes of a message that anybody has sent, and from whom; negative if there is none.
  int64_t (*probe)(struct hlo_wire *, int64_t to, int64_t tag, int64_t *from);
  // Let others go on; the more often, the longer.
  void (*rest)(struct hlo_wire *, int64_t turn);
  // A device whose process has ended; negative if there is none.
  int64_t (*lost)(struct hlo_wire *);
  // Forget all messages, together with all other processes: 1 once that is done.
  int (*renew)(struct hlo_wire *);
};

// Run a module on the devices of this process, while other processes run it on theirs. `in`, `out`
// and `arenas` are those of this process's devices; `program` is a number that is the same in all
// processes; `report` is for all devices. Gives 0, or a status, as hlo_run_devices.
int hlo_run_process(struct hlo_wire *wire, int64_t program, hlo_module *run, const int64_t *plan,
                    const void *const *const *in, void *const *const *out, void *const *arenas,
                    int64_t *report);

// Let each process have the bytes of all, equally many of each, by their order: where each has one
// device.
int hlo_gather(struct hlo_wire *wire, const void *own, int64_t bytes, void *all, int64_t *report);

// How many runs a wire has had; negative if a process has ended before.
int64_t hlo_runs(const struct hlo_wire *wire);

#ifdef __cplusplus
}
#endif
#endif
