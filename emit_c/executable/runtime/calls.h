// How calls of compiled modules begin and end; modules declare it for themselves.
#ifndef HLO_CALLS_H
#define HLO_CALLS_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// How many threads the calls of a module take; zeros at first.
struct hlo_choice {
  int64_t threads;      // that somebody has chosen; 0: all or one, whichever takes less time
  int64_t is_alone;     // one is faster, so far as is known
  int64_t is_shared;    // a call has had a loop for several threads: else there is nothing to choose
  int64_t is_measured;  // a call is being measured: no other one is meanwhile
  int64_t since_switch; // calls on as many threads
  int64_t left;         // calls of the trial that is under way
  int64_t halvings;     // of the share of time for trials
  int64_t counted[2];   // calls in `seconds`
  double seconds[2];    // of a call in the mean, on all threads and on one
  double sum, cost, credit; // of the trial; what it has cost; and what trials may cost from now on
};

// The state of the thread that calls a module, which it has again afterwards.
struct hlo_caller {
  struct hlo_choice *choice;
  int64_t floats, limit, is_alone, began, was_shared;
};

// Begin a call of a module, and end it. In between floats are rounded to nearest, no operation
// traps, and subnormal numbers are zeros or not, whatever the caller has set; threads that help
// compute as the one that they help.
struct hlo_caller hlo_begin_call(struct hlo_choice *choice, int64_t are_flushed);
void hlo_end_call(const struct hlo_caller *caller);

#ifdef __cplusplus
}
#endif
#endif
