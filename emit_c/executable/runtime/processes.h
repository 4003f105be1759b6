// Devices in several processes: what processes.c, messages.c and waiting.c know of them.
#ifndef HLO_PROCESSES_H
#define HLO_PROCESSES_H
#include "transport.h"
#include "wire.h"

#include <pthread.h>

enum {
  CONTROL, BARRIER, GATHER, FIRST_TAG = HLO_WIRE_TAG + 1,  // tags
  PATIENCE = 200,          // ms after which a device first tells that it waits
  MOST_AT_ONCE = 1 << 30,  // bytes of a message
};

// What a message begins with, or is: its size keeps what follows aligned.
struct head { int64_t program, run, site, messages, bytes, is_small; };

// What a device tells device 0 when it has waited for a while; the counts follow.
enum { STOPS, WAITS };
struct told { int64_t type, program, run, device, site, meeting, box, wanted, share; };

struct party;

// The devices of this process in a run.
struct group {
  struct hlo_wire *wire;
  int64_t program;
  hlo_module *run;
  const int64_t *plan;
  int64_t *report, devices, counts, stop_bytes, threads;
  pthread_t caller;
  pthread_mutex_t lock;
  int failed;
  char *stop;                   // the message that stops others
  struct hlo_request *stopping;
  struct party *parties;
};

// Memory of messages under way.
struct parcel {
  struct parcel *next;
  int64_t heads, receives, sends, ordinal;
  char *heads_at, *letter;
  struct hlo_request requests[];
};

// A device of this process.
struct party {
  struct hlo_device device;
  struct group *group;
  const void *const *in;
  void *const *out;
  void *arena;
  struct parcel *parcels;
  struct told now;
  int64_t *counts;              // by meeting how often it came, and shared; by box, letters sent
  int64_t *others;              // of device 0: what each device told last
  int64_t since, patience, looked, asked;
};

extern const struct hlo_transport hlo_by_messages;

static inline struct party *hlo_party(struct hlo_device *device) { return (struct party *)device; }

static inline int64_t meetings_of(const int64_t *plan) { return plan[HLO_PLAN_MEETINGS]; }

static inline int has_failed(struct group *group) {
  return __atomic_load_n(&group->failed, __ATOMIC_ACQUIRE);
}

// Wait at a site from now on: for the arrays of a meeting, or its shares, or for a letter.
static inline void waits(struct party *me, int64_t site, int64_t meeting, int64_t box,
                         int64_t wanted, int64_t share) {
  me->now = (struct told){
      .site = site, .meeting = meeting, .box = box, .wanted = wanted, .share = share};
  me->patience = PATIENCE;
}

static inline void runs(struct party *me) { me->now.site = HLO_RUNS; }

static inline int64_t messages_for(int64_t bytes) {
  return (bytes + MOST_AT_ONCE - 1) / MOST_AT_ONCE;
}

// Stop all devices, if none has failed before; gives the status.
int hlo_stop_for(struct party *me, int64_t kind, int status, int64_t device, int64_t site,
                 int64_t other_device, int64_t other_site, const int64_t *numbers);

// Stop all devices with a status, if none has failed before; gives the status.
int hlo_stop_with(struct party *me, int status);

// Stop all devices, because another one runs another program.
int hlo_refuse_program(struct party *me, int64_t other);

// A message could not be sent, or received: mostly a process has ended, which is found out soon.
int hlo_broken(struct party *me);

// Wait until all of some messages are there.
int hlo_await(struct party *me, struct hlo_request *requests, int64_t count);

// Send, or receive, bytes in as many messages as it takes.
int hlo_pass(struct party *me, int is_receive, int64_t other, int64_t tag, char *at, int64_t bytes,
             struct hlo_request **request);

// Receive bytes, and wait for them.
int hlo_fetch(struct party *me, int64_t other, int64_t tag, void *at, int64_t bytes);

// Free a parcel of which nothing is under way; else its memory stays.
void hlo_let_go(struct party *me, struct parcel *parcel);

#endif
