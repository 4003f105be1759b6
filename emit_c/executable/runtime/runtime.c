// The library that compiled modules share: a pool of threads, and a way to stop endless loops.
//
// A loop's turns are handed out in chunks, on demand. The thread that asks for the loop does not
// wait for the others: it takes chunks itself until there are none left. So a loop is never slower
// than without threads by more than what it takes to wake them, however busy the machine is; there
// is no barrier that all threads must reach.
//
// Each thread first takes the chunks of its own share, which is the same part of every loop, and
// only then those of others. So it mostly reads what it wrote itself in the loop before, and what
// its own cache still has.
//
// Where the system lets it, threads keep off the processor of the one that asks (`make_way`).
#define _GNU_SOURCE
#include "runtime.h"
#include "thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#endif

// A share of a loop's turns.
struct share {
  _Alignas(64) int64_t next;  // the first turn that nobody has taken; changed atomically
  int64_t end;
};

// A loop that is being run. It lies on the stack of the thread that asked for it.
struct loop {
  hlo_part *part;
  void *arguments;
  int64_t chunk, count; // of shares, one for each thread
  struct share *shares;
  int64_t floats;       // the state of floats of the thread that asked
  int64_t others;       // how many other threads are at it; changed under the lock, read without
  struct loop *older;
};

enum {
  MOST_SLOTS = 256,
  // A thread that is held up leaves the rest of its share to the others. Measured: with 4 chunks,
  // graph attention and products of few blocks take 1.1 to 1.2 times as long; with 32, none less.
  CHUNKS_EACH = 12,
  SPINS = 400,  // 5 to 20 us, about as long as going to sleep and waking up takes
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, finished = PTHREAD_COND_INITIALIZER;
static struct loop *loops;           // those that have turns left, the youngest first
static int64_t started = 1;          // slots that have a thread; slot 0 is the caller's
static int64_t sleepers;             // threads that wait for `work`
static pthread_t helpers[MOST_SLOTS]; // by slot
static int64_t slots, threads;
static int64_t published;            // counts loops; what idle threads look at before they sleep
static _Thread_local int64_t inside; // 1 + slot while this thread runs a part: no loop in it is split

static inline void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

#ifdef __linux__
static cpu_set_t processors;         // those that the first caller may use
static int avoided = -1;             // the one that the helpers keep off

// A thread that sleeps is often woken on the processor of the one that wakes it. If that one then
// goes on computing there, both share one processor while others idle, for longer than most loops
// take. So helpers may use every processor but the caller's.
static void allow(const cpu_set_t *allowed) {
  for (int64_t slot = 1; slot < started; slot++) {
    pthread_setaffinity_np(helpers[slot], sizeof *allowed, allowed);
  }
}

static void make_way(void) {
  int here = sched_getcpu();
  if (here == avoided || here < 0 || !CPU_ISSET(here, &processors)) return;
  avoided = here;
  cpu_set_t others = processors;
  CPU_CLR(here, &others);
  if (CPU_COUNT(&others)) allow(&others);
}

// Another program may have taken the processor of the last helper that is waited for, for a hundred
// times as long as most loops take. So who goes to sleep until it is done leaves it the own one.
// Measured beside a program that keeps one of two processors busy: loops of 390 us on one thread
// take 300 us instead of 450, and at most 4 ms instead of 12.
static void give_way(void) {
  if (avoided < 0) return;
  cpu_set_t left;
  CPU_ZERO(&left);
  CPU_SET(avoided, &left);
  allow(&left);
}

static void end_giving_way(void) {
  if (avoided >= 0) allow(&processors);
  avoided = -1;
}
#else
static void make_way(void) {}
static void give_way(void) {}
static void end_giving_way(void) {}
#endif

static void count_slots(void) {
  const char *chosen = getenv("PYHLO_THREADS");
  int64_t n = chosen ? atoll(chosen) : 0;
#ifdef __linux__
  if (sched_getaffinity(0, sizeof processors, &processors)) CPU_ZERO(&processors);
  if (n < 1) n = CPU_COUNT(&processors);
#endif
  if (n < 1) n = sysconf(_SC_NPROCESSORS_ONLN);
  slots = n < 1 ? 1 : n > MOST_SLOTS ? MOST_SLOTS : n;
  __atomic_store_n(&threads, slots, __ATOMIC_RELAXED);
}

// A child has only the thread that forked, so the pool begins anew.
static void begin_anew(void) {
  pthread_mutex_init(&lock, NULL);
  pthread_cond_init(&work, NULL);
  pthread_cond_init(&finished, NULL);
  loops = NULL;
  started = 1;
  sleepers = 0;
}

static void begin(void) {
  count_slots();
  pthread_atfork(NULL, NULL, begin_anew);
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

static int is_taken(struct share *share) {
  return __atomic_load_n(&share->next, __ATOMIC_RELAXED) >= share->end;
}

// Take chunks until there are none left, of the thread's own share first.
static void take_part(struct loop *loop, int64_t slot) {
  inside = slot + 1;
  for (int64_t n = 0; n < loop->count; n++) {
    struct share *share = &loop->shares[(slot + n) % loop->count];
    while (!is_taken(share)) {
      int64_t first = __atomic_fetch_add(&share->next, loop->chunk, __ATOMIC_RELAXED);
      if (first >= share->end) break;
      int64_t rest = share->end - first;
      loop->part(loop->arguments, first, first + (rest < loop->chunk ? rest : loop->chunk), slot);
    }
  }
  inside = 0;
}

static int is_handed_out(struct loop *loop) {
  for (int64_t n = 0; n < loop->count; n++) {
    if (!is_taken(&loop->shares[n])) return 0;
  }
  return 1;
}

static struct loop *unfinished(void) {
  struct loop *loop = loops;
  while (loop && is_handed_out(loop)) loop = loop->older;
  return loop;
}

static void wait_for_work(int64_t seen) {
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < SPINS && __atomic_load_n(&published, __ATOMIC_RELAXED) == seen; i++) {
    pause_briefly();
  }
  pthread_mutex_lock(&lock);
  if (published != seen) return;
  sleepers++;
  pthread_cond_wait(&work, &lock);
  sleepers--;
}

static void *help(void *number) {
  int64_t slot = (int64_t)(intptr_t)number;
  pthread_mutex_lock(&lock);
  for (;;) {
    int64_t seen = published;
    int allowed = slot < __atomic_load_n(&threads, __ATOMIC_RELAXED);
    struct loop *loop = allowed ? unfinished() : NULL;
    if (!loop) {
      wait_for_work(seen);
      continue;
    }
    loop->others++;
    pthread_mutex_unlock(&lock);
    hlo_set_floats(loop->floats);
    take_part(loop, slot);
    pthread_mutex_lock(&lock);
    __atomic_store_n(&loop->others, loop->others - 1, __ATOMIC_RELEASE);
    if (loop->others == 0) pthread_cond_broadcast(&finished);
  }
  return NULL;
}

// Start threads that are still missing; where none can be had, the others do their work.
static void start_threads(int64_t wanted) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  while (started < wanted) {
    if (pthread_create(&helpers[started], &attributes, help, (void *)(intptr_t)started)) break;
    started++;
  }
#ifdef __linux__
  avoided = -1;
#endif
  pthread_attr_destroy(&attributes);
}

static void publish(struct loop *loop, int64_t wanted) {
  pthread_mutex_lock(&lock);
  if (started < wanted) start_threads(wanted);
  loop->older = loops;
  loops = loop;
  __atomic_store_n(&published, published + 1, __ATOMIC_RELAXED);
  // Where several devices ask at once, there is no one processor to keep off.
  if (!hlo_own_part.threads) make_way();
  if (sleepers) pthread_cond_broadcast(&work);
  pthread_mutex_unlock(&lock);
}

// After this no other thread knows of the loop.
static void withdraw(struct loop *loop) {
  pthread_mutex_lock(&lock);
  struct loop **place = &loops;
  while (*place != loop) place = &(*place)->older;
  *place = loop->older;
  if (loop->others) {
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < SPINS && __atomic_load_n(&loop->others, __ATOMIC_ACQUIRE); i++) {
      pause_briefly();
    }
    pthread_mutex_lock(&lock);
    // Others who wait, or ask, need their helpers where they are.
    int gives_way = loop->others == 1 && !loops && !hlo_own_part.threads;
    if (gives_way) give_way();
    while (loop->others) pthread_cond_wait(&finished, &lock);
    if (gives_way) end_giving_way();
  }
  pthread_mutex_unlock(&lock);
}

// Run a loop on several threads. A function of its own: a loop of one thread does not pay for the
// shares on the stack.
__attribute__((noinline)) static void share_out(
    hlo_part *part, void *arguments, int64_t n, int64_t grain, int64_t sharers) {
  int64_t chunk = (n + CHUNKS_EACH * sharers - 1) / (CHUNKS_EACH * sharers);
  if (chunk < grain) chunk = grain;
  // Neighbours in memory then do not share a cache line, where a turn is an element.
  int64_t together = chunk > 1024 ? 64 : 1;
  chunk = (chunk + together - 1) / together * together;
  struct share shares[MOST_SLOTS];
  for (int64_t slot = 0, begin = 0; slot < sharers; slot++) {
    int64_t end = slot == sharers - 1 ? n : n * (slot + 1) / sharers / together * together;
    shares[slot] = (struct share){begin, end};
    begin = end;
  }
  struct loop loop = {part, arguments, chunk, sharers, shares, hlo_floats(), 0, NULL};
  publish(&loop, sharers);
  take_part(&loop, 0);
  withdraw(&loop);
}

void hlo_parallel(hlo_part *part, void *arguments, int64_t n, int64_t grain) {
  int64_t now = n <= grain || inside ? 1 : hlo_threads();
  if (hlo_own_part.threads && hlo_own_part.threads < now) now = hlo_own_part.threads;
  if (now > 1) hlo_own_call.is_shared = 1;
  if (hlo_own_call.limit && hlo_own_call.limit < now) now = hlo_own_call.limit;
  if (now == 1) {
    if (n > 0) part(arguments, 0, n, inside ? inside - 1 : 0);
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
