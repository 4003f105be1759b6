#ifndef ${NAME}_H
#define ${NAME}_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

${documentation}
//
${several}${lapack_header}// Arrays are row-major, and as large as HLO says; none may overlap another that is written.
// `workspace` is memory of ${name}_workspace() bytes, aligned to 64; a call with a null pointer
// allocates it, and frees it again. Several threads may call the function at the same time, each
// with a workspace of its own.
//
// Returns 0; or HLO_OUT_OF_MEMORY, HLO_INTERRUPTED or HLO_FAILED (see runtime.h), and then the arrays that it
// writes hold nothing of use.
int ${name}(${parameters});

// How many bytes of workspace a call needs. It depends on the number of processors.
size_t ${name}_workspace(void);

#ifdef __cplusplus
}
#endif
#endif
