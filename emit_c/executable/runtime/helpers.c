// The threads that help others with their loops.
//
// A caller offers a loop, takes part in it until there is nothing left to take, and then waits only
// for those who still have something in hand. Helpers hold no lock that others need: the system may
// take a helper off at any moment, for longer than most loops take. Measured with 4 threads on two
// processors, one of which another program keeps busy: loops of 140 us on one thread take 106 us on
// all; with one lock for all it was 160 us, and every hundredth call waited for 2 ms.
//
// Where the system lets it, helpers keep off the processor of the one that asks (`make_way`).
#define _GNU_SOURCE
#include "runtime.h"
#include "thread.h"
#include "helpers.h"

#include <pthread.h>
#include <string.h>
#include <time.h>
#ifdef __linux__
#include <sched.h>
#endif

// A thread that takes part in the loops of others.
struct helper {
  // The loop that it is at, or looks at, which must not end meanwhile; changed atomically.
  _Alignas(64) struct hlo_loop *at;
  int64_t sleeps;        // until somebody else makes it 0; changed atomically
  int64_t is_moved;      // to the processor of who waits for it; under the lock of callers
  pthread_t thread;
  pthread_mutex_t lock;  // for its sleep only
  pthread_cond_t wake;
};

enum {
  MOST_LOOPS = 64,     // that are offered at once; those of more callers run on one thread
  // ns for which a thread looks for work, or for the end of it, until it sleeps: as long as waking
  // up takes in a virtual machine. Measured: with 10 us, an encoder of BERT's size takes 1.1 to 1.4
  // times as long, and as much CPU time; `exp` of a million numbers now and then 1.4 times.
  SPIN = 50000,
  LOOK_AGAIN = 500000, // ns that a caller sleeps until it looks again which helpers are held up
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;   // of callers who start or move helpers
static pthread_mutex_t ending = PTHREAD_MUTEX_INITIALIZER; // for `ended`
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;    // a helper has left a loop
static int64_t waiting;                // callers that wait for `ended`; changed atomically
static struct hlo_loop *board[MOST_LOOPS]; // loops that are offered; changed atomically
static int64_t used;                   // of the board: places after it have always been empty
static struct helper helpers[HLO_MOST_SLOTS]; // by slot
static int64_t started = 1;            // slots that have a thread; slot 0 is the caller's
static int64_t published;              // counts loops; what idle helpers look at before they sleep

static inline void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

// How long a thread has been looking for something that others do; zeros at first.
struct spin { int64_t turns, began; };

// Pause; gives 0 if that was long enough.
static int may_spin(struct spin *spin) {
  enum { PAUSES = 16 }; // between two looks at the clock
  pause_briefly();
  if (spin->turns++ % PAUSES) return 1;
  struct timespec clock;
  clock_gettime(CLOCK_MONOTONIC, &clock);
  int64_t now = (int64_t)clock.tv_sec * 1000000000 + clock.tv_nsec;
  if (!spin->began) spin->began = now;
  return now - spin->began < SPIN;
}

#ifdef __linux__
static cpu_set_t processors;         // those that the first caller may use
static int avoided = -1;             // the one that the helpers keep off

static void allow(const struct helper *helper, const cpu_set_t *allowed) {
  pthread_setaffinity_np(helper->thread, sizeof *allowed, allowed);
}

// All processors but the avoided one, if there are others.
static cpu_set_t usual_processors(void) {
  cpu_set_t usual = processors;
  if (avoided >= 0 && CPU_COUNT(&usual) > 1) CPU_CLR(avoided, &usual);
  return usual;
}

// A thread that sleeps is often woken on the processor of the one that wakes it. If that one then
// goes on computing there, both share one processor while others idle, for longer than most loops
// take. So helpers may use every processor but the caller's.
static void make_way(void) {
  int here = sched_getcpu();
  if (here == __atomic_load_n(&avoided, __ATOMIC_RELAXED)) return;
  if (here < 0 || !CPU_ISSET(here, &processors)) return;
  pthread_mutex_lock(&lock);
  __atomic_store_n(&avoided, here, __ATOMIC_RELAXED);
  cpu_set_t usual = usual_processors();
  for (int64_t slot = 1; slot < started; slot++) allow(&helpers[slot], &usual);
  pthread_mutex_unlock(&lock);
}

// The time for which a helper has been running; -1 where it cannot be told.
static int64_t time_run(const struct helper *helper) {
  clockid_t clock;
  struct timespec run;
  if (pthread_getcpuclockid(helper->thread, &clock) || clock_gettime(clock, &run)) return -1;
  return (int64_t)run.tv_sec * 1000000000 + run.tv_nsec;
}

// Another program may have taken the processor of a helper that is waited for, for a hundred times
// as long as most loops take. So who goes to sleep until such helpers are done leaves them the own
// one. Measured beside a program that keeps one of two processors busy: loops of 390 us on one
// thread take 300 us instead of 450, and at most 4 ms instead of 12.
static void give_way(const struct hlo_loop *loop) {
  pthread_mutex_lock(&lock);
  cpu_set_t left;
  CPU_ZERO(&left);
  if (avoided >= 0) CPU_SET(avoided, &left);
  for (int64_t slot = 1; slot < started && avoided >= 0; slot++) {
    struct helper *helper = &helpers[slot];
    if (__atomic_load_n(&helper->at, __ATOMIC_RELAXED) != loop || helper->is_moved) continue;
    int64_t before = time_run(helper);
    pause_briefly();
    if (time_run(helper) != before) continue; // it runs
    helper->is_moved = 1;
    allow(helper, &left);
  }
  pthread_mutex_unlock(&lock);
}

static void end_giving_way(void) {
  pthread_mutex_lock(&lock);
  cpu_set_t usual = usual_processors();
  for (int64_t slot = 1; slot < started; slot++) {
    if (helpers[slot].is_moved) allow(&helpers[slot], &usual);
    helpers[slot].is_moved = 0;
  }
  pthread_mutex_unlock(&lock);
}

static void find_processors(void) {
  if (sched_getaffinity(0, sizeof processors, &processors)) CPU_ZERO(&processors);
}
#else
static void make_way(void) {}
static void give_way(const struct hlo_loop *loop) { (void)loop; }
static void end_giving_way(void) {}
static void find_processors(void) {}
#endif

// A child has only the thread that forked, so the pool begins anew.
static void begin_anew(void) {
  pthread_mutex_init(&lock, NULL);
  pthread_mutex_init(&ending, NULL);
  pthread_cond_init(&ended, NULL);
  memset(board, 0, sizeof board);
  memset(helpers, 0, sizeof helpers);
  started = 1;
  waiting = 0;
}

static void prepare(void) {
  find_processors();
  pthread_atfork(NULL, NULL, begin_anew);
}

// Leave a loop, which its caller may then forget.
static void leave(struct helper *helper) {
  __atomic_store_n(&helper->at, NULL, __ATOMIC_SEQ_CST);
  if (!__atomic_load_n(&waiting, __ATOMIC_SEQ_CST)) return;
  // Who waits has either seen this, or sleeps already.
  pthread_mutex_lock(&ending);
  pthread_mutex_unlock(&ending);
  pthread_cond_broadcast(&ended);
}

// Join a loop that has turns left. It says so before it looks whether the loop is still offered,
// and a caller looks who is there after it has ceased to offer it: so none is forgotten too early.
static struct hlo_loop *join(struct helper *helper) {
  for (int64_t i = 0; i < __atomic_load_n(&used, __ATOMIC_ACQUIRE); i++) {
    struct hlo_loop *loop = __atomic_load_n(&board[i], __ATOMIC_RELAXED);
    if (!loop) continue;
    __atomic_store_n(&helper->at, loop, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&board[i], __ATOMIC_SEQ_CST) == loop && !hlo_is_handed_out(loop)) return loop;
    leave(helper);
  }
  return NULL;
}

static void wait_for_work(struct helper *helper, int64_t seen) {
  struct spin spin = {0, 0};
  while (may_spin(&spin)) {
    if (__atomic_load_n(&published, __ATOMIC_RELAXED) != seen) return;
  }
  pthread_mutex_lock(&helper->lock);
  __atomic_store_n(&helper->sleeps, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&published, __ATOMIC_SEQ_CST) != seen) {
    __atomic_store_n(&helper->sleeps, 0, __ATOMIC_RELAXED);
  }
  while (__atomic_load_n(&helper->sleeps, __ATOMIC_RELAXED)) {
    pthread_cond_wait(&helper->wake, &helper->lock);
  }
  pthread_mutex_unlock(&helper->lock);
}

static void *help(void *number) {
  int64_t slot = (int64_t)(intptr_t)number;
  struct helper *helper = &helpers[slot];
  for (;;) {
    int64_t seen = __atomic_load_n(&published, __ATOMIC_SEQ_CST);
    struct hlo_loop *loop = slot < hlo_threads() ? join(helper) : NULL;
    if (!loop) {
      wait_for_work(helper, seen);
      continue;
    }
    hlo_set_floats(loop->floats);
    hlo_take_part(loop, slot);
    leave(helper);
  }
  return NULL;
}

// Start threads that are still missing; where none can be had, the others do their work.
static void start_threads(int64_t wanted) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, prepare);
  pthread_attr_t attributes;
  pthread_mutex_lock(&lock);
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  while (started < wanted) {
    struct helper *helper = &helpers[started];
    pthread_mutex_init(&helper->lock, NULL);
    pthread_cond_init(&helper->wake, NULL);
    if (pthread_create(&helper->thread, &attributes, help, (void *)(intptr_t)started)) break;
    __atomic_store_n(&started, started + 1, __ATOMIC_RELEASE);
  }
#ifdef __linux__
  __atomic_store_n(&avoided, -1, __ATOMIC_RELAXED);
#endif
  pthread_attr_destroy(&attributes);
  pthread_mutex_unlock(&lock);
}

// Wake helpers until so many are not at other loops.
static void wake_helpers(int64_t wanted) {
  int64_t most = __atomic_load_n(&started, __ATOMIC_ACQUIRE), now = hlo_threads();
  if (now < most) most = now;
  for (int64_t slot = 1; slot < most && wanted > 0; slot++) {
    struct helper *helper = &helpers[slot];
    if (__atomic_load_n(&helper->at, __ATOMIC_RELAXED)) continue;
    wanted--;
    if (!__atomic_load_n(&helper->sleeps, __ATOMIC_SEQ_CST)) continue;
    if (!__atomic_exchange_n(&helper->sleeps, 0, __ATOMIC_SEQ_CST)) continue;
    pthread_mutex_lock(&helper->lock);
    pthread_cond_signal(&helper->wake);
    pthread_mutex_unlock(&helper->lock);
  }
}

// Offer a loop; gives its place on the board, or -1 if there is none left.
static int64_t offer(struct hlo_loop *loop) {
  for (int64_t i = 0; i < MOST_LOOPS; i++) {
    struct hlo_loop *nothing = NULL;
    if (__atomic_load_n(&board[i], __ATOMIC_RELAXED)) continue;
    if (!__atomic_compare_exchange_n(
            &board[i], &nothing, loop, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) continue;
    int64_t now = __atomic_load_n(&used, __ATOMIC_RELAXED);
    while (now <= i && !__atomic_compare_exchange_n(
            &used, &now, i + 1, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {}
    return i;
  }
  return -1;
}

static int64_t publish(struct hlo_loop *loop, int64_t wanted) {
  if (__atomic_load_n(&started, __ATOMIC_RELAXED) < wanted) start_threads(wanted);
  // Where several devices ask at once, there is no one processor to keep off.
  if (!hlo_own_part.threads) make_way();
  int64_t place = offer(loop);
  __atomic_fetch_add(&published, 1, __ATOMIC_SEQ_CST);
  wake_helpers(wanted - 1);
  return place;
}

static int is_helped(const struct hlo_loop *loop) {
  int64_t most = hlo_slots();
  for (int64_t slot = 1; slot < most; slot++) {
    if (__atomic_load_n(&helpers[slot].at, __ATOMIC_SEQ_CST) == loop) return 1;
  }
  return 0;
}

static int is_offered(void) {
  for (int64_t i = 0; i < __atomic_load_n(&used, __ATOMIC_RELAXED); i++) {
    if (__atomic_load_n(&board[i], __ATOMIC_RELAXED)) return 1;
  }
  return 0;
}

static void sleep_until_ended(void) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += LOOK_AGAIN;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  pthread_cond_timedwait(&ended, &ending, &until);
}

static void sleep_until_left(const struct hlo_loop *loop) {
  int gave_way = 0;
  pthread_mutex_lock(&ending);
  __atomic_fetch_add(&waiting, 1, __ATOMIC_SEQ_CST);
  while (is_helped(loop)) {
    // Others who wait, or ask, need their helpers where they are.
    if (!hlo_own_part.threads && !is_offered() && waiting == 1) {
      give_way(loop);
      gave_way = 1;
    }
    sleep_until_ended();
  }
  __atomic_fetch_sub(&waiting, 1, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&ending);
  if (gave_way) end_giving_way();
}

// After this no other thread knows of the loop.
static void withdraw(struct hlo_loop *loop, int64_t place) {
  if (place < 0) return;
  __atomic_store_n(&board[place], NULL, __ATOMIC_SEQ_CST);
  struct spin spin = {0, 0};
  while (is_helped(loop)) {
    if (!may_spin(&spin)) {
      sleep_until_left(loop);
      return;
    }
  }
}

void hlo_run_with_helpers(struct hlo_loop *loop, int64_t wanted) {
  int64_t place = publish(loop, wanted);
  hlo_take_part(loop, 0);
  withdraw(loop, place);
}
