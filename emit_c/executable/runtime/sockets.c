// Messages by sockets, between processes that have several devices each, and inside of them.
//
// For each other process a thread reads all that it sends: what somebody waits for goes to its place,
// the rest is kept until somebody asks. So who sends never waits for who receives.
#define _GNU_SOURCE
#include "sockets.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
  BYE = -1,              // a tag
  YIELDS = 4,
  NAP = 5000000,         // ns
  STILL_TO_COME = 2000,  // ms for what others send, after one has ended well
  MOST_TAGS = 1 << 30,
};
enum { WAITING = 0, DONE = 1, FILLING = 2, FAILED = -1 };

// What a message begins with.
struct label { int64_t channel, epoch, from, to, tag, bytes; };

struct kept {
  struct kept *next;
  struct label label;
  char bytes[];
};

struct peer {
  struct hlo_sockets *sockets;
  int fd, is_closed;
  int64_t said_bye;      // when, in ms; 0 for never
  pthread_mutex_t sending;
};

struct hlo_sockets {
  pthread_mutex_t lock;
  pthread_cond_t news;
  uint64_t arrived;
  struct kept *kept, **last_kept;
  struct waiting *waiting;
  int64_t processes;
  struct peer peers[];
};

// A request that waits for its message, of one wire.
struct waiting {
  struct waiting *next;
  struct label label;
  struct hlo_request *request;
};

struct socket_wire {
  struct hlo_wire wire;
  struct hlo_sockets *sockets;
  int64_t channel, epoch;
  int64_t homes[];  // the process of each device; then this process's devices
};

static int64_t milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static struct socket_wire *self(struct hlo_wire *wire) { return (struct socket_wire *)wire; }

static int is_meant(const struct label *wanted, const struct label *label) {
  return wanted->channel == label->channel && wanted->epoch == label->epoch &&
         wanted->to == label->to && wanted->tag == label->tag &&
         (wanted->from < 0 || wanted->from == label->from);
}

// The request that a message is for, which waits no more; under the lock.
static struct hlo_request *request_for(struct hlo_sockets *me, const struct label *label) {
  for (struct waiting **place = &me->waiting; *place; place = &(*place)->next) {
    struct waiting *found = *place;
    if (!is_meant(&found->label, label)) continue;
    struct hlo_request *request = found->request;
    *place = found->next;
    free(found);
    return request;
  }
  return NULL;
}

static void tell_all(struct hlo_sockets *me) {
  me->arrived++;
  pthread_cond_broadcast(&me->news);
}

static void keep(struct hlo_sockets *me, struct kept *kept) {
  kept->next = NULL;
  *me->last_kept = kept;
  me->last_kept = &kept->next;
}

static struct kept *new_kept(const struct label *label) {
  struct kept *made = malloc(sizeof *made + label->bytes);
  if (made) made->label = *label;
  return made;
}

// ---------------------------------------------------------------------------------------- reading

static int read_all(int fd, void *to, int64_t bytes) {
  for (int64_t done = 0; done < bytes;) {
    ssize_t now = recv(fd, (char *)to + done, bytes - done, 0);
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) return -1;
    done += now;
  }
  return 0;
}

static int write_all(int fd, const void *from, int64_t bytes, int more) {
  for (int64_t done = 0; done < bytes;) {
    int flags = MSG_NOSIGNAL | (more ? MSG_MORE : 0);
    ssize_t now = send(fd, (const char *)from + done, bytes - done, flags);
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) return -1;
    done += now;
  }
  return 0;
}

// Read a message that somebody waits for, or else keep it.
static int read_message(struct peer *peer, const struct label *label) {
  struct hlo_sockets *me = peer->sockets;
  pthread_mutex_lock(&me->lock);
  struct hlo_request *request = request_for(me, label);
  int fits = request && request->bytes >= label->bytes;
  if (fits) request->is_done = FILLING;
  pthread_mutex_unlock(&me->lock);
  struct kept *kept = fits ? NULL : new_kept(label);
  if (!fits && !kept) return -1;
  int status = read_all(peer->fd, fits ? request->at : kept->bytes, label->bytes);
  pthread_mutex_lock(&me->lock);
  if (request) {
    request->is_done = fits && !status ? DONE : FAILED;
    free(kept);
  } else if (!status) {
    // Somebody may have asked for it meanwhile.
    request = request_for(me, label);
    if (request && request->bytes >= label->bytes) memcpy(request->at, kept->bytes, label->bytes);
    if (request) request->is_done = request->bytes >= label->bytes ? DONE : FAILED;
    if (request) free(kept);
    if (!request) keep(me, kept);
  } else {
    free(kept);
  }
  tell_all(me);
  pthread_mutex_unlock(&me->lock);
  return status;
}

static void *read_on(void *argument) {
  struct peer *peer = argument;
  struct label label;
  while (!read_all(peer->fd, &label, sizeof label)) {
    if (label.tag == BYE) {
      pthread_mutex_lock(&peer->sockets->lock);
      peer->said_bye = milliseconds();
      tell_all(peer->sockets);
      pthread_mutex_unlock(&peer->sockets->lock);
    } else if (read_message(peer, &label)) {
      break;
    }
  }
  pthread_mutex_lock(&peer->sockets->lock);
  peer->is_closed = 1;
  tell_all(peer->sockets);
  pthread_mutex_unlock(&peer->sockets->lock);
  return NULL;
}

// ------------------------------------------------------------------------------------------- wire

static struct label label_of(struct socket_wire *me, int64_t from, int64_t to, int64_t tag,
                             int64_t bytes) {
  return (struct label){me->channel, me->epoch, from, to, tag, bytes};
}

static int deliver_here(struct hlo_sockets *me, const struct label *label, const void *at) {
  pthread_mutex_lock(&me->lock);
  struct hlo_request *request = request_for(me, label);
  struct kept *kept = request ? NULL : new_kept(label);
  int status = request || kept ? 0 : -1;
  if (request) {
    int fits = request->bytes >= label->bytes;
    if (fits && label->bytes) memcpy(request->at, at, label->bytes);
    request->is_done = fits ? DONE : FAILED;
  } else if (kept) {
    if (label->bytes) memcpy(kept->bytes, at, label->bytes);
    keep(me, kept);
  }
  tell_all(me);
  pthread_mutex_unlock(&me->lock);
  return status;
}

static int start_send(struct hlo_wire *wire, int64_t from, int64_t to, int64_t tag, const void *at,
                      int64_t bytes, struct hlo_request *request) {
  struct socket_wire *me = self(wire);
  struct label label = label_of(me, from, to, tag, bytes);
  *request = (struct hlo_request){.bytes = bytes, .is_done = DONE};
  struct peer *peer = &me->sockets->peers[me->homes[to]];
  if (peer->fd < 0) return deliver_here(me->sockets, &label, at);
  pthread_mutex_lock(&peer->sending);
  int status = write_all(peer->fd, &label, sizeof label, bytes > 0);
  if (!status) status = write_all(peer->fd, at, bytes, 0);
  pthread_mutex_unlock(&peer->sending);
  return status ? -1 : 0;
}

// The place in the list of a message that is there already; under the lock.
static struct kept **kept_for(struct hlo_sockets *me, const struct label *wanted) {
  struct kept **place = &me->kept;
  while (*place && !is_meant(wanted, &(*place)->label)) place = &(*place)->next;
  return place;
}

static void unlist(struct hlo_sockets *me, struct kept **place) {
  struct kept *found = *place;
  *place = found->next;
  if (!found->next) me->last_kept = place;
  free(found);
}

static int start_receive(struct hlo_wire *wire, int64_t from, int64_t to, int64_t tag, void *at,
                         int64_t bytes, struct hlo_request *request) {
  struct socket_wire *me = self(wire);
  struct hlo_sockets *sockets = me->sockets;
  *request = (struct hlo_request){.bytes = bytes, .at = at, .is_receive = 1};
  struct label label = label_of(me, from, to, tag, bytes);
  struct waiting *waiting = malloc(sizeof *waiting);
  if (!waiting) return -1;
  *waiting = (struct waiting){NULL, label, request};
  pthread_mutex_lock(&sockets->lock);
  struct kept **place = kept_for(sockets, &label);
  if (*place) {
    int64_t there = (*place)->label.bytes;
    if (there <= bytes && there) memcpy(at, (*place)->bytes, there);
    request->is_done = there <= bytes ? DONE : FAILED;
    unlist(sockets, place);
    free(waiting);
  } else {
    struct waiting **end = &sockets->waiting;
    while (*end) end = &(*end)->next;
    *end = waiting;
  }
  pthread_mutex_unlock(&sockets->lock);
  return 0;
}

static int test(struct hlo_wire *wire, struct hlo_request *request) {
  struct hlo_sockets *sockets = self(wire)->sockets;
  if (!request->is_receive) return 1;
  pthread_mutex_lock(&sockets->lock);
  int state = request->is_done;
  pthread_mutex_unlock(&sockets->lock);
  return state == FILLING ? 0 : state;
}

static int drop(struct hlo_wire *wire, struct hlo_request *request) {
  struct hlo_sockets *sockets = self(wire)->sockets;
  if (!request->is_receive) return 1;
  pthread_mutex_lock(&sockets->lock);
  while (request->is_done == FILLING) pthread_cond_wait(&sockets->news, &sockets->lock);
  for (struct waiting **place = &sockets->waiting; *place; place = &(*place)->next) {
    struct waiting *found = *place;
    if (found->request != request) continue;
    *place = found->next;
    free(found);
    break;
  }
  pthread_mutex_unlock(&sockets->lock);
  return 1;
}

static int64_t probe(struct hlo_wire *wire, int64_t to, int64_t tag, int64_t *from) {
  struct socket_wire *me = self(wire);
  struct label label = label_of(me, -1, to, tag, 0);
  pthread_mutex_lock(&me->sockets->lock);
  struct kept *found = *kept_for(me->sockets, &label);
  int64_t bytes = found ? found->label.bytes : -1;
  if (found) *from = found->label.from;
  pthread_mutex_unlock(&me->sockets->lock);
  return bytes;
}

static void rest(struct hlo_wire *wire, int64_t turn) {
  static _Thread_local uint64_t seen;
  struct hlo_sockets *sockets = self(wire)->sockets;
  if (turn < YIELDS) {
    sched_yield();
    return;
  }
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += NAP;
  if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
  pthread_mutex_lock(&sockets->lock);
  // News since the last rest may be what this thread waits for.
  if (sockets->arrived == seen) pthread_cond_timedwait(&sockets->news, &sockets->lock, &until);
  seen = sockets->arrived;
  pthread_mutex_unlock(&sockets->lock);
}

static int64_t lost(struct hlo_wire *wire) {
  struct socket_wire *me = self(wire);
  if (wire->gone) return wire->gone - 1;
  int64_t ended = -1, dead = -1, now = milliseconds();
  pthread_mutex_lock(&me->sockets->lock);
  for (int64_t d = 0; d < wire->devices; d++) {
    struct peer *peer = &me->sockets->peers[me->homes[d]];
    if (peer->is_closed && !peer->said_bye) dead = d;
    // A run ends for all at once: who ends well in the middle of one never came to it.
    if (peer->said_bye && now - peer->said_bye > STILL_TO_COME) ended = d;
  }
  pthread_mutex_unlock(&me->sockets->lock);
  return dead < 0 ? ended : dead;
}

// Forget the messages of a wire from before an epoch; under the lock.
static void forget(struct socket_wire *me, int64_t epoch) {
  for (struct kept **place = &me->sockets->kept; *place;) {
    const struct label *label = &(*place)->label;
    if (label->channel == me->channel && label->epoch < epoch) {
      unlist(me->sockets, place);
    } else {
      place = &(*place)->next;
    }
  }
}

static int renew(struct hlo_wire *wire) {
  struct socket_wire *me = self(wire);
  pthread_mutex_lock(&me->sockets->lock);
  forget(me, ++me->epoch);
  pthread_mutex_unlock(&me->sockets->lock);
  return 1;
}

void hlo_end_socket_wire(struct hlo_wire *wire) {
  struct socket_wire *me = self(wire);
  pthread_mutex_lock(&me->sockets->lock);
  forget(me, INT64_MAX);
  pthread_mutex_unlock(&me->sockets->lock);
  free(wire->early);
  free(me);
}

struct hlo_sockets *hlo_sockets(int64_t processes, const int64_t *fds) {
  struct hlo_sockets *made = calloc(1, sizeof *made + processes * sizeof made->peers[0]);
  if (!made) return NULL;
  pthread_mutex_init(&made->lock, NULL);
  pthread_cond_init(&made->news, NULL);
  made->last_kept = &made->kept;
  made->processes = processes;
  for (int64_t p = 0; p < processes; p++) {
    struct peer *peer = &made->peers[p];
    peer->sockets = made;
    peer->fd = (int)fds[p];
    pthread_mutex_init(&peer->sending, NULL);
    pthread_t thread;
    if (peer->fd < 0) continue;
    if (pthread_create(&thread, NULL, read_on, peer)) return NULL;
    pthread_detach(thread);
  }
  return made;
}

struct hlo_wire *hlo_socket_wire(struct hlo_sockets *sockets, int64_t channel, int64_t devices,
                                 const int64_t *homes, int64_t neighbours) {
  struct socket_wire *made = calloc(1, sizeof *made + 2 * devices * sizeof made->homes[0]);
  if (!made) return NULL;
  int64_t *local = made->homes + devices, here = 0;
  for (int64_t d = 0; d < devices; d++) {
    made->homes[d] = homes[d];
    if (sockets->peers[homes[d]].fd < 0) local[here++] = d;
  }
  made->wire = (struct hlo_wire){
      .devices = devices, .here = here, .local = local, .neighbours = neighbours,
      .most_tags = MOST_TAGS, .send = start_send, .receive = start_receive, .test = test,
      .drop = drop, .probe = probe, .rest = rest, .lost = lost, .renew = renew};
  made->sockets = sockets;
  made->channel = channel;
  return &made->wire;
}

void hlo_say_bye(struct hlo_sockets *sockets) {
  struct label label = {.tag = BYE};
  for (int64_t p = 0; p < sockets->processes; p++) {
    struct peer *peer = &sockets->peers[p];
    if (peer->fd < 0) continue;
    pthread_mutex_lock(&peer->sending);
    write_all(peer->fd, &label, sizeof label, 0);
    pthread_mutex_unlock(&peer->sending);
  }
}
