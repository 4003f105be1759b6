// The shares of a loop's turns that threads take, and how many threads there are for them.
#include "shares.h"
#include "quota.h"

#include <pthread.h>
#include <stdlib.h>

static int64_t slots, threads;
_Thread_local int64_t hlo_inside;

static void begin(void) {
  const char *chosen = getenv("PYHLO_THREADS");
  int64_t n = chosen ? atoll(chosen) : 0, there = hlo_processors(), quota = hlo_quota();
  if (n < 1) n = quota && quota < there ? quota : there;
  slots = n < 1 ? 1 : n > HLO_MOST_SLOTS ? HLO_MOST_SLOTS : n;
  __atomic_store_n(&threads, slots, __ATOMIC_RELAXED);
}

int64_t hlo_slots(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, begin);
  return slots;
}

int64_t hlo_set_threads(int64_t wanted) {
  int64_t most = hlo_slots();
  int64_t now = wanted < 1 ? 1 : wanted > most ? most : wanted;
  return __atomic_exchange_n(&threads, now, __ATOMIC_RELAXED);
}

int64_t hlo_threads(void) {
  int64_t most = hlo_slots(), now = __atomic_load_n(&threads, __ATOMIC_RELAXED);
  return now < most ? now : most;
}

static int is_taken(const struct hlo_share *share) {
  return __atomic_load_n(&share->next, __ATOMIC_RELAXED) >= share->end;
}

void hlo_take_part(struct hlo_loop *loop, int64_t slot) {
  hlo_inside = slot + 1;
  for (int64_t n = 0; n < loop->count; n++) {
    struct hlo_share *share = &loop->shares[(slot + n) % loop->count];
    while (!is_taken(share)) {
      int64_t first = __atomic_fetch_add(&share->next, loop->chunk, __ATOMIC_RELAXED);
      if (first >= share->end) break;
      int64_t rest = share->end - first;
      loop->part(loop->arguments, first, first + (rest < loop->chunk ? rest : loop->chunk), slot);
    }
  }
  hlo_inside = 0;
}

int hlo_is_handed_out(const struct hlo_loop *loop) {
  for (int64_t n = 0; n < loop->count; n++) {
    if (!is_taken(&loop->shares[n])) return 0;
  }
  return 1;
}
