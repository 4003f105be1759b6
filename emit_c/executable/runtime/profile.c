// When kernels ran: what a module that was emitted for a profile calls around each of them.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct hlo_event { int64_t site, begin, end, thread; };  // times in ns

enum { MOST_EVENTS = 1 << 20 };  // what comes later is only counted

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct hlo_event *events;
static int64_t count, room, threads;
static _Thread_local int64_t thread;

int64_t hlo_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// Remember that a kernel ran from `begin` until now.
void hlo_record(int64_t site, int64_t begin) {
  int64_t end = hlo_clock();
  pthread_mutex_lock(&lock);
  if (!thread) thread = ++threads;
  if (count == room && room < MOST_EVENTS) {
    int64_t more = room ? 2 * room : 1024;
    struct hlo_event *grown = realloc(events, more * sizeof *events);
    if (grown) {
      events = grown;
      room = more;
    }
  }
  if (count < room) events[count] = (struct hlo_event){site, begin, end, thread};
  count++;
  pthread_mutex_unlock(&lock);
}

// Copy at most so many events, and forget all; gives how many there were.
int64_t hlo_take_events(struct hlo_event *to, int64_t most) {
  pthread_mutex_lock(&lock);
  int64_t there = count, kept = there < room ? there : room;
  if (kept > most) kept = most;
  if (kept) memcpy(to, events, kept * sizeof *to);
  count = 0;
  pthread_mutex_unlock(&lock);
  return there;
}
