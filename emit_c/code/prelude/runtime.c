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

// How many threads the calls of a module take; zeros at first.
struct hlo_choice {
  s64 threads, is_alone, is_shared, is_measured, since_switch, left, halvings, counted[2];
  f64 seconds[2], sum, cost, credit;
};

// The state of the thread that calls a module, which it has again afterwards.
struct hlo_caller {
  struct hlo_choice *choice;
  s64 floats, limit, is_alone, began, was_shared;
};

// Begin a call of a module: set how floats are computed, and how many threads may help.
extern struct hlo_caller hlo_begin_call(struct hlo_choice *choice, s64 are_flushed);

// End it: the caller's own state comes back.
extern void hlo_end_call(const struct hlo_caller *caller);
