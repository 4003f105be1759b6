// The shares of a loop's turns that threads take.
#ifndef HLO_SHARES_H
#define HLO_SHARES_H
#include "runtime.h"

enum { HLO_MOST_SLOTS = 256 };

// A share of a loop's turns.
struct hlo_share {
  _Alignas(64) int64_t next;  // the first turn that nobody has taken; changed atomically
  int64_t end;
};

// A loop that is being run. It lies on the stack of the thread that asked for it.
struct hlo_loop {
  hlo_part *part;
  void *arguments;
  int64_t chunk, count; // of shares, one for each thread
  struct hlo_share *shares;
  int64_t floats;       // the state of floats of the thread that asked
};

// Take chunks until there are none left, of the thread's own share first.
void hlo_take_part(struct hlo_loop *loop, int64_t slot);

// Whether there are none left.
int hlo_is_handed_out(const struct hlo_loop *loop);

// 1 + slot while this thread runs a part: no loop in it is split.
extern _Thread_local int64_t hlo_inside;

#endif
