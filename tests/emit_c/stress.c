// Random schedules of collectives, with delays, failures and mismatches planted: each must end, with
// the right values, or with the failure that was planted.
//
// usage: stress FIRST COUNT [messages]     the seeds of the schedules
//
// Devices are threads of one run; or, with messages, a run each, which sockets connect. As a library,
// `run_schedules` runs one device of each schedule, in a process of its own.
#include "waiting.h"
#include "sockets.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_DEVICES = 6, MOST_STEPS = 8, LARGE = 4096, PLAN = 4096 };
enum { NOTHING, FAILS, SKIPS, DIFFERS, PLANTS };

struct step { int kind, count, group[MOST_DEVICES], position[MOST_DEVICES], size[MOST_DEVICES]; };

static struct {
  unsigned seed;
  int devices, steps, planted, bad_device, bad_step, delays, starts, runs_twice;
  struct step step[MOST_STEPS];
  int64_t plan[PLAN];
} now;

static unsigned state;
static int below(int n) {
  state = state * 1664525u + 1013904223u;
  return (int)((state >> 8) % (unsigned)n);
}

static void add(void *to, const void *x, const void *y, int64_t n) {
  for (int64_t i = 0; i < n; i++) ((int64_t *)to)[i] = ((const int64_t *)x)[i] + ((const int64_t *)y)[i];
}

// The number that a device brings to a step, at an index.
static int64_t number(int step, int device, int i) { return 1000 * step + 100 * device + i % 89; }

static void make_step(struct step *step) {
  step->kind = (int[]){HLO_ALL_REDUCE, HLO_ALL_GATHER, HLO_REDUCE_SCATTER, HLO_ALL_TO_ALL}[below(4)];
  int groups = 1 + below(2), members[2] = {0, 0};
  for (int d = 0; d < now.devices; d++) {
    step->group[d] = below(groups);
    step->position[d] = members[step->group[d]]++;
  }
  for (int d = 0; d < now.devices; d++) step->size[d] = members[step->group[d]];
  // A multiple of all sizes of groups.
  step->count = below(3) ? 60 : 60 * (LARGE / 60);
}

static void make_plan(void) {
  int64_t *plan = now.plan, end = HLO_PLAN_HEAD + 2 * now.steps * now.devices;
  memset(plan, 0, sizeof now.plan);
  plan[HLO_PLAN_DEVICES] = now.devices, plan[HLO_PLAN_PARTITIONS] = 1;
  plan[HLO_PLAN_SITES] = 2 * now.steps, plan[HLO_PLAN_MEETINGS] = 2 * now.steps;
  // Each step has a second site, of another signature in the same meeting.
  for (int site = 0; site < 2 * now.steps; site++) {
    struct step *step = &now.step[site / 2];
    for (int d = 0; d < now.devices; d++) {
      plan[HLO_PLAN_HEAD + site * now.devices + d] = end;
      plan[end++] = site / 2 * 2 + step->group[d];
      plan[end++] = site;
      plan[end++] = step->size[d];
      plan[end++] = step->position[d];
      plan[end++] = -1;
      for (int other = 0; other < now.devices; other++) {
        if (step->group[other] == step->group[d]) plan[end++] = other;
      }
    }
  }
  if (end > PLAN) abort();
}

// What a device is, and what goes wrong on it.
struct task { int device, planted; };

static void wait_a_little(unsigned *own, unsigned most) {
  *own = *own * 1664525u + 1013904223u;
  if (now.delays && (*own >> 8) % 4 == 0) sched_yield();
  if (now.delays && (*own >> 8) % 16 == 0) usleep((*own >> 12) % most);
}

static int wrong(int step, int device, int i, int64_t got, int64_t want) {
  printf("seed %u: step %d, device %d, element %d: %ld, not %ld\n", now.seed, step, device, i,
         (long)got, (long)want);
  exit(1);
}

static void see(int k, int device, const int64_t *made) {
  struct step *step = &now.step[k];
  int n = step->count, size = step->size[device], position = step->position[device];
  int members[MOST_DEVICES], count = 0;
  for (int d = 0; d < now.devices; d++) {
    if (step->group[d] == step->group[device]) members[count++] = d;
  }
  int made_count = step->kind == HLO_ALL_GATHER ? n * size
                   : step->kind == HLO_REDUCE_SCATTER ? n / size : n;
  for (int i = 0; i < made_count; i++) {
    int64_t want = 0;
    if (step->kind == HLO_ALL_GATHER) want = number(k, members[i / n], i % n);
    if (step->kind == HLO_ALL_TO_ALL) {
      want = number(k, members[i / (n / size)], position * (n / size) + i % (n / size));
    }
    int at = step->kind == HLO_REDUCE_SCATTER ? position * (n / size) + i : i;
    for (int m = 0; m < count && step->kind <= HLO_REDUCE_SCATTER; m++) want += number(k, members[m], at);
    if (made[i] != want) wrong(k, device, i, made[i], want);
  }
}

// A device: it goes through the schedule.
static int device_of(const void *const *in, void *const *out, void *arena) {
  int device = ((struct task *)arena)->device, planted = ((struct task *)arena)->planted;
  unsigned own = now.seed * 31u + (unsigned)device;
  static const void *const folds[] = {add};
  int64_t *given = out[0], *made = out[1];
  (void)in;
  for (int k = 0; k < now.steps; k++) {
    struct step *step = &now.step[k];
    int is_bad = device == now.bad_device && k == now.bad_step;
    const int64_t sizes[] = {1, 8 * step->count, 8};
    const void *const brought[] = {given};
    void *const got[] = {made};
    wait_a_little(&own, 300);
    if (is_bad && planted == FAILS) return HLO_FAILED;
    if (is_bad && planted == SKIPS) continue;
    for (int i = 0; i < step->count; i++) given[i] = number(k, device, i);
    int site = 2 * k + (is_bad && planted == DIFFERS), status;
    if (now.starts && k % 2) {
      status = hlo_start(step->kind, site, 1, brought, got, sizes, folds, NULL);
      wait_a_little(&own, 300);
      if (!status) status = hlo_finish(site);
    } else {
      status = hlo_collective(step->kind, site, 1, brought, got, sizes, folds, NULL);
    }
    if (status) return status;
    see(k, device, made);
    // Who reads what is no longer there finds other numbers.
    memset(given, 0x55, 8 * step->count);
  }
  return 0;
}

// ----------------------------------------------------------------------------------- by messages

// What each device's run is given, and what comes of it.
struct one {
  struct hlo_wire *wire;
  const void *const *in;
  void *const *out;
  struct task *task;
  int64_t report[HLO_REPORT_HEAD + 2 * MOST_DEVICES];
  int status;
};

static struct hlo_sockets *sockets[MOST_DEVICES];
static int (*send_now)(struct hlo_wire *, int64_t, int64_t, int64_t, const void *, int64_t,
                       struct hlo_request *);

static int send_late(struct hlo_wire *wire, int64_t from, int64_t to, int64_t tag, const void *at,
                     int64_t bytes, struct hlo_request *request) {
  static _Thread_local unsigned own;
  own += (unsigned)from;
  wait_a_little(&own, 300);
  // Some devices end a run late, when others have begun the next one.
  if (tag == BARRIER && (own >> 8) % 2) usleep((own >> 12) % 8000);
  return send_now(wire, from, to, tag, at, bytes, request);
}

static struct hlo_wire *delayed(struct hlo_wire *wire) {
  if (!send_now) send_now = wire->send;
  wire->send = send_late;
  return wire;
}

static void connect_all(void) {
  int64_t fds[MOST_DEVICES][MOST_DEVICES];
  for (int d = 0; d < MOST_DEVICES; d++) {
    fds[d][d] = -1;
    for (int other = 0; other < d; other++) {
      int pair[2];
      if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) abort();
      fds[d][other] = pair[0], fds[other][d] = pair[1];
    }
  }
  for (int d = 0; d < MOST_DEVICES; d++) sockets[d] = hlo_sockets(MOST_DEVICES, fds[d]);
}

// Run one device; maybe a first time in which all is well, and which others end later than the first
// to fail then.
static int run_device(struct hlo_wire *wire, const void *const *in, void *const *out,
                      struct task *task, int64_t *report) {
  struct task well = {task->device, NOTHING}, *tasks[] = {&well, task};
  int status = 0;
  for (int k = now.runs_twice ? 0 : 1; k < 2 && !status; k++) {
    void *arena = tasks[k];
    status = hlo_run_process(wire, 1 + now.seed + (unsigned)k, device_of, now.plan, &in, &out, &arena,
                             report);
  }
  return status;
}

static void *run_one(void *argument) {
  struct one *me = argument;
  me->status = run_device(me->wire, me->in, me->out, me->task, me->report);
  return NULL;
}

// Run all devices; what they report must be the same, but for who found it.
static int run_by_messages(const void *const **ins, void *const **outs, void **arenas,
                           int64_t *report) {
  static struct one all[MOST_DEVICES];
  pthread_t threads[MOST_DEVICES];
  int64_t homes[MOST_DEVICES];
  for (int d = 0; d < now.devices; d++) homes[d] = d;
  for (int d = 0; d < now.devices; d++) {
    struct hlo_wire *wire = delayed(hlo_socket_wire(sockets[d], now.seed, now.devices, homes, 1));
    all[d] = (struct one){.wire = wire, .in = ins[d], .out = outs[d], .task = arenas[d]};
    pthread_create(&threads[d], NULL, run_one, &all[d]);
  }
  for (int d = 0; d < now.devices; d++) pthread_join(threads[d], NULL);
  memcpy(report, all[0].report, sizeof all[0].report);
  for (int d = 0; d < now.devices; d++) {
    int is_so = all[d].status == all[0].status;
    if (all[0].status) is_so &= all[d].report[HLO_REPORT_KIND] == report[HLO_REPORT_KIND];
    hlo_end_socket_wire(all[d].wire);
    if (is_so) continue;
    printf("seed %u: device %d has status %d, and kind %ld\n", now.seed, d, all[d].status,
           (long)all[d].report[HLO_REPORT_KIND]);
    exit(1);
  }
  return all[0].status;
}

static void make_schedule(unsigned seed, int devices) {
  state = seed * 2654435761u + 1;
  now.seed = seed, now.devices = 2 + below(MOST_DEVICES - 1), now.steps = 1 + below(MOST_STEPS);
  if (devices) now.devices = devices;
  now.planted = below(2) ? NOTHING : 1 + below(PLANTS - 1);
  now.bad_device = below(now.devices), now.bad_step = below(now.steps);
  now.delays = below(2), now.starts = below(2);
  for (int k = 0; k < now.steps; k++) make_step(&now.step[k]);
  now.runs_twice = below(2);
  make_plan();
}

// Whether a run ended as it must; says how, if not.
static int is_good(int status, const int64_t *report) {
  // A device that is alone in its group is missed by nobody.
  int is_alone = now.step[now.bad_step].size[now.bad_device] == 1;
  int64_t kind = report[HLO_REPORT_KIND];
  int good = status == 0;
  if (now.planted == FAILS) good = status == HLO_FAILED && kind == HLO_MODULE_FAILED;
  if (now.planted == SKIPS && !is_alone) good = status == HLO_FAILED && kind == HLO_DEADLOCK;
  if (now.planted == DIFFERS && !is_alone) good = status == HLO_FAILED && kind == HLO_DIFFERENT;
  if (!good) {
    printf("seed %u: planted %d, status %d, kind %ld\n", now.seed, now.planted, status, (long)kind);
  }
  return good;
}

static int64_t memory[MOST_DEVICES][2][MOST_DEVICES * LARGE];
static const void *nothing[1];

static void run(unsigned seed, int by_messages) {
  make_schedule(seed, 0);
  const void *const *ins[MOST_DEVICES];
  void *lists[MOST_DEVICES][2], *const *outs[MOST_DEVICES], *arenas[MOST_DEVICES];
  struct task tasks[MOST_DEVICES];
  for (int d = 0; d < now.devices; d++) {
    tasks[d] = (struct task){d, now.planted};
    lists[d][0] = memory[d][0], lists[d][1] = memory[d][1];
    ins[d] = nothing, outs[d] = lists[d], arenas[d] = &tasks[d];
  }
  int64_t report[HLO_REPORT_HEAD + 2 * MOST_DEVICES] = {0};
  int status = by_messages ? run_by_messages(ins, outs, arenas, report)
                           : hlo_run_devices(device_of, now.plan, ins, outs, arenas, report);
  if (!is_good(status, report)) exit(1);
}

int run_schedules(unsigned first, unsigned count, struct hlo_wire *wire, int device, int devices) {
  void *lists[2] = {memory[0][0], memory[0][1]};
  struct task task = {.device = device};
  wire = delayed(wire);
  int64_t report[HLO_REPORT_HEAD + 2 * MOST_DEVICES];
  for (unsigned seed = first; seed < first + count; seed++) {
    alarm(20);  // nothing hangs
    make_schedule(seed, devices);
    task.planted = now.planted;
    memset(report, 0, sizeof report);
    int status = run_device(wire, nothing, lists, &task, report);
    if (!is_good(status, report)) return (int)(seed - first);
  }
  alarm(0);
  return (int)count;
}

int main(int count, char **words) {
  if (count != 3 && count != 4) return 2;
  if (count == 4) connect_all();
  unsigned first = (unsigned)atoi(words[1]), schedules = (unsigned)atoi(words[2]);
  for (unsigned seed = first; seed < first + schedules; seed++) {
    alarm(20);  // nothing hangs
    run(seed, count == 4);
  }
  printf("%u schedules\n", schedules);
}
