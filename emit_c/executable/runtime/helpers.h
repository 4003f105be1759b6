// The threads that help others with their loops.
#ifndef HLO_HELPERS_H
#define HLO_HELPERS_H
#include "shares.h"

// Run a loop, with others who take part in it; `wanted` threads with the one that asks.
void hlo_run_with_helpers(struct hlo_loop *loop, int64_t wanted);

#endif
