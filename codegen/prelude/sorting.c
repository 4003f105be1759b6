// Sorting: keys are unsigned integers, in the high bits of words whose low bits say whose keys
// they are. $T is the type of the words.

// Unsigned integers that are ordered as floats are in total order.
static inline u32 order_bits_f32(f32 x) {
  return (u32)total_order_f32(x) ^ 0x80000000u;
}

static inline u64 order_bits_f64(f64 x) {
  return (u64)total_order_f64(x) ^ 0x8000000000000000u;
}

// Move words to where a digit of theirs puts them, of `bits` bits from bit `low` on: count how many
// words have which digit, so that it is known where the first of each goes, then move all. Words of
// equal digits stay in order. If all have the same digit, nothing is moved, and this gives 0.
static inline int sort_by_digit_$T(const $T *words, $T *sorted, s64 n, int low, int bits) {
  u32 mask = (1u << bits) - 1, places[2048];
  for (u32 digit = 0; digit <= mask; digit++) places[digit] = 0;
  for (s64 i = 0; i < n; i++) places[words[i] >> low & mask]++;
  if (places[words[0] >> low & mask] == n) return 0;
  u32 before = 0;
  for (u32 digit = 0; digit <= mask; digit++) {
    u32 count = places[digit];
    places[digit] = before;
    before += count;
  }
  for (s64 i = 0; i < n; i++) sorted[places[words[i] >> low & mask]++] = words[i];
  return 1;
}

// Sort words by so many digits of `bits` bits, from bit `low` on, the lowest first. The result is in
// one of the two arrays.
static $T *radix_sort_$T($T *words, $T *spare, s64 n, int low, int digits, int bits) {
  for (int shift = low; shift < low + digits * bits; shift += bits) {
    if (!sort_by_digit_$T(words, spare, n, shift, bits)) continue;
    $T *sorted = spare;
    spare = words;
    words = sorted;
  }
  return words;
}

// The sort that modules call: compiled once, and shared by them.
static $T *hlo_radix_sort_$T($T *words, $T *spare, s64 n, int low, int digits, int bits) {
  return radix_sort_$T(words, spare, n, low, digits, bits);
}

// Sort few words by their bits from bit `low` on: each moves down to its place among those before.
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

// The next of the keys whose counts begin at counts[1]; counts[0] is the first that may be left.
static inline u32 next_counted(u32 *counts) {
  while (counts[1 + counts[0]] == 0) counts[0]++;
  counts[1 + counts[0]]--;
  return counts[0];
}

// A long row on its way into buckets, one for each value of its words' first digit, which has at most
// 11 bits from bit `shift` on. There are so many `places` for each chunk of the row: how many words of
// the chunk have which digit, and then where the next one of them goes. `first` says where each
// bucket begins, and the last one ends.
struct buckets_$T {
  $T *words, *spare;
  u32 *places, *first;
  s64 n, chunk;
  int low, shift;
  u32 mask;
};

static void count_digits_$T(void *arguments, s64 begin, s64 end, s64 slot) {
  (void)slot;
  const struct buckets_$T *given = arguments;
  for (s64 c = begin; c < end; c++) {
    u32 *places = given->places + c * 2048;
    for (u32 digit = 0; digit <= given->mask; digit++) places[digit] = 0;
    s64 last = (c + 1) * given->chunk < given->n ? (c + 1) * given->chunk : given->n;
    for (s64 i = c * given->chunk; i < last; i++) {
      places[given->words[i] >> given->shift & given->mask]++;
    }
  }
}

static void fill_buckets_$T(void *arguments, s64 begin, s64 end, s64 slot) {
  (void)slot;
  const struct buckets_$T *given = arguments;
  for (s64 c = begin; c < end; c++) {
    u32 *places = given->places + c * 2048;
    s64 last = (c + 1) * given->chunk < given->n ? (c + 1) * given->chunk : given->n;
    for (s64 i = c * given->chunk; i < last; i++) {
      $T word = given->words[i];
      given->spare[places[word >> given->shift & given->mask]++] = word;
    }
  }
}

// Sort the words of a bucket by the bits that it leaves, from `spare` to `words`.
static void sort_bucket_$T($T *words, $T *spare, s64 n, int low, int bits) {
  int digits = bits <= 8 ? 1 : 3;
  if (n > 40 && bits > 0) {
    $T *sorted = radix_sort_$T(spare, words, n, low, digits, (bits + digits - 1) / digits);
    if (sorted != words) __builtin_memcpy(words, sorted, n * sizeof($T));
  } else {
    __builtin_memcpy(words, spare, n * sizeof($T));
    insertion_sort_$T(words, n, low);
  }
}

// Sort the buckets that begin in a part of the row.
static void sort_buckets_$T(void *arguments, s64 begin, s64 end, s64 slot) {
  (void)slot;
  const struct buckets_$T *given = arguments;
  u32 bucket = 0, behind = given->mask + 1;
  while (bucket < behind) {
    u32 middle = (bucket + behind) / 2;
    if (given->first[middle] < begin) bucket = middle + 1;
    else behind = middle;
  }
  for (; bucket <= given->mask && given->first[bucket] < end; bucket++) {
    s64 first = given->first[bucket], n = given->first[bucket + 1] - first;
    sort_bucket_$T(given->words + first, given->spare + first, n, given->low,
                   given->shift - given->low);
  }
}

// Sort a long row by the bits from `low` on, on several threads: by the highest digit first, from the
// first bit on in which any two words differ, then each bucket by itself, in the cache. The row has so
// many chunks, and `places` room for two more. The result is in `words`.
static void hlo_bucket_sort_$T($T *words, $T *spare, u32 *places, s64 n, s64 chunks, int low) {
  $T all = words[0], any = words[0];
  #pragma omp simd reduction(& : all) reduction(| : any)
  for (s64 i = 0; i < n; i++) {
    all &= words[i];
    any |= words[i];
  }
  u64 unequal = (u64)((all ^ any) >> low);
  if (unequal == 0) return;
  int bits = 64 - __builtin_clzll(unequal), width = bits < 11 ? bits : 11;
  u32 *first = places + chunks * 2048;
  struct buckets_$T given = {
    words, spare, places, first, n, (n + chunks - 1) / chunks, low, low + bits - width,
    (1u << width) - 1};
  hlo_parallel(count_digits_$T, &given, chunks, 1);
  u32 before = 0;
  for (u32 digit = 0; digit <= given.mask; digit++) {
    first[digit] = before;
    for (s64 c = 0; c < chunks; c++) {
      u32 count = places[c * 2048 + digit];
      places[c * 2048 + digit] = before;
      before += count;
    }
  }
  first[given.mask + 1] = before;
  hlo_parallel(fill_buckets_$T, &given, chunks, 1);
  hlo_parallel(sort_buckets_$T, &given, n, 16384);
}

// The end of a part of sorted keys: of at most so many of them, none of which is in another part, or
// else of equal ones.
static s64 end_of_part(const u32 *sorted, s64 begin, s64 n, s64 most) {
  if (n - begin <= most) return n;
  s64 end = begin + most;
  while (end > begin && sorted[end - 1] == sorted[end]) end--;
  if (end == begin) {
    while (end < n && sorted[end] == sorted[begin]) end++;
  }
  return end;
}

// Put the keys that are below the last of some sorted words among these, in place of the last one.
// A word is a key, and below it the key's number; so of equal keys the first ones are kept.
static void hlo_insert_least(u64 *words, s64 k, const u32 *keys, s64 n, s64 first) {
  for (s64 i = 0; i < n; i++) {
    u64 word = (u64)keys[i] << 32 | (u64)(first + i);
    if (word >= words[k - 1]) continue;
    s64 place = k - 1;
    for (; place > 0 && words[place - 1] > word; place--) words[place] = words[place - 1];
    words[place] = word;
  }
}

// Move the k least of n different words to the front, in any order: a word out of the middle parts
// those that are less from the others, and then the side on which the front ends is parted again.
static void select_least(u64 *words, s64 n, s64 k) {
  s64 begin = 0, last = n - 1;
  while (begin < last) {
    s64 middle = begin + (last - begin) / 2, below = begin;
    u64 pivot = words[middle];
    words[middle] = words[last];
    for (s64 i = begin; i < last; i++) {
      u64 word = words[i];
      words[i] = words[below];
      words[below] = word;
      below += word < pivot;
    }
    words[last] = words[below];
    words[below] = pivot;
    if (below < k) begin = below + 1;
    if (below >= k - 1) last = below - 1;
  }
}

// For larger k, keep the words that may be among the k least. words[0] is a bound, which these are
// below or at; words[1] counts the words that follow: up to 4 k, and those of a block.
static void hlo_keep_least(u64 *words, s64 k, const u32 *keys, s64 n, s64 first) {
  u64 bound = words[0], *kept = words + 2;
  s64 count = words[1];
  for (s64 i = 0; i < n; i++) {
    kept[count] = (u64)keys[i] << 32 | (u64)(first + i);
    count += kept[count] < bound;
  }
  if (count > 4 * k) {
    select_least(kept, count, k);
    count = k;
    bound = 0;
    for (s64 i = 0; i < k; i++) bound = kept[i] > bound ? kept[i] : bound;
    words[0] = bound;
  }
  words[1] = count;
}

// Sort the k least of the words that were kept to the front: as many go before each as are less.
static void hlo_sort_least(u64 *words, s64 k) {
  u64 *kept = words + 2, *sorted = kept + k;
  select_least(kept, words[1], k);
  for (s64 i = 0; i < k; i++) {
    u64 word = kept[i], place = 0;
    #pragma omp simd reduction(+ : place)
    for (s64 j = 0; j < k; j++) place += kept[j] < word;
    sorted[place] = word;
  }
  __builtin_memmove(words, sorted, k * sizeof *words);
}
