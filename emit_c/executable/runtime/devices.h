// Several devices that run one compiled module, and what their collectives ask of each other.
//
// The runtime library knows of each collective only its site, a number. Who meets whom there, says
// the plan, which is made of the module for a number of devices (codegen/program/collectives.py).
#ifndef HLO_DEVICES_H
#define HLO_DEVICES_H
#include "runtime.h"
#include "thread.h"

#ifdef __cplusplus
extern "C" {
#endif

// ------------------------------------------------------------------------------- running devices

// The entry of a compiled module.
typedef int hlo_module(const void *const *in, void *const *out, void *arena);

// Numbers that a plan begins with. After them, for each site and each device, comes the place in
// the plan of the device's part at that site (struct hlo_place).
enum {
  HLO_PLAN_DEVICES, HLO_PLAN_PARTITIONS, HLO_PLAN_SITES, HLO_PLAN_MEETINGS, HLO_PLAN_BOXES,
  HLO_PLAN_BYTES,  // that a device reads and writes, at least
  HLO_PLAN_HEAD
};

// The part that a device has in a collective.
struct hlo_place {
  int64_t meeting;    // devices meet in the same one
  int64_t signature;  // equal where devices that meet do the same
  int64_t count;      // of members; 0 if the device is in no group; negative if that is an error
  int64_t position;   // of the device among the members
  int64_t source;     // the position of who sends to it; negative if nobody does
  int64_t members[];  // devices; of send and recv, numbers of mail boxes, then the devices at their ends
};

// What went wrong: the report of a run that fails. After it come two numbers for each device: the
// site at which it waits, or HLO_RUNS or HLO_FINISHED; and the mail box that it waits for, or -1.
enum {
  HLO_REPORT_KIND, HLO_REPORT_STATUS, HLO_REPORT_THREAD,
  HLO_REPORT_DEVICE, HLO_REPORT_SITE, HLO_REPORT_OTHER_DEVICE, HLO_REPORT_OTHER_SITE,
  HLO_REPORT_NUMBERS, HLO_REPORT_HEAD = HLO_REPORT_NUMBERS + 3
};
enum { HLO_RUNS = -1, HLO_FINISHED = -2 };
enum {
  HLO_MODULE_FAILED,   // the module gave the status, on a thread of which pthread_self is reported
  HLO_DEADLOCK,        // no device can go on
  HLO_DIFFERENT,       // two devices that meet do different things
  HLO_NO_GROUP,        // a device is in no group, or its group makes arrays of other sizes
  HLO_OUT_OF_PLACE,    // a slice does not lie in its array
  HLO_OTHER_SHAPE,     // what is received has another shape than what was sent
  HLO_NO_MEMBER,       // the root of a broadcast is no member
  HLO_TOO_MANY,        // the system starts no thread for each device
  HLO_LOST,            // the process of a device has ended
  HLO_OTHER_PROGRAM,   // two processes run different programs
};

// Run a module on as many devices as a plan has, each with arguments, results and an arena of its
// own. Gives 0, or the status of the device that failed first; then `report` says why.
int hlo_run_devices(hlo_module *run, const int64_t *plan, const void *const *const *in,
                    void *const *const *out, void *const *arenas, int64_t *report);

// ---------------------------------------------------------------------- what compiled modules call

// Kinds of collectives.
enum {
  HLO_ALL_REDUCE, HLO_REDUCE_SCATTER, HLO_ALL_GATHER, HLO_ALL_TO_ALL, HLO_ALL_TO_ALL_ARRAYS,
  HLO_BROADCAST, HLO_PERMUTE, HLO_RAGGED_ALL_TO_ALL, HLO_PERMUTE_SLICES
};

// Combine n elements of two arrays into a third, which may be one of them.
typedef void hlo_fold(void *to, const void *x, const void *y, int64_t n);

// A collective, as a compiled module describes it.
//
// given, made: arrays that the device brings, and those that it gets.
// sizes: of each array that it brings, three numbers: it is so many blocks, of so many bytes, of
//   elements of so many bytes. Blocks are cut, or joined, along the dimension that is theirs.
// folds: of each array of a reduction, its function.
// numbers: what else there is to know, by kind.
int hlo_collective(int64_t kind, int64_t site, int64_t count, const void *const *given,
                   void *const *made, const int64_t *sizes, const void *const *folds,
                   const int64_t *numbers);

// The same in two steps: the first does not wait for other devices.
int hlo_start(int64_t kind, int64_t site, int64_t count, const void *const *given,
              void *const *made, const int64_t *sizes, const void *const *folds,
              const int64_t *numbers);
int hlo_finish(int64_t site);

// Put copies of arrays into the mail boxes of a site; take arrays from a site's first box, and wait
// for them until they are there. A device with no box receives zeros.
int hlo_send(int64_t site, int64_t count, const void *const *given, const int64_t *bytes);
int hlo_receive(int64_t site, int64_t of, int64_t count, void *const *made, const int64_t *bytes);

// The number of this device among the replicas (0), or the partitions (1).
int64_t hlo_device_number(int64_t of_partitions);

#ifdef __cplusplus
}
#endif
#endif
