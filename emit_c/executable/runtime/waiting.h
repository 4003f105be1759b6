// How devices in several processes wait for messages, and stop each other.
#ifndef HLO_WAITING_H
#define HLO_WAITING_H
#include "party.h"

// Stop all devices, if none has failed before; gives the status.
int hlo_stop_for(struct party *me, int64_t kind, int status, int64_t device, int64_t site,
                 int64_t other_device, int64_t other_site, const int64_t *numbers);

// Stop all devices with a status, if none has failed before; gives the status.
int hlo_stop_with(struct party *me, int status);

// Stop all devices, because another one runs another program.
int hlo_refuse_program(struct party *me, int64_t other);

// A message could not be sent, or received: mostly a process has ended, which is found out soon.
int hlo_broken(struct party *me);

// Wait until all of some messages are there.
int hlo_await(struct party *me, struct hlo_request *requests, int64_t count);

// Send, or receive, bytes in as many messages as it takes.
int hlo_pass(struct party *me, int is_receive, int64_t other, int64_t tag, char *at, int64_t bytes,
             struct hlo_request **request);

// Receive bytes, and wait for them.
int hlo_fetch(struct party *me, int64_t other, int64_t tag, void *at, int64_t bytes);

// Free a parcel of which nothing is under way; else its memory stays.
void hlo_let_go(struct party *me, struct parcel *parcel);

#endif
