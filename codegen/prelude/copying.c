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
