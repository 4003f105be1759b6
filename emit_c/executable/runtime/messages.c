// How devices in several processes meet: the transport of collectives by messages.
//
// A member of a meeting sends each other one a head, which says what it has come for, and of its
// arrays just what that one is to read.
#define _GNU_SOURCE
#include "waiting.h"

#include <stdlib.h>
#include <string.h>

enum {
  ROOM = 10 << 10,  // bytes of a head with small arrays, of hardly more than 64
  SHARES = 64,      // operations of one meeting that may be under way
};

// ---------------------------------------------------------------------------------------- meetings

// Of each block of an array, the part of the member at `from` that the one at `to` reads.
static struct hlo_piece read_by(const struct hlo_device *me, const struct hlo_operation *o,
                                int64_t array, int64_t from, int64_t to) {
  const struct hlo_piece nothing = {0, 0}, all = {0, o->sizes[3 * array + 1]};
  const struct hlo_place *place = o->place;
  switch (o->kind) {
    case HLO_ALL_TO_ALL_ARRAYS: return array == to ? all : nothing;
    case HLO_BROADCAST: return o->numbers[0] == from ? all : nothing;
    case HLO_PERMUTE:
      place = hlo_place_of(me->plan, o->site, place->members[to]);
      return place->source == from ? all : nothing;
    case HLO_PERMUTE_SLICES:
      place = hlo_place_of(me->plan, o->site, place->members[to]);
      const int64_t *pairs = place->members + place->count;
      for (int64_t k = 0; k < pairs[0]; k++) {
        if (pairs[1 + 2 * k] == from) return all;
      }
      return nothing;
  }
  return o->is_small ? all : hlo_piece_of(o, array, to);
}

static int is_cut(const struct hlo_operation *o) {
  return !o->is_small &&
         (o->kind == HLO_ALL_REDUCE || o->kind == HLO_REDUCE_SCATTER || o->kind == HLO_ALL_TO_ALL);
}

// Whether a member's array of an all-gather can be received where it belongs.
static int is_direct(const struct hlo_operation *o, int64_t array) {
  return o->kind == HLO_ALL_GATHER && !o->is_small && o->sizes[3 * array] == 1;
}

// The tags of a meeting: of its heads and arrays, and of what operations share later.
static int64_t tag_of(const struct party *me, int64_t meeting, int64_t ordinal) {
  const int64_t *plan = me->group->plan;
  int64_t left = me->group->wire->most_tags - FIRST_TAG - plan[HLO_PLAN_BOXES];
  int64_t each = meetings_of(plan) ? left / meetings_of(plan) : 2;
  if (each > SHARES) each = SHARES;
  if (each < 2) each = 2;
  int64_t first = FIRST_TAG + plan[HLO_PLAN_BOXES] + meeting * each;
  return ordinal < 0 ? first : first + 1 + ordinal % (each - 1);
}

// What an operation takes: messages to others and from them, and memory.
struct extent { int64_t sends, receives, memory; };

static struct extent extent_of(const struct hlo_device *me, const struct hlo_operation *o) {
  int64_t count = o->place->count, position = o->place->position;
  struct extent all = {0, 0, 0};
  for (int64_t m = 0; m < count; m++) {
    for (int64_t k = 0; k < o->count; k++) {
      int64_t blocks = o->sizes[3 * k];
      int64_t out = blocks * read_by(me, o, k, position, m).bytes;
      int64_t in = blocks * read_by(me, o, k, m, position).bytes;
      all.memory += in + 16 + (is_cut(o) && blocks > 1 ? out + 16 : 0);
      all.sends += messages_for(out), all.receives += messages_for(in);
    }
  }
  return all;
}

// The bytes of an array that a member reads, in one piece: where they lie, or copied.
static char *packed(const struct hlo_operation *o, int64_t array, struct hlo_piece piece,
                    char **memory) {
  int64_t blocks = o->sizes[3 * array], bytes = o->sizes[3 * array + 1];
  char *given = (char *)o->given[array];
  if (blocks == 1 || piece.bytes == bytes) return given + piece.begin;
  char *to = *memory;
  for (int64_t b = 0; b < blocks; b++) {
    memcpy(to + b * piece.bytes, given + b * bytes + piece.begin, piece.bytes);
  }
  *memory += (blocks * piece.bytes + 15) / 16 * 16;
  return to;
}

static int64_t padded(const struct hlo_operation *o, int64_t array) {
  return (o->sizes[3 * array] * o->sizes[3 * array + 1] + 15) / 16 * 16;
}

// The bytes of a head, and of small arrays with it.
static int64_t room_of(const struct hlo_operation *o) {
  int64_t bytes = sizeof(struct head);
  for (int64_t k = 0; o->is_small && k < o->count; k++) bytes += padded(o, k);
  return bytes < ROOM ? ROOM : bytes;
}

// Bring small arrays: they are sent with the head, and copied, for others may read them later.
static int come_small(struct party *me, struct hlo_operation *o, struct parcel *parcel,
                      char *memory, struct head head) {
  struct hlo_wire *wire = me->group->wire;
  int64_t position = o->place->position, number = me->device.number;
  int64_t tag = tag_of(me, o->place->meeting, -1);
  memcpy(memory, &head, sizeof head);
  char *to = memory + sizeof head;
  const void **own = (const void **)o->meeting->seats[position].given;
  for (int64_t k = 0; k < o->count; k++) {
    int64_t bytes = o->sizes[3 * k] * o->sizes[3 * k + 1];
    if (bytes) memcpy(to, o->given[k], bytes);
    own[k] = to;
    to += padded(o, k);
  }
  struct hlo_request *request = parcel->requests + parcel->heads;
  for (int64_t m = 0; m < o->place->count; m++) {
    if (m == position) continue;
    int is_read = 0;
    for (int64_t k = 0; k < o->count; k++) {
      is_read |= read_by(&me->device, o, k, position, m).bytes > 0;
    }
    int64_t bytes = is_read ? to - memory : (int64_t)sizeof head;
    if (wire->send(wire, number, o->place->members[m], tag, memory, bytes, request++)) return -1;
  }
  return 0;
}

// Bring large arrays: each member is sent what it reads of them.
static int come_large(struct party *me, struct hlo_operation *o, struct parcel *parcel,
                      char *memory, struct head head) {
  struct hlo_wire *wire = me->group->wire;
  int64_t position = o->place->position, number = me->device.number, count = o->place->count;
  int64_t tag = tag_of(me, o->place->meeting, -1);
  struct hlo_request *receive = parcel->requests + parcel->heads;
  struct hlo_request *send = receive + parcel->receives;
  struct head *heads = (struct head *)memory;
  memory += count * sizeof head;
  for (int64_t n = 0; n < count; n++) {
    int64_t m = (position + n) % count, other = o->place->members[m];
    const void **list = (const void **)o->meeting->seats[m].given;
    for (int64_t k = 0; k < o->count; k++) {
      struct hlo_piece piece = read_by(&me->device, o, k, m, position);
      int64_t bytes = o->sizes[3 * k] * piece.bytes;
      if (!bytes) continue;
      if (m == position) {
        list[k] = is_cut(o) ? packed(o, k, piece, &memory) : o->given[k];
        continue;
      }
      if (is_direct(o, k)) {
        list[k] = (char *)o->made[k] + m * bytes;
      } else {
        list[k] = memory;
        memory += (bytes + 15) / 16 * 16;
      }
      if (hlo_pass(me, 1, other, tag, (char *)list[k], bytes, &receive)) return -1;
    }
    if (m == position) continue;
    heads[m] = head;
    for (int64_t k = 0; k < o->count; k++) {
      heads[m].messages += read_by(&me->device, o, k, position, m).bytes > 0;
    }
    if (wire->send(wire, number, other, tag, &heads[m], sizeof head, send++)) return -1;
    for (int64_t k = 0; k < o->count; k++) {
      struct hlo_piece piece = read_by(&me->device, o, k, position, m);
      if (!piece.bytes) continue;
      char *at = packed(o, k, piece, &memory);
      if (hlo_pass(me, 0, other, tag, at, o->sizes[3 * k] * piece.bytes, &send)) return -1;
    }
  }
  return 0;
}

static int come(struct hlo_device *device, struct hlo_operation *o) {
  struct party *me = hlo_party(device);
  struct hlo_wire *wire = me->group->wire;
  if (has_failed(me->group)) return me->group->failed;
  int64_t count = o->place->count, others = count - 1;
  struct extent extent = extent_of(device, o);
  int64_t requests = 2 * others + (o->is_small ? 0 : extent.sends + extent.receives);
  size_t lists = sizeof(struct hlo_meeting);
  lists += count * (sizeof(struct hlo_seat) + o->count * sizeof(void *));
  int64_t room = room_of(o);
  size_t memory = (count + o->is_small) * room;
  if (!o->is_small) memory += count * sizeof(struct head) + extent.memory;
  size_t fixed = sizeof(struct parcel) + requests * sizeof(struct hlo_request);
  lists = (lists + 15) / 16 * 16, fixed = (fixed + 15) / 16 * 16;
  struct parcel *parcel = malloc(fixed + lists + memory);
  if (!parcel) return HLO_OUT_OF_MEMORY;
  memset(parcel, 0, fixed + lists);
  struct hlo_meeting *meeting = o->meeting = (struct hlo_meeting *)((char *)parcel + fixed);
  meeting->own = parcel;
  meeting->is_cut = is_cut(o);
  const void **given = (const void **)&meeting->seats[count];
  for (int64_t m = 0; m < count; m++) meeting->seats[m].given = given + m * o->count;
  parcel->next = me->parcels, me->parcels = parcel;
  parcel->heads = others;
  parcel->receives = o->is_small ? 0 : extent.receives;
  parcel->sends = others + (o->is_small ? 0 : extent.sends);
  parcel->ordinal = ++me->counts[o->place->meeting];
  parcel->heads_at = (char *)meeting + lists;
  int64_t tag = tag_of(me, o->place->meeting, -1), n = 0;
  for (int64_t m = 0; m < count; m++) {
    if (m == o->place->position) continue;
    if (wire->receive(wire, o->place->members[m], device->number, tag,
                      parcel->heads_at + m * room, room, &parcel->requests[n++])) {
      return hlo_broken(me);
    }
  }
  struct head head = {me->group->program, wire->run, o->site, 0, 0, o->is_small};
  char *rest = parcel->heads_at + count * room;
  int failed = (o->is_small ? come_small : come_large)(me, o, parcel, rest, head);
  return failed ? hlo_broken(me) : 0;
}

// Whether a member came for the same.
static int is_alike(struct party *me, const struct hlo_operation *o, int64_t m,
                    const struct head *head) {
  int64_t other = o->place->members[m], messages = 0;
  if (head->program != me->group->program || head->run != me->group->wire->run) {
    hlo_stop_for(me, HLO_OTHER_PROGRAM, HLO_FAILED, me->device.number, o->site, other, 0, NULL);
    return 0;
  }
  for (int64_t k = 0; k < o->count && !o->is_small; k++) {
    messages += read_by(&me->device, o, k, m, o->place->position).bytes > 0;
  }
  int64_t theirs = hlo_place_of(me->device.plan, head->site, other)->signature;
  int is_so_large = head->is_small == o->is_small && head->messages == messages;
  if (theirs == o->place->signature && is_so_large) return 1;
  hlo_stop_for(me, HLO_DIFFERENT, HLO_FAILED, me->device.number, o->site, other, head->site, NULL);
  return 0;
}

static int meet(struct hlo_device *device, struct hlo_operation *o) {
  struct party *me = hlo_party(device);
  struct parcel *parcel = o->meeting->own;
  waits(me, o->site, o->place->meeting, -1, parcel->ordinal, 0);
  int status = 0;
  for (int64_t m = 0, n = 0; !status && m < o->place->count; m++) {
    if (m == o->place->position) continue;
    status = hlo_await(me, &parcel->requests[n++], 1);
    const struct head *head = (const struct head *)(parcel->heads_at + m * room_of(o));
    if (!status && !is_alike(me, o, m, head)) status = me->group->failed;
    const void **list = (const void **)o->meeting->seats[m].given;
    const char *at = (const char *)(head + 1);
    for (int64_t k = 0; o->is_small && k < o->count; k++) {
      list[k] = at;
      at += padded(o, k);
    }
  }
  if (!status) status = hlo_await(me, parcel->requests + parcel->heads, parcel->receives);
  runs(me);
  return status;
}

static int leave(struct hlo_device *device, struct hlo_operation *o, int wait) {
  struct party *me = hlo_party(device);
  struct parcel *parcel = o->meeting->own;
  (void)wait;
  int status = hlo_await(me, parcel->requests + parcel->heads + parcel->receives, parcel->sends);
  if (!status) hlo_let_go(me, parcel);
  return status;
}

// Let all members have the pieces of a reduction that each of them made.
static int share(struct hlo_device *device, struct hlo_operation *o) {
  struct party *me = hlo_party(device);
  int64_t position = o->place->position, count = o->place->count, messages = 0;
  int64_t ordinal = ((struct parcel *)o->meeting->own)->ordinal;
  for (int64_t k = 0; k < o->count; k++) {
    messages += (count - 1) * (1 + messages_for(hlo_piece_of(o, k, 0).bytes));
  }
  struct parcel *parcel = calloc(1, sizeof *parcel + 2 * messages * sizeof parcel->requests[0]);
  if (!parcel) return HLO_OUT_OF_MEMORY;
  parcel->next = me->parcels, me->parcels = parcel;
  parcel->receives = parcel->sends = messages;
  struct hlo_request *receive = parcel->requests, *send = receive + messages;
  int64_t tag = tag_of(me, o->place->meeting, ordinal);
  for (int64_t n = 1; n < count; n++) {
    int64_t m = (position + n) % count, other = o->place->members[m];
    for (int64_t k = 0; k < o->count; k++) {
      struct hlo_piece theirs = hlo_piece_of(o, k, m), mine = hlo_piece_of(o, k, position);
      char *made = o->made[k];
      if (hlo_pass(me, 1, other, tag, made + theirs.begin, theirs.bytes, &receive) ||
          hlo_pass(me, 0, other, tag, made + mine.begin, mine.bytes, &send)) {
        return hlo_broken(me);
      }
    }
  }
  int64_t shared = ++me->counts[meetings_of(device->plan) + o->place->meeting];
  waits(me, o->site, o->place->meeting, -1, shared, 1);
  int status = hlo_await(me, parcel->requests, receive - parcel->requests);
  struct hlo_request *sends = parcel->requests + messages;
  if (!status) status = hlo_await(me, sends, send - sends);
  runs(me);
  if (!status) hlo_let_go(me, parcel);
  return status;
}

// -------------------------------------------------------------------------------------------- mail

static int64_t total(int64_t count, const int64_t *bytes) {
  int64_t sum = 0;
  for (int64_t k = 0; k < count; k++) sum += bytes[k];
  return sum;
}

// The device at the other end of a mail box: after the boxes of a place.
static int64_t other_end(const struct hlo_place *place, int64_t box) {
  int64_t n = 0;
  while (place->members[n] != box) n++;
  return place->members[place->count + n];
}

static int send_letter(struct hlo_device *device, int64_t box, const struct hlo_place *place,
                       int64_t count, const void *const *given, const int64_t *bytes) {
  struct party *me = hlo_party(device);
  if (has_failed(me->group)) return me->group->failed;
  int64_t all = total(count, bytes), messages = messages_for(all), other = other_end(place, box);
  struct head head = {me->group->program, me->group->wire->run, place->signature, messages, all, 0};
  struct parcel *parcel =
      malloc(sizeof *parcel + (1 + messages) * sizeof parcel->requests[0] + sizeof head + all);
  if (!parcel) return HLO_OUT_OF_MEMORY;
  *parcel = (struct parcel){.next = me->parcels, .sends = 1 + messages};
  memset(parcel->requests, 0, (1 + messages) * sizeof parcel->requests[0]);
  me->parcels = parcel;
  char *at = (char *)&parcel->requests[1 + messages], *to = at + sizeof head;
  memcpy(at, &head, sizeof head);
  for (int64_t k = 0; k < count; k++) {
    if (bytes[k]) memcpy(to, given[k], bytes[k]);
    to += bytes[k];
  }
  me->counts[2 * meetings_of(device->plan) + box]++;
  struct hlo_request *request = parcel->requests;
  int failed = hlo_pass(me, 0, other, FIRST_TAG + box, at, sizeof head, &request) ||
               hlo_pass(me, 0, other, FIRST_TAG + box, at + sizeof head, all, &request);
  return failed ? hlo_broken(me) : 0;
}

static int receive_letter(struct hlo_device *device, int64_t box, const struct hlo_place *place,
                          int64_t site, int64_t count, void *const *made, const int64_t *bytes) {
  struct party *me = hlo_party(device);
  int64_t all = total(count, bytes), other = other_end(place, box), tag = FIRST_TAG + box;
  struct head head;
  char *letter = NULL;
  int64_t *received = me->counts + me->group->counts;
  waits(me, site, -1, box, ++received[box], 0);
  int status;
  do {
    // Letters of earlier runs that nobody took are thrown away.
    free(letter);
    letter = NULL;
    if ((status = hlo_fetch(me, other, tag, &head, sizeof head))) break;
    if (!(letter = malloc(head.bytes + 1))) status = HLO_OUT_OF_MEMORY;
    if (!status && head.bytes) status = hlo_fetch(me, other, tag, letter, head.bytes);
  } while (!status && head.run < me->group->wire->run);
  runs(me);
  if (!status && head.program != me->group->program) {
    status = hlo_stop_for(me, HLO_OTHER_PROGRAM, HLO_FAILED, device->number, site, other, 0, NULL);
  }
  if (!status && (head.site != place->signature || head.bytes != all)) {
    status = hlo_stop_for(me, HLO_OTHER_SHAPE, HLO_FAILED, device->number, site, place->signature,
                          head.site, NULL);
  }
  const char *from = letter;
  for (int64_t k = 0; !status && k < count; k++) {
    if (bytes[k]) memcpy(made[k], from, bytes[k]);
    from += bytes[k];
  }
  free(letter);
  return status;
}

static int fail(struct hlo_device *device, int64_t kind, int64_t site, const int64_t *numbers) {
  return hlo_stop_for(hlo_party(device), kind, HLO_FAILED, device->number, site, 0, 0, numbers);
}

const struct hlo_transport hlo_by_messages = {
    come, meet, leave, share, send_letter, receive_letter, fail};

