// Sockets to other processes, and wires over them: see sockets.c.
#ifndef HLO_SOCKETS_H
#define HLO_SOCKETS_H
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hlo_sockets;

// Connected sockets to the processes, by their numbers; negative for this one.
struct hlo_sockets *hlo_sockets(int64_t processes, const int64_t *fds);

// A wire for devices of which `homes` has the processes. `channel` is the same in all processes, and
// another one for each wire; `neighbours` of the processes are on this machine.
struct hlo_wire *hlo_socket_wire(struct hlo_sockets *sockets, int64_t channel, int64_t devices,
                                 const int64_t *homes, int64_t neighbours);

// Free a wire, and all that was sent by it and not received.
void hlo_end_socket_wire(struct hlo_wire *wire);

// Tell the others that this process ends well.
void hlo_say_bye(struct hlo_sockets *sockets);

#ifdef __cplusplus
}
#endif
#endif
