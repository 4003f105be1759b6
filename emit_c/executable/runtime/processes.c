// Devices in several processes: how they run, wait, and end together.
//
// A run ends when all devices have ended it: so a failure of one
// is a failure of all, and who waits for others is still there to be told of it. Who has waited for
// a while tells device 0 where; if all wait, and nobody for what was sent, none can go on.
#define _GNU_SOURCE
#include "processes.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
  LOOKS = 64,              // tests of a message before there is time for anything else
  NAP = 20,                // ms between two looks at whether the user asks to stop
};

static int64_t milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// ----------------------------------------------------------------------------------------- failing

// Stop the devices of this process; the first failure is the one that is reported.
static int take_report(struct group *group, const int64_t *report, int status) {
  pthread_mutex_lock(&group->lock);
  int is_first = !group->failed;
  if (is_first) {
    memcpy(group->report, report, (HLO_REPORT_HEAD + 2 * group->devices) * sizeof *report);
    __atomic_store_n(&group->failed, status, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&group->lock);
  return is_first;
}

// Stop all devices, if none has failed before.
static int stop(struct party *me, int status, const int64_t *report) {
  struct group *group = me->group;
  if (!take_report(group, report, status)) return group->failed;
  struct told *told = (struct told *)group->stop;
  *told = (struct told){.type = STOPS, .program = group->program, .run = group->wire->run,
                        .device = me->device.number, .site = status};
  memcpy(told + 1, report, group->stop_bytes - sizeof *told);
  for (int64_t d = 0; d < group->devices; d++) {
    int is_local = 0;
    for (int64_t n = 0; n < group->wire->here; n++) is_local |= group->wire->local[n] == d;
    if (is_local) continue;
    group->wire->send(group->wire, me->device.number, d, CONTROL, group->stop, group->stop_bytes,
                      &group->stopping[d]);
  }
  return status;
}

int hlo_stop_for(struct party *me, int64_t kind, int status, int64_t device, int64_t site,
                    int64_t other_device, int64_t other_site, const int64_t *numbers) {
  int64_t report[HLO_REPORT_HEAD + 2 * me->group->devices];
  memset(report, 0, sizeof report);
  report[HLO_REPORT_KIND] = kind;
  report[HLO_REPORT_STATUS] = status;
  report[HLO_REPORT_THREAD] = (int64_t)pthread_self();
  report[HLO_REPORT_DEVICE] = device;
  report[HLO_REPORT_SITE] = site;
  report[HLO_REPORT_OTHER_DEVICE] = other_device;
  report[HLO_REPORT_OTHER_SITE] = other_site;
  for (int k = 0; numbers && k < (kind == HLO_NO_MEMBER ? 1 : 3); k++) {
    report[HLO_REPORT_NUMBERS + k] = numbers[k];
  }
  return stop(me, status, report);
}

// Stop all since this device has ended with a status; or since another one runs another program.
static int stop_with(struct party *me, int status) {
  return hlo_stop_for(me, HLO_MODULE_FAILED, status, me->device.number, HLO_RUNS, 0, 0, NULL);
}

static int refuse_program(struct party *me, int64_t other) {
  int64_t number = me->device.number;
  return hlo_stop_for(me, HLO_OTHER_PROGRAM, HLO_FAILED, number, HLO_RUNS, other, 0, NULL);
}

static int lose(struct party *me, int64_t device) {
  me->group->wire->gone = 1 + (device < 0 ? me->device.number : device);
  return hlo_stop_for(me, HLO_LOST, HLO_FAILED, device, HLO_RUNS, 0, 0, NULL);
}

// A message could not be sent, or received: mostly a process has ended, which is found out soon.
int hlo_broken(struct party *me) {
  struct hlo_wire *wire = me->group->wire;
  int64_t lost = -1;
  for (int turn = 0; turn < 100 && lost < 0; turn++) {
    if ((lost = wire->lost(wire)) < 0) usleep(10000);
  }
  return lose(me, lost);
}

// --------------------------------------------------------------------------------------- deadlocks

static const struct told *told_by(const struct party *me, int64_t device) {
  return (const struct told *)(me->others + device * (sizeof(struct told) / 8 + me->group->counts));
}

// Whether what a device waits for has been sent, as far as device 0 was told.
static int can_go_on(const struct party *me, int64_t device) {
  const int64_t *plan = me->group->plan;
  const struct told *told = told_by(me, device);
  int64_t meetings = meetings_of(plan);
  if (told->box >= 0) {
    int64_t sent = 0;
    for (int64_t d = 0; d < me->group->devices; d++) {
      sent += ((const int64_t *)(told_by(me, d) + 1))[2 * meetings + told->box];
    }
    return sent >= told->wanted;
  }
  const struct hlo_place *place = hlo_place_of(plan, told->site, device);
  for (int64_t m = 0; m < place->count; m++) {
    const int64_t *counts = (const int64_t *)(told_by(me, place->members[m]) + 1);
    if (counts[told->meeting + (told->share ? meetings : 0)] < told->wanted) return 0;
  }
  return 1;
}

// Stop all if no device can go on. What devices told may be old: but the first to go on since then
// would have been sent something by one that has not.
static int see_whether_all_wait(struct party *me) {
  struct group *group = me->group;
  int64_t report[HLO_REPORT_HEAD + 2 * group->devices], waiting = -1;
  memset(report, 0, sizeof report);
  for (int64_t d = 0; d < group->devices; d++) {
    const struct told *told = told_by(me, d);
    if (told->run != me->group->wire->run) return 0;
    if (told->site != HLO_FINISHED) {
      if (can_go_on(me, d)) return 0;
      waiting = d;
    }
    report[HLO_REPORT_HEAD + 2 * d] = told->site;
    report[HLO_REPORT_HEAD + 2 * d + 1] = told->box;
  }
  if (waiting < 0) return 0;
  report[HLO_REPORT_KIND] = HLO_DEADLOCK;
  report[HLO_REPORT_STATUS] = HLO_FAILED;
  report[HLO_REPORT_DEVICE] = waiting;
  report[HLO_REPORT_SITE] = told_by(me, waiting)->site;
  return stop(me, HLO_FAILED, report);
}

static int64_t told_bytes(const struct group *group) {
  return sizeof(struct told) + group->counts * sizeof(int64_t);
}

// Tell device 0 where this device waits.
static int tell(struct party *me) {
  struct group *group = me->group;
  int64_t bytes = told_bytes(group);
  me->patience *= 2;
  me->now.type = WAITS, me->now.program = group->program;
  me->now.run = group->wire->run, me->now.device = me->device.number;
  if (me->device.number == 0) {
    memcpy(me->others, &me->now, sizeof me->now);
    memcpy((char *)me->others + sizeof me->now, me->counts, bytes - sizeof me->now);
    return see_whether_all_wait(me);
  }
  struct parcel *parcel = malloc(sizeof *parcel + sizeof parcel->requests[0] + bytes);
  if (!parcel) return HLO_OUT_OF_MEMORY;
  *parcel = (struct parcel){.next = me->parcels, .sends = 1};
  me->parcels = parcel;
  char *at = (char *)&parcel->requests[1];
  memcpy(at, &me->now, sizeof me->now);
  memcpy(at + sizeof me->now, me->counts, bytes - sizeof me->now);
  int failed = group->wire->send(group->wire, me->device.number, 0, CONTROL, at, bytes,
                                 &parcel->requests[0]);
  return failed ? hlo_broken(me) : 0;
}

// Wait for a message that has been sent.
static int take(struct party *me, int64_t from, int64_t tag, void *at, int64_t bytes) {
  struct hlo_wire *wire = me->group->wire;
  struct hlo_request request = {0};
  if (wire->receive(wire, from, me->device.number, tag, at, bytes, &request)) return -1;
  for (int64_t turn = 0;; turn++) {
    int done = wire->test(wire, &request);
    if (done) return done < 0 ? -1 : 0;
    wire->rest(wire, turn);
  }
}

// Stop since another device does, of this program or not.
static int obey(struct party *me, int64_t from, const struct told *told) {
  const int64_t *report = (const int64_t *)(told + 1);
  int64_t kind = report[HLO_REPORT_KIND];
  int status = told->site ? (int)told->site : HLO_FAILED;
  if (kind == HLO_LOST) me->group->wire->gone = 1 + report[HLO_REPORT_DEVICE];
  if (told->program != me->group->program && kind != HLO_LOST && kind != HLO_OTHER_PROGRAM) {
    return refuse_program(me, from);
  }
  take_report(me->group, report, status);
  return status;
}

// Keep a message that stops a later run: who sent it has ended this run, so that this device will,
// too, however late other messages are. Gives what is not kept.
static void *keep_early(struct party *me, struct told *told) {
  struct hlo_wire *wire = me->group->wire;
  void *rest = told;
  pthread_mutex_lock(&me->group->lock);
  if (!wire->early) rest = NULL, wire->early = told;
  pthread_mutex_unlock(&me->group->lock);
  return rest;
}

// Stop since another device did so before this one had begun the run.
static int obey_early(struct party *me) {
  struct hlo_wire *wire = me->group->wire;
  pthread_mutex_lock(&me->group->lock);
  struct told *told = wire->early;
  if (told && told->run > wire->run) told = NULL;
  if (told) wire->early = NULL;
  pthread_mutex_unlock(&me->group->lock);
  int status = told ? obey(me, told->device, told) : 0;
  free(told);
  return status;
}

// Take what others say: that they stop, or wait.
static int listen(struct party *me) {
  struct group *group = me->group;
  struct hlo_wire *wire = group->wire;
  int64_t from, bytes;
  int status = obey_early(me);
  if (status) return status;
  while ((bytes = wire->probe(wire, me->device.number, CONTROL, &from)) >= 0) {
    char *at = malloc(bytes + sizeof(struct told));
    if (!at) return HLO_OUT_OF_MEMORY;
    if (take(me, from, CONTROL, at, bytes)) {
      free(at);
      return hlo_broken(me);
    }
    struct told *told = (struct told *)at;
    if (told->type == STOPS && bytes == group->stop_bytes) {
      if (told->run > wire->run) {
        at = keep_early(me, told);
      } else {
        status = obey(me, from, told);
      }
    } else if (told->type == WAITS && told->run == wire->run) {
      // Of an earlier run it says nothing any more; of a later one it will be said again.
      if (told->program != group->program) {
        status = refuse_program(me, from);
      } else if (bytes == told_bytes(group)) {
        memcpy((void *)told_by(me, from), at, bytes);
        status = see_whether_all_wait(me);
      }
    }
    free(at);
    if (status) return status;
  }
  return 0;
}

// ----------------------------------------------------------------------------------------- waiting

// Look after everything else while this device waits.
static int look_around(struct party *me, int64_t turn) {
  struct group *group = me->group;
  struct hlo_wire *wire = group->wire;
  if (has_failed(group)) return group->failed;
  if (turn < LOOKS) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
    return 0;
  }
  wire->rest(wire, turn - LOOKS);
  int64_t now = milliseconds();
  if (now == me->looked) return 0;
  me->looked = now;
  int status = listen(me);
  if (status) return status;
  int64_t lost = wire->lost(wire);
  if (lost >= 0) return lose(me, lost);
  if (now - me->asked >= NAP && pthread_equal(pthread_self(), group->caller)) {
    me->asked = now;
    hlo_question *question = hlo_set_question(NULL);
    hlo_set_question(question);
    if (question && hlo_ask(question)) return stop_with(me, HLO_INTERRUPTED);
  }
  return me->now.site != HLO_RUNS && now - me->since >= me->patience ? tell(me) : 0;
}

// Wait until all of some messages are there.
int hlo_await(struct party *me, struct hlo_request *requests, int64_t count) {
  struct hlo_wire *wire = me->group->wire;
  int64_t done = 0;
  for (int64_t turn = 0;; turn++) {
    while (done < count) {
      int is_done = wire->test(wire, &requests[done]);
      if (is_done < 0) return hlo_broken(me);
      if (!is_done) break;
      done++;
    }
    if (done == count) return 0;
    if (turn == LOOKS) me->since = milliseconds();
    int status = look_around(me, turn);
    if (status) return status;
  }
}

// Free a parcel of which nothing is under way; else its memory stays.
void hlo_let_go(struct party *me, struct parcel *parcel) {
  struct hlo_wire *wire = me->group->wire;
  struct parcel **place = &me->parcels;
  while (*place != parcel) place = &(*place)->next;
  *place = parcel->next;
  int is_free = 1;
  for (int64_t k = 0; k < parcel->heads + parcel->receives + parcel->sends; k++) {
    is_free &= wire->drop(wire, &parcel->requests[k]);
  }
  if (is_free) free(parcel);
}

// Send, or receive, bytes in as many messages as it takes.
int hlo_pass(struct party *me, int is_receive, int64_t other, int64_t tag, char *at, int64_t bytes,
                struct hlo_request **request) {
  struct hlo_wire *wire = me->group->wire;
  int64_t number = me->device.number;
  for (int64_t done = 0; done < bytes; done += MOST_AT_ONCE) {
    int64_t now = bytes - done < MOST_AT_ONCE ? bytes - done : MOST_AT_ONCE;
    int failed = is_receive ? wire->receive(wire, other, number, tag, at + done, now, (*request)++)
                            : wire->send(wire, number, other, tag, at + done, now, (*request)++);
    if (failed) return -1;
  }
  return 0;
}

// Receive bytes, and wait for them.
int hlo_fetch(struct party *me, int64_t other, int64_t tag, void *at, int64_t bytes) {
  int64_t messages = messages_for(bytes);
  struct parcel *parcel = calloc(1, sizeof *parcel + messages * sizeof parcel->requests[0]);
  if (!parcel) return HLO_OUT_OF_MEMORY;
  parcel->next = me->parcels, me->parcels = parcel;
  parcel->receives = messages;
  struct hlo_request *request = parcel->requests;
  int failed = hlo_pass(me, 1, other, tag, at, bytes, &request);
  int status = failed ? hlo_broken(me) : hlo_await(me, parcel->requests, messages);
  hlo_let_go(me, parcel);
  return status;
}

// -------------------------------------------------------------------------------------------- runs

// Wait until all devices have come here.
static int end_together(struct party *me) {
  struct hlo_wire *wire = me->group->wire;
  int64_t devices = me->group->devices, number = me->device.number;
  waits(me, HLO_FINISHED, -1, -1, 0, 0);
  for (int64_t apart = 1; apart < devices; apart *= 2) {
    struct head own = {me->group->program, wire->run, 0, 0, 0, 0}, theirs;
    int64_t from = (number - apart + devices) % devices;
    struct parcel *parcel = calloc(1, sizeof *parcel + sizeof parcel->requests[0] + sizeof own);
    if (!parcel) return HLO_OUT_OF_MEMORY;
    parcel->next = me->parcels, me->parcels = parcel;
    parcel->sends = 1;
    void *at = memcpy(&parcel->requests[1], &own, sizeof own);
    int failed = wire->send(wire, number, (number + apart) % devices, BARRIER, at, sizeof own,
                            parcel->requests);
    int status = failed ? hlo_broken(me) : hlo_fetch(me, from, BARRIER, &theirs, sizeof theirs);
    if (status) return status;
    if (theirs.program != own.program || theirs.run != own.run) {
      return refuse_program(me, from);
    }
  }
  return 0;
}

static void *run_party(void *argument) {
  struct party *me = argument;
  struct group *group = me->group;
  struct hlo_device *outer = hlo_here;
  struct hlo_part_of_devices part = hlo_own_part;
  int is_caller = pthread_equal(pthread_self(), group->caller);
  hlo_here = &me->device;
  hlo_own_part = (struct hlo_part_of_devices){group->threads, &group->failed, !is_caller};
  int status = has_failed(group);
  if (!status) status = group->run(me->in, me->out, me->arena);
  if (status) stop_with(me, status);
  if (!status) status = end_together(me);
  if (status && !has_failed(group)) {
    stop_with(me, status);
  }
  hlo_drop_started(&me->device);
  hlo_own_part = part;
  hlo_here = outer;
  return NULL;
}

static int set_up(struct group *group) {
  int64_t here = group->wire->here, told = sizeof(struct told) / 8 + group->counts;
  group->stop_bytes = sizeof(struct told) + (HLO_REPORT_HEAD + 2 * group->devices) * 8;
  group->stop = malloc(group->stop_bytes);
  group->stopping = calloc(group->devices, sizeof *group->stopping);
  group->parties = calloc(here, sizeof *group->parties);
  if (!group->stop || !group->stopping || !group->parties) return HLO_OUT_OF_MEMORY;
  pthread_mutex_init(&group->lock, NULL);
  for (int64_t d = 0; d < here; d++) {
    struct party *me = &group->parties[d];
    me->device = (struct hlo_device){&hlo_by_messages, group->plan, group->wire->local[d], NULL};
    me->group = group;
    me->now.site = HLO_RUNS;
    // After the counts that others are told: letters received.
    me->counts = calloc(group->counts + (group->plan ? group->plan[HLO_PLAN_BOXES] : 0) + 1, 8);
    me->others = me->device.number ? NULL : calloc(group->devices * told, 8);
    if (!me->counts || (!me->device.number && !me->others)) return HLO_OUT_OF_MEMORY;
  }
  return 0;
}

// Forget all messages after a failure, with all other processes, unless one has ended.
static void begin_anew(struct group *group) {
  struct hlo_wire *wire = group->wire;
  for (int64_t d = 0; group->parties && d < wire->here; d++) {
    // What this run waits for would take messages of the next.
    for (struct parcel *at = group->parties[d].parcels; at; at = at->next) {
      for (int64_t k = 0; k < at->heads + at->receives; k++) wire->drop(wire, &at->requests[k]);
    }
  }
  wire->run = 0;
  free(wire->early);
  wire->early = NULL;
  for (int64_t turn = 0; !wire->gone; turn++) {
    int is_done = wire->renew(wire);
    if (is_done > 0) break;
    int64_t lost = wire->lost(wire);
    hlo_question *question = hlo_set_question(NULL);
    hlo_set_question(question);
    int is_over = is_done < 0 || lost >= 0 || (question && hlo_ask(question));
    if (is_over) wire->gone = 1 + (lost < 0 ? wire->local[0] : lost);
    wire->rest(wire, turn);
  }
}

static void tear_down(struct group *group) {
  for (int64_t d = 0; group->parties && d < group->wire->here; d++) {
    struct party *me = &group->parties[d];
    while (me->parcels) hlo_let_go(me, me->parcels);
    free(me->counts);
    free(me->others);
  }
  int is_free = 1;
  for (int64_t d = 0; group->stopping && d < group->devices; d++) {
    is_free &= group->wire->drop(group->wire, &group->stopping[d]);
  }
  if (is_free) free(group->stop);
  if (is_free) free(group->stopping);
  free(group->parties);
}

static int refuse_gone(struct hlo_wire *wire, int64_t *report) {
  report[HLO_REPORT_KIND] = HLO_LOST;
  report[HLO_REPORT_STATUS] = HLO_FAILED;
  report[HLO_REPORT_DEVICE] = wire->gone - 1;
  return HLO_FAILED;
}

int hlo_run_process(struct hlo_wire *wire, int64_t program, hlo_module *run, const int64_t *plan,
                    const void *const *const *in, void *const *const *out, void *const *arenas,
                    int64_t *report) {
  if (wire->gone) return refuse_gone(wire, report);
  int64_t processors = sysconf(_SC_NPROCESSORS_ONLN) / wire->neighbours, slots = hlo_slots();
  struct group group = {.wire = wire, .program = program, .run = run, .plan = plan,
                        .report = report, .devices = wire->devices, .caller = pthread_self(),
                        .counts = 2 * plan[HLO_PLAN_MEETINGS] + plan[HLO_PLAN_BOXES]};
  if (slots > processors) slots = processors;
  group.threads = slots > wire->here ? slots / wire->here : 1;
  wire->run++;
  int status = set_up(&group);
  pthread_t threads[wire->here];
  int64_t started = 1;
  for (int64_t d = 0; !status && d < wire->here; d++) {
    group.parties[d].in = in[d], group.parties[d].out = out[d], group.parties[d].arena = arenas[d];
  }
  for (; !status && started < wire->here; started++) {
    if (pthread_create(&threads[started], NULL, run_party, &group.parties[started])) {
      hlo_stop_for(&group.parties[0], HLO_TOO_MANY, HLO_FAILED, started, HLO_RUNS, 0, 0, NULL);
      break;
    }
  }
  if (!status) run_party(&group.parties[0]);
  for (int64_t d = 1; !status && d < started; d++) pthread_join(threads[d], NULL);
  if (!status) status = group.failed;
  if (status) begin_anew(&group);
  tear_down(&group);
  return status;
}

int hlo_gather(struct hlo_wire *wire, const void *own, int64_t bytes, void *all, int64_t *report) {
  if (wire->gone) return refuse_gone(wire, report);
  const int64_t plan[HLO_PLAN_HEAD] = {wire->devices, 1};
  struct group group = {.wire = wire, .plan = plan, .report = report, .devices = wire->devices,
                        .caller = pthread_self()};
  wire->run++;
  int status = set_up(&group);
  int64_t processes = wire->devices, rank = wire->local[0];
  int64_t each = messages_for(bytes), messages = (processes - 1) * each;
  struct parcel *parcel = NULL;
  if (!status) parcel = calloc(1, sizeof *parcel + 2 * messages * sizeof parcel->requests[0]);
  if (!parcel) status = HLO_OUT_OF_MEMORY;
  if (!status) {
    struct party *me = &group.parties[0];
    me->parcels = parcel;
    parcel->receives = parcel->sends = messages;
    waits(me, HLO_FINISHED, -1, -1, 0, 0);
    struct hlo_request *receive = parcel->requests, *send = receive + messages;
    memcpy((char *)all + rank * bytes, own, bytes);
    for (int64_t n = 1; !status && n < processes; n++) {
      int64_t other = (rank + n) % processes;
      if (hlo_pass(me, 1, other, GATHER, (char *)all + other * bytes, bytes, &receive) ||
          hlo_pass(me, 0, other, GATHER, (char *)own, bytes, &send)) {
        status = hlo_broken(me);
      }
    }
    if (!status) status = hlo_await(me, parcel->requests, 2 * messages);
    if (!status) hlo_let_go(me, parcel);
  }
  if (status) begin_anew(&group);
  tear_down(&group);
  return status;
}

int64_t hlo_runs(const struct hlo_wire *wire) { return wire->gone ? -1 : wire->run; }
