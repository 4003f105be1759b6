// What a transport of collectives does, and what it is given to do: between devices.c, collectives.c
// and the transports.
#ifndef HLO_TRANSPORT_H
#define HLO_TRANSPORT_H
#include "devices.h"

// A device, of which a thread knows the one that it is.
struct hlo_device;

// A collective of one device that is under way.
struct hlo_operation {
  int64_t kind, site, count;
  const struct hlo_place *place;
  const void *const *given;
  void *const *made;
  const int64_t *sizes;
  const void *const *folds;
  const int64_t *numbers;
  int is_small;              // what it brings is copied, so that nobody waits until all have read it
  struct hlo_meeting *meeting;
  struct hlo_operation *next;  // that the device has started
};

// The arrays that one member brought to a meeting; and those that it is to get, where others can write
// to them.
struct hlo_seat {
  const void *const *given;
  void *const *made;
  int64_t site;
  int has_come, waits;
};

// A rendezvous of a group.
struct hlo_meeting {
  struct hlo_meeting *next, **before;
  int64_t count, come, left, gone;
  int is_cut;                // seats show only the parts that this device is to read
  void *own;                 // what else the transport knows of it
  struct hlo_seat seats[];
};

// A transport: how arrays come from one device to others. Functions give 0 or a status.
struct hlo_transport {
  // Bring an operation's arrays to its meeting.
  int (*come)(struct hlo_device *me, struct hlo_operation *operation);
  // Wait until all members have come; from then on the seats of the meeting show what they brought.
  int (*meet)(struct hlo_device *me, struct hlo_operation *operation);
  // Have read everything; with `wait`, until all members have, so that memory may be used anew.
  int (*leave)(struct hlo_device *me, struct hlo_operation *operation, int wait);
  // Let all have the pieces of an all-reduce that each made, where none can write to the others'
  // results.
  int (*share)(struct hlo_device *me, struct hlo_operation *operation);
  int (*send)(struct hlo_device *me, int64_t box, const struct hlo_place *place, int64_t count,
              const void *const *given, const int64_t *bytes);
  int (*receive)(struct hlo_device *me, int64_t box, const struct hlo_place *place, int64_t site,
                 int64_t count, void *const *made, const int64_t *bytes);
  // Stop all devices; gives the status.
  int (*fail)(struct hlo_device *me, int64_t kind, int64_t site, const int64_t *numbers);
};

// What every transport's device begins with.
struct hlo_device {
  const struct hlo_transport *transport;
  const int64_t *plan;
  int64_t number;
  struct hlo_operation *started;
};

// The device of this thread; NULL where there is none.
extern _Thread_local struct hlo_device *hlo_here;

static inline const struct hlo_place *hlo_place_of(const int64_t *plan, int64_t site, int64_t device) {
  return (const struct hlo_place *)
      (plan + plan[HLO_PLAN_HEAD + site * plan[HLO_PLAN_DEVICES] + device]);
}

// The bytes of each block of an array that are the member's at a position: all of them, unless
// members have each a piece.
struct hlo_piece { int64_t begin, bytes; };
struct hlo_piece hlo_piece_of(const struct hlo_operation *operation, int64_t array, int64_t position);

// Let go of what a device has started and not finished.
void hlo_drop_started(struct hlo_device *me);

#endif
