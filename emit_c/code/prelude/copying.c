// Copies by several threads.

// Copy an array of many bytes: several threads read and write more of them at once than one.
struct copies {
  u8 *to;
  const u8 *from;
};

static void copy_part(void *arguments, s64 begin, s64 end, s64 slot) {
  (void)slot;
  const struct copies *given = arguments;
  __builtin_memcpy(given->to + begin, given->from + begin, end - begin);
}

static inline void copy_many(void *to, const void *from, s64 bytes) {
  struct copies given = {to, from};
  hlo_parallel(copy_part, &given, bytes, 1 << 18);
}
