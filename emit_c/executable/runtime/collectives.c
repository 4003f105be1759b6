// Collectives: what each device makes of the arrays that its group brought to a meeting.
//
// Each member of a group reads the others' arrays where they are, and writes results: there are no
// copies but these. To reduce a large array, each member combines one piece of it, and gives it to
// all. What one device reads or makes for all, it writes to the results of all while it is in its
// cache.
#include "transport.h"

#include <stdlib.h>
#include <string.h>

_Thread_local struct hlo_device *hlo_here;

enum {
  SMALL = 1 << 13,       // bytes that are copied, and combined by every member alone
  COMBINED = 1 << 15,    // bytes that are combined at a time: they stay in a cache
  LINE = 64,
};

int64_t hlo_device_number(int64_t of_partitions) {
  if (!hlo_here) return 0;
  int64_t partitions = hlo_here->plan[HLO_PLAN_PARTITIONS];
  return of_partitions ? hlo_here->number % partitions : hlo_here->number / partitions;
}

static int64_t bytes_of(const struct hlo_operation *o, int64_t array) {
  return o->sizes[3 * array] * o->sizes[3 * array + 1];
}

struct hlo_piece hlo_piece_of(const struct hlo_operation *o, int64_t array, int64_t position) {
  int64_t bytes = o->sizes[3 * array + 1], item = o->sizes[3 * array + 2], count = o->place->count;
  int64_t step = bytes;
  if (o->kind == HLO_REDUCE_SCATTER || o->kind == HLO_ALL_TO_ALL) {
    step = bytes / count;
  } else if (o->kind == HLO_ALL_REDUCE && !o->is_small) {
    int64_t line = item % LINE ? LINE * item : item;
    step = ((bytes + count - 1) / count + line - 1) / line * line;
  } else {
    return (struct hlo_piece){0, bytes};
  }
  int64_t begin = position * step < bytes ? position * step : bytes;
  return (struct hlo_piece){begin, bytes - begin < step ? bytes - begin : step};
}

// The first byte that this device reads of a member's array.
static const char *seen(const struct hlo_operation *o, int64_t member, int64_t array) {
  const char *given = o->meeting->seats[member].given[array];
  if (o->meeting->is_cut) return given;
  return given + hlo_piece_of(o, array, o->place->position).begin;
}

// How far apart the blocks lie in what is seen.
static int64_t apart(const struct hlo_operation *o, int64_t array) {
  if (!o->meeting->is_cut) return o->sizes[3 * array + 1];
  return hlo_piece_of(o, array, o->place->position).bytes;
}

static void copy_blocks(char *to, int64_t to_step, const char *from, int64_t from_step,
                        int64_t bytes, int64_t blocks) {
  if (bytes == to_step && bytes == from_step) {
    bytes *= blocks;
    blocks = 1;
  }
  if (to == from) return;  // a transport has put it there
  for (int64_t b = 0; bytes && b < blocks; b++) memcpy(to + b * to_step, from + b * from_step, bytes);
}

// Whether this device can write to the results of the others.
static int can_give(const struct hlo_operation *o) { return o->meeting->seats[0].made != NULL; }

// Write bytes that this device has to the same place in the results of the others.
static void give(const struct hlo_operation *o, int64_t array, const char *from, int64_t offset,
                 int64_t bytes) {
  for (int64_t n = 1; n < o->place->count; n++) {
    int64_t m = (o->place->position + n) % o->place->count;
    memcpy((char *)o->meeting->seats[m].made[array] + offset, from, bytes);
  }
}

// Combine the members' bytes from an offset on, in the order of the group; and give the others what
// comes out, if they can be given it, at another offset of theirs.
static void combine(const struct hlo_operation *o, int64_t array, char *to, int64_t offset,
                    int64_t bytes, int64_t given) {
  hlo_fold *fold = (hlo_fold *)o->folds[array];
  int64_t item = o->sizes[3 * array + 2], count = o->place->count, most = COMBINED / item * item;
  if (count == 1 && bytes) memcpy(to, seen(o, 0, array) + offset, bytes);
  for (int64_t done = 0; count > 1 && done < bytes; done += most) {
    int64_t now = bytes - done < most ? bytes - done : most;
    const char *first = seen(o, 0, array) + offset + done;
    fold(to + done, first, seen(o, 1, array) + offset + done, now / item);
    for (int64_t m = 2; m < count; m++) {
      fold(to + done, to + done, seen(o, m, array) + offset + done, now / item);
    }
    if (given >= 0 && can_give(o)) give(o, array, to + done, given + done, now);
  }
}

// Write the blocks of this device to everybody's results, each to its place among the others'.
static void give_blocks(const struct hlo_operation *o, int64_t array) {
  int64_t blocks = o->sizes[3 * array], bytes = o->sizes[3 * array + 1];
  const char *from = o->given[array];
  for (int64_t b = 0; b < blocks; b++) {
    int64_t to = (b * o->place->count + o->place->position) * bytes;
    for (int64_t done = 0; done < bytes; done += COMBINED) {
      int64_t now = bytes - done < COMBINED ? bytes - done : COMBINED;
      const char *part = from + b * bytes + done;
      memcpy((char *)o->made[array] + to + done, part, now);
      give(o, array, part, to + done, now);
    }
  }
}

static int64_t number_at(const void *numbers, int64_t bytes, int64_t index) {
  if (bytes == 8) return ((const int64_t *)numbers)[index];
  return ((const int32_t *)numbers)[index];
}

// Rows that members send, to where they say. Numbers: rows of the input, of the output, bytes of a
// row, slices, bytes of the numbers in each of the three vectors.
static int take_rows(struct hlo_device *me, const struct hlo_operation *o) {
  const int64_t *n = o->numbers;
  int64_t each = n[3] / o->place->count;
  for (int64_t m = 0; m < o->place->count; m++) {
    const void *const *given = o->meeting->seats[m].given;
    for (int64_t k = 0; k < each; k++) {
      int64_t index = o->place->position * each + k;
      int64_t start = number_at(given[1], n[4], index), size = number_at(given[2], n[5], index);
      int64_t target = number_at(given[3], n[6], index);
      int inside = 0 <= start && start <= n[0] - size && 0 <= target && target <= n[1] - size;
      if (size < 0 || (size && !inside)) {
        const int64_t where[] = {size, start, target};
        return me->transport->fail(me, HLO_OUT_OF_PLACE, o->site, where);
      }
      if (size > 0 && n[2] > 0) {
        memcpy((char *)o->made[0] + target * n[2], (const char *)given[0] + start * n[2], size * n[2]);
      }
    }
  }
  return 0;
}

// Copy a box of an array into another one, by dimensions from `d` on.
static void copy_box(char *to, const int64_t *to_dims, const char *from, const int64_t *from_dims,
                     const int64_t *size, int64_t rank, int64_t item) {
  if (rank == 0) {
    memcpy(to, from, item);
    return;
  }
  int64_t to_step = item, from_step = item;
  for (int64_t d = 1; d < rank; d++) to_step *= to_dims[d], from_step *= from_dims[d];
  if (rank == 1) {
    memcpy(to, from, size[0] * item);
    return;
  }
  for (int64_t i = 0; i < size[0]; i++) {
    copy_box(to + i * to_step, to_dims + 1, from + i * from_step, from_dims + 1, size + 1, rank - 1,
             item);
  }
}

static int64_t offset_in(const int64_t *dims, const int64_t *start, int64_t rank, int64_t item) {
  int64_t offset = 0;
  for (int64_t d = 0; d < rank; d++) offset = offset * dims[d] + start[d];
  return offset * item;
}

// The slice number `which` of each of a source's arrays, to where the source says. Numbers: for each
// array bytes of an element, rank, slices, dimensions of the input and of the output, and the size
// of each slice. The last array that is brought has where slices are: for each array, each slice's
// start in the input, then each slice's start in the output.
static int take_slices(struct hlo_device *me, const struct hlo_operation *o, int64_t source,
                       int64_t which) {
  const void *const *given = o->meeting->seats[source].given;
  const int64_t *n = o->numbers, *starts = given[o->count - 1];
  for (int64_t k = 0; k < o->count - 1; k++) {
    int64_t item = n[0], rank = n[1], slices = n[2];
    const int64_t *from_dims = n + 3, *to_dims = from_dims + rank, *sizes = to_dims + rank;
    for (int64_t s = 0; s < slices; s++) {
      const int64_t *from = starts + s * rank, *to = starts + (slices + s) * rank;
      if (s != which && slices != 1) continue;
      const int64_t *size = sizes + s * rank;
      for (int64_t end = 0; end < 2; end++) {
        const int64_t *start = end ? to : from, *dims = end ? to_dims : from_dims;
        for (int64_t d = 0; d < rank; d++) {
          if (0 <= start[d] && start[d] <= dims[d] - size[d]) continue;
          const int64_t where[] = {size[d], start[d], dims[d]};
          return me->transport->fail(me, HLO_OUT_OF_PLACE, o->site, where);
        }
      }
      copy_box((char *)o->made[k] + offset_in(to_dims, to, rank, item), to_dims,
               (const char *)given[k] + offset_in(from_dims, from, rank, item), from_dims, size,
               rank, item);
    }
    starts += 2 * slices * rank;
    n = sizes + slices * rank;
  }
  return 0;
}

// The slices of every source that sends to this device, in the order of the pairs. After the
// members, its place has the pairs: sources and which of their slices is meant.
static int take_all_slices(struct hlo_device *me, const struct hlo_operation *o) {
  const int64_t *pairs = o->place->members + o->place->count;
  for (int64_t k = 0; k < pairs[0]; k++) {
    int status = take_slices(me, o, pairs[1 + 2 * k], pairs[2 + 2 * k]);
    if (status) return status;
  }
  return 0;
}

// Copy what a member brought; zeros where nobody sends.
static void take(const struct hlo_operation *o, int64_t member) {
  for (int64_t k = 0; k < o->count; k++) {
    if (member < 0) {
      memset(o->made[k], 0, bytes_of(o, k));
    } else if (bytes_of(o, k)) {
      memcpy(o->made[k], o->meeting->seats[member].given[k], bytes_of(o, k));
    }
  }
}

// Make the results; of a large all-reduce only a piece, where it can't be given to the others.
static int results(struct hlo_device *me, struct hlo_operation *o) {
  int64_t count = o->place->count, position = o->place->position;
  switch (o->kind) {
    case HLO_RAGGED_ALL_TO_ALL: return take_rows(me, o);
    case HLO_PERMUTE_SLICES: return take_all_slices(me, o);
    case HLO_PERMUTE: take(o, o->place->source); return 0;
    case HLO_BROADCAST:
      if (o->numbers[0] < 0 || o->numbers[0] >= count) {
        return me->transport->fail(me, HLO_NO_MEMBER, o->site, o->numbers);
      }
      take(o, o->numbers[0]);
      return 0;
    case HLO_ALL_TO_ALL_ARRAYS:
      for (int64_t m = 0; m < count; m++) {
        if (bytes_of(o, position)) {
          memcpy(o->made[m], o->meeting->seats[m].given[position], bytes_of(o, position));
        }
      }
      return 0;
  }
  for (int64_t k = 0; k < o->count; k++) {
    int64_t blocks = o->sizes[3 * k], bytes = o->sizes[3 * k + 1];
    struct hlo_piece piece = hlo_piece_of(o, k, position);
    char *made = o->made[k];
    if (o->kind == HLO_ALL_REDUCE) {
      combine(o, k, made + piece.begin, 0, piece.bytes, o->is_small ? -1 : piece.begin);
    } else if (o->kind == HLO_REDUCE_SCATTER) {
      for (int64_t b = 0; b < blocks; b++) {
        combine(o, k, made + b * piece.bytes, b * apart(o, k), piece.bytes, -1);
      }
    }
    if (o->kind == HLO_ALL_GATHER && can_give(o)) {
      give_blocks(o, k);
      continue;
    }
    for (int64_t n = 0; n < count && o->kind == HLO_ALL_GATHER; n++) {
      int64_t m = (position + n) % count;
      copy_blocks(made + m * bytes, count * bytes, seen(o, m, k), bytes, bytes, blocks);
    }
    for (int64_t n = 0; n < count && o->kind == HLO_ALL_TO_ALL; n++) {
      int64_t m = (position + n) % count;
      copy_blocks(made + m * piece.bytes, bytes, seen(o, m, k), apart(o, k), piece.bytes, blocks);
    }
  }
  return 0;
}

static int begin(struct hlo_device *me, struct hlo_operation *o) {
  int64_t bytes = 0;
  for (int64_t k = 0; k < o->count; k++) bytes += bytes_of(o, k);
  o->is_small = bytes <= SMALL;
  o->place = hlo_place_of(me->plan, o->site, me->number);
  if (o->place->count < 0) return me->transport->fail(me, HLO_NO_GROUP, o->site, NULL);
  return o->place->count ? me->transport->come(me, o) : 0;
}

static int finish(struct hlo_device *me, struct hlo_operation *o) {
  if (!o->place->count) {
    if (o->kind != HLO_PERMUTE_SLICES) take(o, -1);
    return 0;
  }
  int status = me->transport->meet(me, o);
  if (!status) status = results(me, o);
  if (status) return status;
  if (o->kind == HLO_ALL_REDUCE && !o->is_small && !can_give(o)) status = me->transport->share(me, o);
  return status ? status : me->transport->leave(me, o, !o->is_small);
}

int hlo_collective(int64_t kind, int64_t site, int64_t count, const void *const *given,
                   void *const *made, const int64_t *sizes, const void *const *folds,
                   const int64_t *numbers) {
  struct hlo_operation o = {.kind = kind, .site = site, .count = count, .given = given, .made = made,
                            .sizes = sizes, .folds = folds, .numbers = numbers};
  int status = begin(hlo_here, &o);
  return status ? status : finish(hlo_here, &o);
}

int hlo_start(int64_t kind, int64_t site, int64_t count, const void *const *given,
              void *const *made, const int64_t *sizes, const void *const *folds,
              const int64_t *numbers) {
  // The lists of addresses are the caller's variables.
  struct hlo_operation *o = malloc(sizeof *o + 3 * count * sizeof *given);
  if (!o) return HLO_OUT_OF_MEMORY;
  const void **kept = (const void **)(o + 1);
  memcpy(kept, given, count * sizeof *given);
  memcpy(kept + count, made, count * sizeof *made);
  if (folds) memcpy(kept + 2 * count, folds, count * sizeof *folds);
  *o = (struct hlo_operation){.kind = kind, .site = site, .count = count, .given = kept,
                              .made = (void *const *)(kept + count), .sizes = sizes,
                              .folds = kept + 2 * count, .numbers = numbers,
                              .next = hlo_here->started};
  hlo_here->started = o;
  return begin(hlo_here, o);
}

int hlo_finish(int64_t site) {
  struct hlo_operation **place = &hlo_here->started;
  // The one that was started first, where a site was started several times.
  struct hlo_operation **found = NULL;
  for (; *place; place = &(*place)->next) {
    if ((*place)->site == site) found = place;
  }
  struct hlo_operation *o = *found;
  *found = o->next;
  int status = finish(hlo_here, o);
  free(o);
  return status;
}

void hlo_drop_started(struct hlo_device *me) {
  while (me->started) {
    struct hlo_operation *o = me->started;
    me->started = o->next;
    free(o);
  }
}

int hlo_send(int64_t site, int64_t count, const void *const *given, const int64_t *bytes) {
  const struct hlo_place *place = hlo_place_of(hlo_here->plan, site, hlo_here->number);
  for (int64_t k = 0; k < place->count; k++) {
    int status = hlo_here->transport->send(hlo_here, place->members[k], place, count, given, bytes);
    if (status) return status;
  }
  return 0;
}

int hlo_receive(int64_t site, int64_t of, int64_t count, void *const *made, const int64_t *bytes) {
  const struct hlo_place *place = hlo_place_of(hlo_here->plan, of, hlo_here->number);
  if (place->count > 0) {
    return hlo_here->transport->receive(hlo_here, place->members[0], place, site, count, made, bytes);
  }
  for (int64_t k = 0; k < count; k++) memset(made[k], 0, bytes[k]);
  return 0;
}
