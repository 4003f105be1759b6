// What compiled modules ask of the library that they share: threads, and whether to stop.
#ifndef HLO_RUNTIME_H
#define HLO_RUNTIME_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// What a compiled module returns.
enum { HLO_OK = 0, HLO_INTERRUPTED = 1, HLO_OUT_OF_MEMORY = 2, HLO_FAILED = 3 };

// A part of a loop: the turns from `begin` to before `end`. Of the parts that run at the same time
// each has another `slot`, from 0 to before hlo_slots().
typedef void hlo_part(void *arguments, int64_t begin, int64_t end, int64_t slot);

// Run a loop of n turns, at least `grain` of them in a part, on as many threads as there are.
void hlo_parallel(hlo_part *part, void *arguments, int64_t n, int64_t grain);

// How many parts may run at once: the number of processors that this process may use, or of whose
// time it has a share, or $PYHLO_THREADS. It never changes.
int64_t hlo_slots(void);

// Use fewer threads from now on (at least 1, at most hlo_slots()); gives how many there were.
int64_t hlo_set_threads(int64_t threads);
int64_t hlo_threads(void);

// The state of a loop that asks now and then whether it has to stop; zero at the loop's beginning.
struct hlo_patience { int64_t turns, budget, asked; };

// What such a loop calls when `turns` is used up; not 0 if the program was asked to stop.
int hlo_poll(struct hlo_patience *patience);

// What hlo_poll asks, about every 20 ms; nothing at first. Gives what it was.
typedef int hlo_question(void);
hlo_question *hlo_set_question(hlo_question *question);

// The answer to a question.
int hlo_ask(hlo_question *question);

#ifdef __cplusplus
}
#endif
#endif
