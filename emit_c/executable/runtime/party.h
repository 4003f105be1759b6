// The devices of one process in a run of several: a group of parties, and their messages.
#ifndef HLO_PARTY_H
#define HLO_PARTY_H
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

#endif
