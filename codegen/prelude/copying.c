// Copies of parts of arrays.

// Rows `start` to `start + count` become rows `target` and following; those that do not exist on
// either side are left out.
static void copy_rows(void *to, s64 to_rows, const void *from, s64 from_rows, s64 bytes, s64 start,
                      s64 count, s64 target) {
  if (count <= 0 || start >= from_rows || target >= to_rows) return;
  // In u64, whose sums wrap around as those of wild numbers must.
  u64 first = 0, end = (u64)count;
  if (start < 0) first = -(u64)start;
  if (target < 0 && -(u64)target > first) first = -(u64)target;
  if ((u64)from_rows - (u64)start < end) end = (u64)from_rows - (u64)start;
  if ((u64)to_rows - (u64)target < end) end = (u64)to_rows - (u64)target;
  for (u64 r = first; r < end; r++) {
    u64 source = ((u64)start + r) * (u64)bytes, place = ((u64)target + r) * (u64)bytes;
    __builtin_memcpy((u8 *)to + place, (const u8 *)from + source, bytes);
  }
}
