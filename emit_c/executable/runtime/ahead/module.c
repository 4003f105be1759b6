// A program may have several such files, so names that others see get that of the function.
#define call hlo_call_of_${name}
#define choice hlo_choice_of_${name}
#define load_constants hlo_load_constants_of_${name}
#define load_functions hlo_load_functions_of_${name}
#define random_part hlo_random_part_of_${name}

${source}
// ----------------------------------------------------------------- the function for C programs
#undef call
#undef choice
#undef load_constants
#undef load_functions
#undef random_part

#include "${name}.h"

#include <pthread.h>
#include <stdlib.h>

${plan}${functions}${constants}// Of the runtime library.
extern int64_t hlo_slots(void);

static void begin(void) {
  static const void *const constants[] = {${loaded}};
  hlo_load_constants_of_${name}(constants);
${load_functions}}

// Of one device.
static size_t one_workspace(void) {
  return ((size_t)${arena} + (size_t)hlo_slots() * ${slot} + 64) / 64 * 64;
}

size_t ${name}_workspace(void) { return ${devices} * one_workspace(); }

int ${name}(${parameters}) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  void *own = workspace ? 0 : aligned_alloc(64, ${name}_workspace());
  void *const memory = workspace ? workspace : own;
  if (!memory) return 2;  // HLO_OUT_OF_MEMORY
${lists}  pthread_once(&once, begin);
  int status = ${call};
  free(own);
  return status;
}
