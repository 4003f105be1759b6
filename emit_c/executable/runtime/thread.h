// What belongs to one thread: its part in devices and calls, and its state of floats.
#ifndef HLO_THREAD_H
#define HLO_THREAD_H
#include <stdint.h>

// How this thread takes part in loops and their questions; zeros where it is not one of several
// devices (see devices.h).
struct hlo_part_of_devices {
  int64_t threads;      // that a loop of its own may use; 0: as many as there are
  const int *stopped;   // not 0 there: its loops have to stop
  int is_silent;        // another thread asks whether to stop
};
extern _Thread_local struct hlo_part_of_devices hlo_own_part;

// What this thread knows of the call that it runs.
struct hlo_part_of_call {
  int64_t limit;      // of threads that its loops may use; 0: as many as there are
  int64_t is_shared;  // it has had a loop for several threads
};
extern _Thread_local struct hlo_part_of_call hlo_own_call;

// The state of floats of this thread.
int64_t hlo_floats(void);
void hlo_set_floats(int64_t state);

// The state with which modules compute: subnormal numbers are zeros, or not.
int64_t hlo_floats_of_modules(int64_t are_flushed);

// Keep subnormal numbers from now on, as C does; gives the state that it was.
int64_t hlo_usual_floats(void);

#endif
