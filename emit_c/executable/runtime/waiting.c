// Devices in several processes: how they wait for messages, and stop each other.
//
// Who has waited for a while tells device 0 where; if all wait, and nobody for what was sent, none
// can go on.
#define _GNU_SOURCE
#include "waiting.h"

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
int hlo_stop_with(struct party *me, int status) {
  return hlo_stop_for(me, HLO_MODULE_FAILED, status, me->device.number, HLO_RUNS, 0, 0, NULL);
}

int hlo_refuse_program(struct party *me, int64_t other) {
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
    return hlo_refuse_program(me, from);
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
        status = hlo_refuse_program(me, from);
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
    if (question && hlo_ask(question)) return hlo_stop_with(me, HLO_INTERRUPTED);
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
