// What modules ask of the runtime library: see emit_c/executable/runtime/runtime.h.

// The state of a loop that asks now and then whether it has to stop.
struct hlo_patience { s64 turns, budget, asked; };

// What such a loop calls when `turns` is used up.
extern int hlo_poll(struct hlo_patience *patience);

// Not 0 if a loop has to end, because the program was interrupted.
static inline int asked_to_stop(struct hlo_patience *patience) {
  return --patience->turns < 0 ? hlo_poll(patience) : 0;
}

// Run a loop of n turns on several threads, at least `grain` turns in a part.
extern void hlo_parallel(void (*part)(void *arguments, s64 begin, s64 end, s64 slot),
                         void *arguments, s64 n, s64 grain);
