// An example: it calls ${name} on small numbers, and prints the first elements of its results.
#include "${name}.h"

#include <stdio.h>
#include <stdlib.h>

int main(void) {
${arrays}
  int status = ${name}(${arguments});
  if (status) {
    fprintf(stderr, "${name}: status %d\n", status);
    return 1;
  }
${shown}  return 0;
}
