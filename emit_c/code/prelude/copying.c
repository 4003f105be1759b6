// Copies of parts of arrays.

// Rows `start` to `start + count` become rows `target` and following; those that do not exist on
// either side are left out.
static void copy_rows(void *to, s64 to_rows, const void *from, s64 from_rows, s64 bytes, s64 start,
                      s64 count, s64 target) {
  for (s64 r = 0; r < count; r++) {
    if (start + r < 0 || start + r >= from_rows) continue;
    if (target + r < 0 || target + r >= to_rows) continue;
    __builtin_memcpy((u8 *)to + (target + r) * bytes, (const u8 *)from + (start + r) * bytes, bytes);
  }
}

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
