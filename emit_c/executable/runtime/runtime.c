// The library that compiled modules share: loops on several threads, and a way to stop endless ones.
//
// A loop's turns are handed out in chunks, on demand. The thread that asks for the loop does not
// wait for the others: it takes chunks itself until there are none left. So a loop is never slower
// than without threads by more than what it takes to wake them, however busy the machine is; there
// is no barrier that all threads must reach.
//
// Each thread first takes the chunks of its own share, which is the same part of every loop, and
// only then those of others. So it mostly reads what it wrote itself in the loop before, and what
// its own cache still has.
#define _GNU_SOURCE
#include "runtime.h"
#include "thread.h"
#include "helpers.h"

#include <time.h>

enum {
  // A thread that is held up leaves the rest of its share to the others. Measured: with 4 chunks,
  // graph attention and products of few blocks take 1.1 to 1.2 times as long; with 32, none less.
  CHUNKS_EACH = 12,
};

// Run a loop on several threads. A function of its own: a loop of one thread does not pay for the
// shares on the stack.
__attribute__((noinline)) static void share_out(
    hlo_part *part, void *arguments, int64_t n, int64_t grain, int64_t sharers) {
  int64_t chunk = (n + CHUNKS_EACH * sharers - 1) / (CHUNKS_EACH * sharers);
  if (chunk < grain) chunk = grain;
  // Neighbours in memory then do not share a cache line, where a turn is an element.
  int64_t together = chunk > 1024 ? 64 : 1;
  chunk = (chunk + together - 1) / together * together;
  struct hlo_share shares[HLO_MOST_SLOTS];
  for (int64_t slot = 0, begin = 0; slot < sharers; slot++) {
    int64_t end = slot == sharers - 1 ? n : n * (slot + 1) / sharers / together * together;
    shares[slot] = (struct hlo_share){begin, end};
    begin = end;
  }
  struct hlo_loop loop = {part, arguments, chunk, sharers, shares, hlo_floats()};
  hlo_run_with_helpers(&loop, sharers);
}

void hlo_parallel(hlo_part *part, void *arguments, int64_t n, int64_t grain) {
  int64_t now = n <= grain || hlo_inside ? 1 : hlo_threads();
  if (hlo_own_part.threads && hlo_own_part.threads < now) now = hlo_own_part.threads;
  if (now > 1) hlo_own_call.is_shared = 1;
  if (hlo_own_call.limit && hlo_own_call.limit < now) now = hlo_own_call.limit;
  // No more than find a part of `grain` turns.
  if (now > 1 && (n - 1) / grain + 1 < now) now = (n - 1) / grain + 1;
  if (now == 1) {
    if (n > 0) part(arguments, 0, n, hlo_inside ? hlo_inside - 1 : 0);
    return;
  }
  share_out(part, arguments, n, grain, now);
}

static hlo_question *question;

hlo_question *hlo_set_question(hlo_question *asked) {
  return __atomic_exchange_n(&question, asked, __ATOMIC_ACQ_REL);
}

// Whoever answers computes as usual, not as compiled code does.
int hlo_ask(hlo_question *asked) {
  int64_t floats = hlo_usual_floats();
  int answer = asked();
  hlo_set_floats(floats);
  return answer;
}

// Turns may take nanoseconds or minutes. Their number between two looks at the clock is doubled
// while little time has passed, and halved while too much has.
int hlo_poll(struct hlo_patience *patience) {
  enum { SHORT = 10000000, LONG = 40000000 };  // ns
  struct timespec clock;
  clock_gettime(CLOCK_MONOTONIC, &clock);
  int64_t now = (int64_t)clock.tv_sec * 1000000000 + clock.tv_nsec;
  int64_t passed = patience->asked ? now - patience->asked : 0;
  if (passed < SHORT) {
    patience->budget = 2 * patience->budget + 1;
  } else if (passed > LONG) {
    patience->budget /= 2;
  }
  patience->turns = patience->budget;
  if (patience->asked && passed < SHORT) return 0;
  patience->asked = now;
  const int *stopped = hlo_own_part.stopped;
  if (stopped && __atomic_load_n(stopped, __ATOMIC_ACQUIRE)) return HLO_INTERRUPTED;
  if (hlo_own_part.is_silent) return 0;
  hlo_question *ask = __atomic_load_n(&question, __ATOMIC_ACQUIRE);
  return ask && passed ? hlo_ask(ask) : 0;
}