// How a call of a module computes: the state of floats, and on how many threads.
#define _GNU_SOURCE
#include "runtime.h"
#include "thread.h"
#include "calls.h"

#include <time.h>

// On some machines lines that another processor has written are dear, on others it is busy. Then a
// module takes longer on all threads than on one, and no loop by itself shows that: the cost falls
// on the loop that reads, and its cause is that another one was shared. So whole calls are measured.
// From time to time some of them are run the other way, and the better mean is kept.
enum {
  SETTLING = 1, // calls after a switch that are not counted: caches and threads are elsewhere
  LOOKS = 3,    // calls that are counted in a trial
  LONGEST_WAIT = 1024, // calls between two trials, at most
};

static const double
    FIRST_CREDIT = 0.05, // seconds that trials may cost at first: less than a user would notice
    MOST_CREDIT = 1,
    SHARE = 0.02,        // of the time spent, that trials may cost later
    BETTER = 0.97,       // of the other time, from which on a switch is worth it
    WORSE = 1.5,         // of the known time, at which a trial ends at once,
    NOTICEABLE = 1e-3;   // if it has cost so many seconds

static int64_t nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t get(const int64_t *number) { return __atomic_load_n(number, __ATOMIC_RELAXED); }

static void set(int64_t *number, int64_t value) {
  __atomic_store_n(number, value, __ATOMIC_RELAXED);
}

// What a trial would cost: calls of the other kind take at most as many times as long as there are
// threads.
static double price(const struct hlo_choice *choice, int64_t threads) {
  double now = choice->seconds[choice->is_alone], other = choice->seconds[!choice->is_alone];
  if (!choice->counted[!choice->is_alone]) return now * (double)(threads - 1);
  double more = (other - now) * (SETTLING + LOOKS);
  return more > 0 ? more : 0;
}

static void end_trial(struct hlo_choice *choice, double seconds) {
  int other = !choice->is_alone;
  choice->seconds[other] = choice->counted[other] ? (choice->seconds[other] + seconds) / 2 : seconds;
  choice->counted[other]++;
  choice->credit -= choice->cost > 0 ? choice->cost : 0;
  choice->left = choice->since_switch = choice->since_trial = 0;
  choice->wait = 2 * choice->wait < LONGEST_WAIT ? 2 * choice->wait : LONGEST_WAIT;
  if (choice->seconds[other] < BETTER * choice->seconds[!other]) {
    set(&choice->is_alone, other);
    choice->wait = SETTLING + LOOKS;
  }
}

// Take down a call of a trial.
static void count_trial(struct hlo_choice *choice, double seconds) {
  double known = choice->seconds[choice->is_alone];
  choice->cost += seconds - known;
  if (seconds > WORSE * known && choice->cost > NOTICEABLE) {
    end_trial(choice, seconds);
    return;
  }
  if (choice->since_switch++ < SETTLING) return;
  choice->sum += seconds;
  if (--choice->left == 0) end_trial(choice, choice->sum / LOOKS);
}

// Take down a call as it is usually made, and begin a trial where it is time for one.
static void count_call(struct hlo_choice *choice, double seconds, int64_t threads) {
  int64_t now = choice->is_alone;
  double share = choice->credit + SHARE * seconds;
  choice->credit = share < MOST_CREDIT ? share : MOST_CREDIT;
  choice->since_trial++;
  if (choice->since_switch++ < SETTLING) return;
  int64_t counted = ++choice->counted[now], most = 4 * LOOKS;
  double weight = 1.0 / (double)(counted < most ? counted : most);
  choice->seconds[now] += weight * (seconds - choice->seconds[now]);
  if (choice->since_trial < choice->wait || choice->credit < price(choice, threads)) return;
  choice->left = LOOKS;
  choice->sum = choice->cost = 0;
  choice->since_switch = 0;
}

static void begin_choice(struct hlo_choice *choice) {
  choice->credit = FIRST_CREDIT;
  choice->wait = SETTLING + LOOKS;
}

struct hlo_caller hlo_begin_call(struct hlo_choice *choice, int64_t are_flushed) {
  struct hlo_part_of_call *own = &hlo_own_call;
  struct hlo_caller caller = {choice, hlo_floats(), own->limit, 0, 0, own->is_shared};
  hlo_set_floats(hlo_floats_of_modules(are_flushed));
  own->is_shared = 0;
  // A call inside of another one takes part in its trial; devices have their shares of threads.
  if (own->limit || hlo_own_part.threads) return caller;
  own->limit = get(&choice->threads);
  if (own->limit || !get(&choice->is_shared)) return caller;
  caller.is_alone = get(&choice->is_alone);
  if (!__atomic_exchange_n(&choice->is_measured, 1, __ATOMIC_ACQUIRE)) {
    if (choice->left) caller.is_alone = !caller.is_alone;
    caller.began = nanoseconds();
  }
  own->limit = caller.is_alone;
  return caller;
}

void hlo_end_call(const struct hlo_caller *caller) {
  struct hlo_part_of_call *own = &hlo_own_call;
  struct hlo_choice *choice = caller->choice;
  if (own->is_shared && !get(&choice->is_shared)) set(&choice->is_shared, 1);
  if (caller->began) {
    double seconds = 1e-9 * (double)(nanoseconds() - caller->began);
    int64_t threads = hlo_threads();
    if (!choice->wait) begin_choice(choice);
    if (caller->is_alone != choice->is_alone) {
      count_trial(choice, seconds);
    } else if (threads > 1) {
      count_call(choice, seconds, threads);
    }
    __atomic_store_n(&choice->is_measured, 0, __ATOMIC_RELEASE);
  }
  own->limit = caller->limit;
  own->is_shared |= caller->was_shared;
  hlo_set_floats(caller->floats);
}
