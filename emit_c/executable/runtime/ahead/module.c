// ----------------------------------------------------------------- the function for C programs

#include "${name}.h"

#include <pthread.h>
#include <stdlib.h>

${plan}${constants}// Of the runtime library.
extern int64_t hlo_slots(void);

static void begin(void) {
  static const void *const constants[] = {${loaded}};
  load_constants(constants);
}

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
