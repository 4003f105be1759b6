// ----------------------------------------------------------------- the function for C programs

#include "${name}.h"

#include <pthread.h>
#include <stdlib.h>

${constants}// Of the runtime library.
extern int64_t hlo_slots(void);

static void begin(void) {
  static const void *const constants[] = {${loaded}};
  load_constants(constants);
}

size_t ${name}_workspace(void) {
  return ((size_t)${arena} + (size_t)hlo_slots() * ${slot} + 64) / 64 * 64;
}

int ${name}(${parameters}) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  const void *in[] = {${inputs}};
  void *out[] = {${outputs}};
  void *own = workspace ? 0 : aligned_alloc(64, ${name}_workspace());
  if (!workspace && !own) return 2;  // HLO_OUT_OF_MEMORY
  pthread_once(&once, begin);
  int status = run(in, out, workspace ? workspace : own);
  free(own);
  return status;
}
