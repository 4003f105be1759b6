// Large pages for fresh memory, where the system has such.
#ifndef HLO_PAGES_H
#define HLO_PAGES_H
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

// Ask for them, as NumPy does for its arrays. The system clears a page when it is first touched: one
// of 2 MiB at once, where 512 small ones take longer than most programs that write them. Memory of two
// large pages has a whole one in it wherever it begins.
static inline void hlo_ask_for_large_pages(void *data, size_t bytes) {
#ifdef MADV_HUGEPAGE
  const uintptr_t page = 4096, large = 2 << 20;
  uintptr_t gap = -(uintptr_t)data & (page - 1);
  if (bytes >= 2 * large) madvise((char *)data + gap, bytes - gap, MADV_HUGEPAGE);
#else
  (void)data, (void)bytes;
#endif
}
#endif
