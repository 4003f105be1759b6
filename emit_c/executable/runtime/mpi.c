// Messages by MPI, whichever library of it is there: its functions and constants come as a table.
//
// A handle of MPI is an int of 4 bytes or a pointer of 8, as the library has it: both are passed on
// as a number of 8 bytes. Only the thread of the one device of this process calls MPI.
#define _GNU_SOURCE
#include "mpi_table.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { YIELDS = 200, NAP = 50000, SUCCESS = 0 };

// What there is of another process while messages are forgotten.
struct end {
  struct hlo_request told, taken;  // that there are no more; and the next one that it has sent
  char *at;                        // where that one goes
  int has_told, is_last, is_over;
};

struct mpi_wire {
  struct hlo_wire wire;
  struct hlo_mpi mpi;
  uint64_t communicator;
  int64_t rank, lifelines, rounds;
  struct end *ends;
  struct pollfd lifeline[];
};

static struct mpi_wire *self(struct hlo_wire *wire) { return (struct mpi_wire *)wire; }

static int start_send(struct hlo_wire *wire, int64_t from, int64_t to, int64_t tag, const void *at,
                      int64_t bytes, struct hlo_request *request) {
  struct mpi_wire *me = self(wire);
  (void)from;
  *request = (struct hlo_request){.bytes = bytes};
  return me->mpi.isend(at, (int)bytes, me->mpi.byte, (int)to, (int)tag, me->communicator,
                       &request->handle) == SUCCESS ? 0 : -1;
}

static int start_receive(struct hlo_wire *wire, int64_t from, int64_t to, int64_t tag, void *at,
                         int64_t bytes, struct hlo_request *request) {
  struct mpi_wire *me = self(wire);
  (void)to;
  *request = (struct hlo_request){.bytes = bytes, .is_receive = 1};
  return me->mpi.irecv(at, (int)bytes, me->mpi.byte, (int)from, (int)tag, me->communicator,
                       &request->handle) == SUCCESS ? 0 : -1;
}

static int test(struct hlo_wire *wire, struct hlo_request *request) {
  struct mpi_wire *me = self(wire);
  int is_done = 0;
  // A request that was never started, or is done, has no handle.
  if (!request->handle || request->is_done) return 1;
  if (me->mpi.test(&request->handle, &is_done, me->mpi.status_ignore) != SUCCESS) return -1;
  return request->is_done = is_done != 0;
}

static int drop(struct hlo_wire *wire, struct hlo_request *request) {
  struct mpi_wire *me = self(wire);
  if (test(wire, request) == 1) return 1;
  if (!request->is_receive || wire->gone) return 0;
  if (me->mpi.cancel(&request->handle) != SUCCESS) return 0;
  // A message that has begun to come is waited for, unless its process ends.
  for (int64_t turn = 0;; turn++) {
    int done = test(wire, request);
    if (done) return done > 0;
    if (wire->lost(wire) >= 0) return 0;
    wire->rest(wire, turn);
  }
}

static int64_t probe(struct hlo_wire *wire, int64_t to, int64_t tag, int64_t *from) {
  struct mpi_wire *me = self(wire);
  int is_there = 0, bytes = 0, status[16];
  (void)to;
  int from_anybody = (int)me->mpi.any_source;
  if (me->mpi.iprobe(from_anybody, (int)tag, me->communicator, &is_there, status)) return -1;
  if (!is_there || me->mpi.get_count(status, me->mpi.byte, &bytes) != SUCCESS) return -1;
  *from = status[me->mpi.source_in_status];
  return bytes;
}

static void rest(struct hlo_wire *wire, int64_t turn) {
  (void)wire;
  if (turn < YIELDS) {
    sched_yield();
  } else {
    struct timespec nap = {0, NAP};
    nanosleep(&nap, NULL);
  }
}

// Each process holds a connection to each other one. It ends with the process, whatever the reason;
// all that is ever sent on it is how many runs the process had when it ended.
static int64_t lost(struct hlo_wire *wire) {
  struct mpi_wire *me = self(wire);
  if (wire->gone) return wire->gone - 1;
  if (poll(me->lifeline, me->lifelines, 0) <= 0) return -1;
  int64_t ended = -1;
  for (int64_t d = 0; d < me->lifelines; d++) {
    int64_t runs = -1;
    if (!me->lifeline[d].revents) continue;
    ssize_t read = recv(me->lifeline[d].fd, &runs, sizeof runs, MSG_DONTWAIT | MSG_PEEK);
    if (read < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (read < (ssize_t)sizeof runs) return d;
    // Who has ended after this run has sent all that the others need. While messages are forgotten,
    // there are no runs: who has had one since does not know that it failed.
    if (wire->run ? runs < wire->run : runs != 0) ended = d;
  }
  return ended;
}

// Throw away what a process has sent, up to its last message: 1 once that is there. What one
// process sends another comes in order, whatever its tags.
static int throw_away(struct mpi_wire *me, int64_t from, struct end *end) {
  while (!end->is_over) {
    if (!end->at) {
      int is_there = 0, bytes = 0, status[16];
      int any = (int)me->mpi.any_tag;
      if (me->mpi.iprobe((int)from, any, me->communicator, &is_there, status)) return -1;
      if (!is_there) return 0;
      if (me->mpi.get_count(status, me->mpi.byte, &bytes) != SUCCESS) return -1;
      int tag = status[me->mpi.source_in_status + 1];
      end->is_last = tag == HLO_WIRE_TAG;
      if (!(end->at = malloc(bytes + 1))) return -1;
      if (start_receive(&me->wire, from, me->rank, tag, end->at, bytes, &end->taken)) return -1;
    }
    int done = test(&me->wire, &end->taken);
    if (done <= 0) return done;
    free(end->at);
    end->at = NULL;
    end->is_over = end->is_last;
  }
  return 1;
}

// In two rounds: after the first, this process has thrown away what it was sent; after the second,
// so have all others, and what it sent them is done with.
static int renew(struct hlo_wire *wire) {
  struct mpi_wire *me = self(wire);
  int is_done = 1;
  for (int64_t d = 0; d < wire->devices; d++) {
    struct end *end = &me->ends[d];
    if (d == me->rank) continue;
    if (!end->has_told && start_send(wire, me->rank, d, HLO_WIRE_TAG, "", 0, &end->told)) return -1;
    end->has_told = 1;
    int over = throw_away(me, d, end), sent = test(wire, &end->told);
    if (over < 0 || sent < 0) return -1;
    is_done &= over && sent;
  }
  if (!is_done) return 0;
  memset(me->ends, 0, wire->devices * sizeof *me->ends);
  return ++me->rounds % 2 == 0;
}

struct hlo_wire *hlo_mpi_wire(const struct hlo_mpi *mpi, uint64_t communicator, int64_t rank,
                              int64_t size, int64_t neighbours, int64_t most_tags,
                              const int64_t *lifelines) {
  struct mpi_wire *made = calloc(1, sizeof *made + size * sizeof made->lifeline[0]);
  struct end *ends = calloc(size, sizeof *ends);
  if (!made || !ends) return NULL;
  made->wire = (struct hlo_wire){
      .devices = size, .here = 1, .local = &made->rank, .neighbours = neighbours, .most_tags = most_tags,
      .send = start_send, .receive = start_receive, .test = test, .drop = drop, .probe = probe,
      .rest = rest, .lost = lost, .renew = renew};
  made->mpi = *mpi;
  made->rank = rank;
  made->communicator = communicator;
  made->lifelines = size;
  made->ends = ends;
  for (int64_t d = 0; d < size; d++) {
    made->lifeline[d] = (struct pollfd){.fd = (int)lifelines[d], .events = POLLIN};
  }
  return &made->wire;
}
