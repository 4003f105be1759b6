// How a call of a module computes: the state of floats, and on how many threads.
#define _GNU_SOURCE
#include "runtime.h"
#include "thread.h"
#include "calls.h"

#include <time.h>

// On some machines lines that another processor has written are dear, on others it is busy. Then a
// module takes longer on all threads than on one, and no loop by itself shows that: the cost falls
// on the loop that reads, and its cause is that another one was shared. So whole calls are measured.
// From time to time some of them are run the other way, and the better mean is kept. What such
// trials cost is earned before by a share of the time of other calls, and the first one is free.
// `benchmarks/choices.py` tells what each number earns.
enum {
  SETTLING = 1, // calls after a switch that are not counted: caches and threads are elsewhere
  LOOKS = 3,    // calls that are counted in a trial
  WINDOW = 12,  // calls in a mean
  HALVINGS = 4, // of the share, at most
};

static const double
    FIRST_CREDIT = 0.05, // seconds that the first trial may cost: less than a user would notice
    SHARE = 0.04,        // of the time spent, that trials may cost later; each one that changes
                         // nothing halves it
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

// What a trial would cost: a call of the other kind takes at most as many times as long as there
// are threads, as far as nothing is known of it.
static double price(const struct hlo_choice *choice, int64_t threads) {
  double now = choice->seconds[choice->is_alone], other = choice->seconds[!choice->is_alone];
  if (!choice->counted[!choice->is_alone]) return now * (double)(threads - 1) - FIRST_CREDIT;
  double more = other - now, next = more > NOTICEABLE ? more : more * (SETTLING + LOOKS);
  return more > 0 && choice->cost > next ? choice->cost : next; // means are bounded, costs are not
}

static void count(struct hlo_choice *choice, int64_t is_alone, double seconds, int64_t calls) {
  choice->counted[is_alone] += calls;
  double weight = (double)calls / WINDOW, all = (double)calls / (double)choice->counted[is_alone];
  choice->seconds[is_alone] += (weight > all ? weight : all) * (seconds - choice->seconds[is_alone]);
}

static void end_trial(struct hlo_choice *choice, double seconds, int64_t calls) {
  int other = !choice->is_alone;
  count(choice, other, seconds, calls);
  choice->credit -= choice->cost > 0 ? choice->cost : 0;
  choice->left = choice->since_switch = 0;
  int is_better = choice->seconds[other] < BETTER * choice->seconds[!other];
  if (is_better) set(&choice->is_alone, other);
  choice->halvings = is_better ? 0 : choice->halvings + (choice->halvings < HALVINGS);
}

// One thread takes at most as many times as long as all of them as there are threads. What a call
// takes more, on one or on all, the system had suspended a thread for: that spoils this call, and
// says nothing of the next one. (Unbounded, one trial of 1 ms for 20 us decided for 1,000 calls.)
static double bounded(
    const struct hlo_choice *choice, int64_t is_alone, double seconds, int64_t threads) {
  double most = choice->seconds[!is_alone] * (double)threads;
  return choice->counted[!is_alone] && seconds > most ? most : seconds;
}

// Take down a call of a trial.
static void count_trial(struct hlo_choice *choice, double seconds, int64_t threads) {
  double known = choice->seconds[choice->is_alone], taken = seconds;
  seconds = bounded(choice, !choice->is_alone, seconds, threads);
  choice->cost += (choice->is_alone ? taken : seconds) - known;
  if (seconds > WORSE * known && choice->cost > NOTICEABLE) {
    end_trial(choice, seconds, 1);
    return;
  }
  if (choice->since_switch++ < SETTLING) return;
  choice->sum += seconds;
  if (--choice->left == 0) end_trial(choice, choice->sum / LOOKS, LOOKS);
}

// Take down a call as it is usually made, and begin a trial where it is time for one.
static void count_call(struct hlo_choice *choice, double seconds, int64_t threads) {
  choice->credit += SHARE * seconds / (double)(1 << choice->halvings);
  if (choice->since_switch++ < SETTLING) return;
  count(choice, choice->is_alone, bounded(choice, choice->is_alone, seconds, threads), 1);
  if (choice->since_switch < SETTLING + LOOKS || choice->credit < price(choice, threads)) return;
  choice->left = LOOKS;
  choice->sum = choice->cost = 0;
  choice->since_switch = 0;
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
    if (caller->is_alone != choice->is_alone) {
      count_trial(choice, seconds, threads);
    } else if (threads > 1) {
      count_call(choice, seconds, threads);
    }
    __atomic_store_n(&choice->is_measured, 0, __ATOMIC_RELEASE);
  }
  own->limit = caller->limit;
  own->is_shared |= caller->was_shared;
  hlo_set_floats(caller->floats);
}
