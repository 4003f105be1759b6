// Sorting: keys are unsigned integers, in the high bits of words whose low bits say whose keys
// they are. $T is the type of the words.

// Unsigned integers that are ordered as floats are in total order.
static inline u32 order_bits_f32(f32 x) {
  return (u32)total_order_f32(x) ^ 0x80000000u;
}

static inline u64 order_bits_f64(f64 x) {
  return (u64)total_order_f64(x) ^ 0x8000000000000000u;
}

// Sort words by so many digits of `bits` bits, from bit `low` on, the lowest first: count how many
// words have which digit, so that it is known where the first of each goes, then move all. Words
// that are equal in these bits stay in order. The result is in one of the two arrays.
static $T *radix_sort_$T($T *words, $T *spare, s64 n, int low, int digits, int bits) {
  u32 mask = (1u << bits) - 1;
  for (int shift = low; shift < low + digits * bits; shift += bits) {
    u32 places[2048] = {0};
    for (s64 i = 0; i < n; i++) places[words[i] >> shift & mask]++;
    if (places[words[0] >> shift & mask] == n) continue;
    u32 before = 0;
    for (u32 digit = 0; digit <= mask; digit++) {
      u32 count = places[digit];
      places[digit] = before;
      before += count;
    }
    for (s64 i = 0; i < n; i++) spare[places[words[i] >> shift & mask]++] = words[i];
    $T *sorted = spare;
    spare = words;
    words = sorted;
  }
  return words;
}

// The same for few words: each moves down to its place among those before it.
static $T *insertion_sort_$T($T *words, s64 n, int low) {
  for (s64 i = 1; i < n; i++) {
    $T word = words[i];
    s64 place = i;
    for (; place > 0 && words[place - 1] >> low > word >> low; place--) {
      words[place] = words[place - 1];
    }
    words[place] = word;
  }
  return words;
}

// Put the keys that are below the last of some sorted words among these, in place of the last one.
// A word is a key, and below it the key's number; so of equal keys the first ones are kept.
static void keep_least(u64 *words, s64 k, const u32 *keys, s64 n, s64 first) {
  for (s64 i = 0; i < n; i++) {
    u64 word = (u64)keys[i] << 32 | (u64)(first + i);
    if (word >= words[k - 1]) continue;
    s64 place = k - 1;
    for (; place > 0 && words[place - 1] > word; place--) words[place] = words[place - 1];
    words[place] = word;
  }
}
