// Devices as threads of one process: how they run, meet, and end.
//
// A device that waits for others first looks on for a while, then sleeps. All that devices know of
// each other lies under one lock: how many of them run, who waits at which site, which meetings are
// open. So a deadlock is no mystery: it is the moment at which none runs, and some wait. Who finds it,
// or fails, stops all. The threads are kept from one call to the next.
#define _GNU_SOURCE
#include "transport.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  SPINS = 2000,          // looks before a device sleeps
  YIELDS = 8,            // the same where there are more devices than processors
  LONG_YIELD = 50000,    // ns, after which other programs want the processors
  SLEEPY = 256,          // waits without a look after that
  NAP = 20000000,        // ns between two looks at whether the user asks to stop
  LITTLE = 1 << 17,      // bytes of a device that are no work for a thread
};

struct letter {
  struct letter *next;
  int64_t signature;
  char values[];
};

struct box { struct letter *first, **end; };

struct world;

// A device, with what it runs on.
struct member {
  struct hlo_device device;
  struct world *world;
  pthread_cond_t wake;
  int is_asleep;
  int64_t site;              // where it waits, HLO_RUNS or HLO_FINISHED
  const struct box *box;     // that it waits for
  const void *const *in;
  void *const *out;
  void *arena;
};

struct world {
  pthread_mutex_t lock;
  hlo_module *run;
  const int64_t *plan;
  pthread_t caller;
  int64_t devices, running, left, threads;
  int failed, is_crowded;
  int64_t *report;
  struct member *members;
  struct hlo_meeting **open; // by number, the oldest first: those to which not all have come
  struct hlo_meeting *full;  // those that not all have left
  struct box *boxes;
};

static struct member *self(struct hlo_device *device) { return (struct member *)device; }

// Whether this thread is the one that called hlo_run_devices.
static int is_caller(struct world *world) { return pthread_equal(pthread_self(), world->caller); }

// --------------------------------------------------------------------------------- waiting, failing

static void wake(struct member *member) {
  if (member->is_asleep) pthread_cond_signal(&member->wake);
}

static void runs_again(struct member *member) {
  member->site = HLO_RUNS;
  member->world->running++;
  wake(member);
}

// Stop all, under the lock; the first failure is the one that is reported.
static void stop(struct world *world, int64_t kind, int status, int64_t device, int64_t site) {
  if (world->failed) return;
  int64_t *report = world->report;
  report[HLO_REPORT_KIND] = kind;
  report[HLO_REPORT_STATUS] = status;
  report[HLO_REPORT_THREAD] = (int64_t)pthread_self();
  report[HLO_REPORT_DEVICE] = device;
  report[HLO_REPORT_SITE] = site;
  for (int64_t d = 0; d < world->devices; d++) {
    const struct member *member = &world->members[d];
    report[HLO_REPORT_HEAD + 2 * d] = member->site;
    report[HLO_REPORT_HEAD + 2 * d + 1] = member->box ? member->box - world->boxes : -1;
  }
  __atomic_store_n(&world->failed, status, __ATOMIC_RELEASE);
  for (int64_t d = 0; d < world->devices; d++) wake(&world->members[d]);
}

static int fail(struct hlo_device *me, int64_t kind, int64_t site, const int64_t *numbers) {
  struct world *world = self(me)->world;
  pthread_mutex_lock(&world->lock);
  int is_first = !world->failed;
  stop(world, kind, HLO_FAILED, me->number, site);
  for (int k = 0; is_first && numbers && k < (kind == HLO_NO_MEMBER ? 1 : 3); k++) {
    world->report[HLO_REPORT_NUMBERS + k] = numbers[k];
  }
  pthread_mutex_unlock(&world->lock);
  return HLO_FAILED;
}

// Wait at a site from now on, under the lock: who finds that nobody runs stops all.
static void waits(struct member *me, int64_t site) {
  me->site = site;
  if (--me->world->running == 0) stop(me->world, HLO_DEADLOCK, HLO_FAILED, me->device.number, site);
}

// Sleep under the lock until somebody wakes this device, or for a while. The thread that called
// hlo_run_devices asks in between whether the user wants to stop.
static void sleep_a_while(struct member *me) {
  struct world *world = me->world;
  me->is_asleep = 1;
  if (!is_caller(world)) {
    pthread_cond_wait(&me->wake, &world->lock);
  } else {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += NAP;
    if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
    if (pthread_cond_timedwait(&me->wake, &world->lock, &until)) {
      hlo_question *question = hlo_set_question(NULL);
      hlo_set_question(question);
      pthread_mutex_unlock(&world->lock);
      int is_asked = question && hlo_ask(question);
      pthread_mutex_lock(&world->lock);
      if (is_asked) stop(world, HLO_MODULE_FAILED, HLO_INTERRUPTED, me->device.number, me->site);
    }
  }
  me->is_asleep = 0;
}

static int has_failed(struct world *world) {
  return __atomic_load_n(&world->failed, __ATOMIC_ACQUIRE);
}

// Waits that are still to come without a look, for other programs want the processors: who sleeps
// is woken before them, while who yields comes after them.
static int64_t sleepy;

// The number of looks of a wait.
static int looks(const struct world *world) {
  if (!world->is_crowded) return SPINS;
  int64_t now = __atomic_load_n(&sleepy, __ATOMIC_RELAXED);
  if (now <= 0) return YIELDS;
  __atomic_store_n(&sleepy, now - 1, __ATOMIC_RELAXED);
  return 1;
}

// Let others go on for a moment; gives 0 if that took long.
static int pause_briefly(int is_crowded, int is_last) {
  if (is_last) return 1;
  if (!is_crowded) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
    return 1;
  }
  struct timespec before, after;
  clock_gettime(CLOCK_MONOTONIC, &before);
  sched_yield();
  clock_gettime(CLOCK_MONOTONIC, &after);
  int64_t seconds = after.tv_sec - before.tv_sec;
  if (seconds * 1000000000 + after.tv_nsec - before.tv_nsec < LONG_YIELD) return 1;
  __atomic_store_n(&sleepy, SLEEPY, __ATOMIC_RELAXED);
  return 0;
}

// Look on for a while until a number is 0.
static void look_on(struct world *world, const int64_t *number) {
  for (int n = 0, most = looks(world); n < most; n++) {
    if (__atomic_load_n(number, __ATOMIC_ACQUIRE) == 0) return;
    if (!pause_briefly(world->is_crowded, n == most - 1)) return;
  }
}

// Wait until a number has become large enough; gives 0, or the status with which all stop.
static int wait_for(struct member *me, const int64_t *number, int64_t enough) {
  struct world *world = me->world;
  for (int n = 0, most = looks(world); n < most; n++) {
    if (__atomic_load_n(number, __ATOMIC_ACQUIRE) >= enough) return 0;
    if (has_failed(world)) return world->failed;
    if (!pause_briefly(world->is_crowded, n == most - 1)) break;
  }
  pthread_mutex_lock(&world->lock);
  while (__atomic_load_n(number, __ATOMIC_ACQUIRE) < enough && !world->failed) sleep_a_while(me);
  pthread_mutex_unlock(&world->lock);
  return __atomic_load_n(number, __ATOMIC_ACQUIRE) >= enough ? 0 : has_failed(world);
}

// ----------------------------------------------------------------------------------------- meetings

static int64_t small_bytes(const struct hlo_operation *o) {
  int64_t bytes = 0;
  for (int64_t k = 0; k < o->count && o->is_small; k++) {
    bytes += (o->sizes[3 * k] * o->sizes[3 * k + 1] + 15) / 16 * 16;
  }
  return bytes;
}

// The meeting of an operation to which this device has not come yet.
static struct hlo_meeting *open_meeting(struct world *world, const struct hlo_operation *o) {
  struct hlo_meeting **place = &world->open[o->place->meeting];
  while (*place && (*place)->seats[o->place->position].has_come) place = &(*place)->next;
  if (*place) return *place;
  // After the seats: for each member its lists of addresses, and copies of small arrays. A device
  // that fails may end while others still look at what it brought: its arrays are there until all
  // have ended, its variables are not.
  int64_t count = o->place->count;
  size_t seats = (sizeof **place + count * sizeof(struct hlo_seat) + 15) / 16 * 16;
  size_t each = 2 * o->count * sizeof(void *) + small_bytes(o);
  struct hlo_meeting *made = malloc(seats + count * each);
  if (!made) return NULL;
  memset(made, 0, seats);
  made->count = count;
  for (int64_t m = 0; m < count; m++) made->seats[m].given = (void *)((char *)made + seats + m * each);
  return *place = made;
}

static void take_seat(const struct hlo_operation *o, struct hlo_seat *seat) {
  const void **list = (const void **)seat->given;
  if (!o->is_small) {
    memcpy(list, o->given, o->count * sizeof *list);
    if (o->kind == HLO_ALL_REDUCE || o->kind == HLO_ALL_GATHER) {
      seat->made = (void *const *)memcpy(list + o->count, o->made, o->count * sizeof *list);
    }
    return;
  }
  char *to = (char *)(list + 2 * o->count);
  for (int64_t k = 0; k < o->count; k++) {
    int64_t bytes = o->sizes[3 * k] * o->sizes[3 * k + 1];
    list[k] = to;
    if (bytes) memcpy(to, o->given[k], bytes);
    to += (bytes + 15) / 16 * 16;
  }
}

// Whether all who have come to a meeting do the same.
static int is_alike(struct world *world, struct hlo_meeting *meeting, struct hlo_operation *o) {
  for (int64_t m = 0; m < meeting->count; m++) {
    if (!meeting->seats[m].has_come) continue;
    int64_t other = o->place->members[m], site = meeting->seats[m].site;
    if (hlo_place_of(world->plan, site, other)->signature == o->place->signature) return 1;
    world->report[HLO_REPORT_OTHER_DEVICE] = other;
    world->report[HLO_REPORT_OTHER_SITE] = site;
    return 0;
  }
  return 1;
}

static void add_full(struct world *world, struct hlo_meeting *meeting) {
  meeting->next = world->full;
  meeting->before = &world->full;
  if (meeting->next) meeting->next->before = &meeting->next;
  world->full = meeting;
}

static void let_go(struct world *world, struct hlo_meeting *meeting) {
  pthread_mutex_lock(&world->lock);
  *meeting->before = meeting->next;
  if (meeting->next) meeting->next->before = meeting->before;
  pthread_mutex_unlock(&world->lock);
  free(meeting);
}

static int come(struct hlo_device *me, struct hlo_operation *o) {
  struct world *world = self(me)->world;
  pthread_mutex_lock(&world->lock);
  struct hlo_meeting *meeting = world->failed ? NULL : open_meeting(world, o);
  if (!meeting) {
    int status = world->failed ? world->failed : HLO_OUT_OF_MEMORY;
    pthread_mutex_unlock(&world->lock);
    return status;
  }
  if (!is_alike(world, meeting, o)) {
    stop(world, HLO_DIFFERENT, HLO_FAILED, me->number, o->site);
    pthread_mutex_unlock(&world->lock);
    return HLO_FAILED;
  }
  struct hlo_seat *seat = &meeting->seats[o->place->position];
  take_seat(o, seat);
  seat->site = o->site;
  seat->has_come = 1;
  o->meeting = meeting;
  if (meeting->come + 1 == meeting->count) {
    struct hlo_meeting **place = &world->open[o->place->meeting];
    while (*place != meeting) place = &(*place)->next;
    *place = meeting->next;
    add_full(world, meeting);
  }
  __atomic_store_n(&meeting->come, meeting->come + 1, __ATOMIC_RELEASE);
  for (int64_t m = 0; meeting->come == meeting->count && m < meeting->count; m++) {
    if (meeting->seats[m].waits) runs_again(&world->members[o->place->members[m]]);
  }
  pthread_mutex_unlock(&world->lock);
  return 0;
}

static int meet(struct hlo_device *me, struct hlo_operation *o) {
  struct hlo_meeting *meeting = o->meeting;
  struct world *world = self(me)->world;
  if (__atomic_load_n(&meeting->come, __ATOMIC_ACQUIRE) < meeting->count) {
    pthread_mutex_lock(&world->lock);
    if (meeting->come < meeting->count && !world->failed) {
      meeting->seats[o->place->position].waits = 1;
      waits(self(me), o->site);
    }
    pthread_mutex_unlock(&world->lock);
  }
  return wait_for(self(me), &meeting->come, meeting->count);
}

static int leave(struct hlo_device *me, struct hlo_operation *o, int wait) {
  struct hlo_meeting *meeting = o->meeting;
  struct world *world = self(me)->world;
  int status = 0;
  if (wait) {
    int is_last = __atomic_add_fetch(&meeting->left, 1, __ATOMIC_ACQ_REL) == meeting->count;
    if (is_last) {
      pthread_mutex_lock(&world->lock);
      for (int64_t m = 0; m < meeting->count; m++) wake(&world->members[o->place->members[m]]);
      pthread_mutex_unlock(&world->lock);
    }
    status = wait_for(self(me), &meeting->left, meeting->count);
    if (status) return status;
  }
  // Whoever is not the last may find it gone.
  int64_t count = meeting->count;
  if (__atomic_add_fetch(&meeting->gone, 1, __ATOMIC_ACQ_REL) == count) let_go(world, meeting);
  return 0;
}

// --------------------------------------------------------------------------------------------- mail

static int64_t total(int64_t count, const int64_t *bytes) {
  int64_t sum = 0;
  for (int64_t k = 0; k < count; k++) sum += bytes[k];
  return sum;
}

static int send_letter(struct hlo_device *me, int64_t number, const struct hlo_place *place,
                       int64_t count, const void *const *given, const int64_t *bytes) {
  struct world *world = self(me)->world;
  struct letter *letter = malloc(sizeof *letter + total(count, bytes));
  if (!letter) return HLO_OUT_OF_MEMORY;
  *letter = (struct letter){.signature = place->signature};
  char *to = letter->values;
  for (int64_t k = 0; k < count; k++) {
    if (bytes[k]) memcpy(to, given[k], bytes[k]);
    to += bytes[k];
  }
  pthread_mutex_lock(&world->lock);
  struct box *box = &world->boxes[number];
  *box->end = letter;
  box->end = &letter->next;
  for (int64_t d = 0; d < world->devices; d++) {
    if (world->members[d].box != box) continue;
    world->members[d].box = NULL;
    runs_again(&world->members[d]);
  }
  pthread_mutex_unlock(&world->lock);
  return 0;
}

static int receive_letter(struct hlo_device *me, int64_t number, const struct hlo_place *place,
                          int64_t site, int64_t count, void *const *made, const int64_t *bytes) {
  struct world *world = self(me)->world;
  pthread_mutex_lock(&world->lock);
  struct box *box = &world->boxes[number];
  while (!box->first && !world->failed) {
    self(me)->box = box;
    waits(self(me), site);
    while (self(me)->box && !world->failed) sleep_a_while(self(me));
  }
  struct letter *letter = box->first;
  int status = letter ? 0 : world->failed;
  if (letter && !(box->first = letter->next)) box->end = &box->first;
  if (letter && letter->signature != place->signature) {
    world->report[HLO_REPORT_OTHER_SITE] = letter->signature;
    world->report[HLO_REPORT_OTHER_DEVICE] = place->signature;
    stop(world, HLO_OTHER_SHAPE, status = HLO_FAILED, me->number, site);
  }
  pthread_mutex_unlock(&world->lock);
  const char *from = letter ? letter->values : NULL;
  for (int64_t k = 0; !status && k < count; k++) {
    if (bytes[k]) memcpy(made[k], from, bytes[k]);
    from += bytes[k];
  }
  free(letter);
  return status;
}

static const struct hlo_transport threads = {come, meet, leave, NULL, send_letter, receive_letter, fail};

// ------------------------------------------------------------------------------------------ threads

// A thread that runs a device now and then.
struct worker {
  pthread_mutex_t lock;
  pthread_cond_t work;
  struct member *member;
  struct worker *next;
};

static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
static struct worker *idle;

static int run_member(struct member *me) {
  struct world *world = me->world;
  struct hlo_device *outer = hlo_here;
  struct hlo_part_of_devices part = hlo_own_part;
  hlo_here = &me->device;
  hlo_own_part = (struct hlo_part_of_devices){world->threads, &world->failed, !is_caller(world)};
  int status = has_failed(world) ? world->failed : world->run(me->in, me->out, me->arena);
  hlo_drop_started(&me->device);
  hlo_own_part = part;
  hlo_here = outer;
  pthread_mutex_lock(&world->lock);
  if (status) stop(world, HLO_MODULE_FAILED, status, me->device.number, HLO_RUNS);
  me->site = HLO_FINISHED;
  world->running--;
  if (world->running == 0) {
    // Somebody waits for what will never come, unless all are done.
    for (int64_t d = 0; d < world->devices; d++) {
      int64_t site = world->members[d].site;
      if (site >= 0) stop(world, HLO_DEADLOCK, HLO_FAILED, d, site);
    }
  }
  if (__atomic_sub_fetch(&world->left, 1, __ATOMIC_RELEASE) == 0) wake(&world->members[0]);
  pthread_mutex_unlock(&world->lock);
  return status;
}

static void *work(void *argument) {
  struct worker *me = argument;
  for (;;) {
    pthread_mutex_lock(&me->lock);
    while (!me->member) pthread_cond_wait(&me->work, &me->lock);
    struct member *member = me->member;
    me->member = NULL;
    pthread_mutex_unlock(&me->lock);
    // The thread can be had again before the last device wakes the one that called.
    run_member(member);
    pthread_mutex_lock(&idle_lock);
    me->next = idle;
    idle = me;
    pthread_mutex_unlock(&idle_lock);
  }
  return NULL;
}

// A child of a fork has only the thread that forked.
static void forget_workers(void) {
  pthread_mutex_init(&idle_lock, NULL);
  idle = NULL;
}

static void watch_forks(void) { pthread_atfork(NULL, NULL, forget_workers); }

static struct worker *new_worker(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_forks);
  struct worker *made = calloc(1, sizeof *made);
  if (!made) return NULL;
  pthread_mutex_init(&made->lock, NULL);
  pthread_cond_init(&made->work, NULL);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  int failed = pthread_create(&thread, &attributes, work, made);
  pthread_attr_destroy(&attributes);
  if (!failed) return made;
  pthread_mutex_destroy(&made->lock);
  pthread_cond_destroy(&made->work);
  free(made);
  return NULL;
}

// Let another thread run a device; 0 if there is none.
static int hand_out(struct member *member) {
  pthread_mutex_lock(&idle_lock);
  struct worker *worker = idle;
  if (worker) idle = worker->next;
  pthread_mutex_unlock(&idle_lock);
  if (!worker && !(worker = new_worker())) return 0;
  pthread_mutex_lock(&worker->lock);
  worker->member = member;
  pthread_cond_signal(&worker->work);
  pthread_mutex_unlock(&worker->lock);
  return 1;
}

// Run all devices, each on a thread; this one is the first.
static void run_together(struct world *world) {
  for (int64_t d = 1; d < world->devices; d++) {
    if (hand_out(&world->members[d])) continue;
    pthread_mutex_lock(&world->lock);
    stop(world, HLO_TOO_MANY, HLO_FAILED, d, HLO_RUNS);
    world->left -= world->devices - d;
    pthread_mutex_unlock(&world->lock);
    break;
  }
  struct member *first = &world->members[0];
  run_member(first);
  look_on(world, &world->left);
  pthread_mutex_lock(&world->lock);
  while (world->left) sleep_a_while(first);
  pthread_mutex_unlock(&world->lock);
}

// Devices that exchange nothing, of which this thread runs one after the other.
static void run_parts(void *argument, int64_t begin, int64_t end, int64_t slot) {
  struct world *world = argument;
  (void)slot;
  for (int64_t d = begin; d < end; d++) run_member(&world->members[d]);
}

static int set_up(struct world *world) {
  const int64_t *plan = world->plan;
  int64_t boxes = plan[HLO_PLAN_BOXES];
  world->members = calloc(world->devices, sizeof *world->members);
  world->open = calloc(plan[HLO_PLAN_MEETINGS] + 1, sizeof *world->open);
  world->boxes = calloc(boxes + 1, sizeof *world->boxes);
  if (!world->members || !world->open || !world->boxes) return HLO_OUT_OF_MEMORY;
  pthread_mutex_init(&world->lock, NULL);
  for (int64_t d = 0; d < world->devices; d++) {
    struct member *member = &world->members[d];
    member->device = (struct hlo_device){&threads, plan, d, NULL};
    member->world = world;
    member->site = HLO_RUNS;
    pthread_cond_init(&member->wake, NULL);
  }
  for (int64_t b = 0; b < boxes; b++) world->boxes[b].end = &world->boxes[b].first;
  return 0;
}

static void free_all(struct hlo_meeting *meetings) {
  while (meetings) {
    struct hlo_meeting *next = meetings->next;
    free(meetings);
    meetings = next;
  }
}

static void tear_down(struct world *world) {
  for (int64_t d = 0; d < world->devices; d++) pthread_cond_destroy(&world->members[d].wake);
  for (int64_t k = 0; k < world->plan[HLO_PLAN_MEETINGS]; k++) free_all(world->open[k]);
  free_all(world->full);
  for (int64_t b = 0; b < world->plan[HLO_PLAN_BOXES]; b++) {
    while (world->boxes[b].first) {
      struct letter *letter = world->boxes[b].first;
      world->boxes[b].first = letter->next;
      free(letter);
    }
  }
  pthread_mutex_destroy(&world->lock);
}

int hlo_run_devices(hlo_module *run, const int64_t *plan, const void *const *const *in,
                    void *const *const *out, void *const *arenas, int64_t *report) {
  int64_t processors = hlo_slots(), devices = plan[HLO_PLAN_DEVICES];
  struct world world = {.run = run, .plan = plan, .devices = devices, .report = report,
                        .running = devices, .left = devices,
                        .caller = pthread_self()};
  int status = set_up(&world);
  if (!status) {
    world.is_crowded = devices > processors;
    for (int64_t d = 0; d < devices; d++) {
      struct member *member = &world.members[d];
      member->in = in[d], member->out = out[d], member->arena = arenas[d];
    }
    if (plan[HLO_PLAN_MEETINGS] + plan[HLO_PLAN_BOXES] == 0 &&
        (devices >= processors || plan[HLO_PLAN_BYTES] < LITTLE)) {
      // Nobody waits for anybody.
      int is_little = plan[HLO_PLAN_BYTES] < LITTLE;
      if (is_little) {
        run_parts(&world, 0, devices, 0);
      } else {
        hlo_parallel(run_parts, &world, devices, 1);
      }
    } else {
      world.threads = processors > devices ? processors / devices : 1;
      run_together(&world);
    }
    status = world.failed;
    tear_down(&world);
  }
  free(world.members);
  free(world.open);
  free(world.boxes);
  return status;
}
