// What a thread knows of its part in calls and devices, and its state of floats.
#include "thread.h"

_Thread_local struct hlo_part_of_devices hlo_own_part;
_Thread_local struct hlo_part_of_call hlo_own_call;

// Subnormal numbers lie between 0 and the least normal number. Many processors take a hundred
// times as long for an operation on one. Like XLA's CPU code, a module then computes with zeros: its
// results are zeros, and its operands count as zeros.

#if defined(__SSE2__)
enum { FLOATS = 0x1f80, FLUSHED = 0x8040 }; // no traps, to nearest; FTZ and DAZ

static int64_t float_state(void) { return __builtin_ia32_stmxcsr(); }

static void set_float_state(int64_t state) { __builtin_ia32_ldmxcsr((unsigned)state); }
#elif defined(__aarch64__)
enum { FLOATS = 0, FLUSHED = 1 << 24 }; // FZ of FPCR

static int64_t float_state(void) {
  int64_t state;
  __asm__ volatile("mrs %0, fpcr" : "=r"(state));
  return state;
}

static void set_float_state(int64_t state) { __asm__ volatile("msr fpcr, %0" : : "r"(state)); }
#else
enum { FLOATS = 0, FLUSHED = 0 }; // not known: the processor goes on as it does

static int64_t float_state(void) { return 0; }

static void set_float_state(int64_t state) { (void)state; }
#endif

int64_t hlo_floats(void) { return float_state(); }

// To set a state takes longer than to look whether it is set.
void hlo_set_floats(int64_t state) {
  if (float_state() != state) set_float_state(state);
}

int64_t hlo_usual_floats(void) {
  int64_t before = float_state();
  hlo_set_floats(FLOATS);
  return before;
}

int64_t hlo_floats_of_modules(int64_t are_flushed) { return FLOATS | (are_flushed ? FLUSHED : 0); }
