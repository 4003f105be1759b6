// Devices in several processes: how they run, and end together.
//
// A run ends when all devices have ended it: so a failure of one is a failure of all, and who waits
// for others is still there to be told of it.
#define _GNU_SOURCE
#include "waiting.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
      return hlo_refuse_program(me, from);
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
  if (status) hlo_stop_with(me, status);
  if (!status) status = end_together(me);
  if (status && !has_failed(group)) {
    hlo_stop_with(me, status);
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
