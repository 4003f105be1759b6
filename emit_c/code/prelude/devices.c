// What collectives ask of the runtime library: see emit_c/executable/runtime/devices.h.

// Exchange arrays with other devices, at a site of the program.
extern int hlo_collective(s64 kind, s64 site, s64 count, const void *const *given,
                          void *const *made, const s64 *sizes, const void *const *folds,
                          const s64 *numbers);

// Begin an exchange of arrays, as hlo_collective does it in one step, without waiting for others.
extern int hlo_start(s64 kind, s64 site, s64 count, const void *const *given, void *const *made,
                     const s64 *sizes, const void *const *folds, const s64 *numbers);

// End an exchange that hlo_start has begun.
extern int hlo_finish(s64 site);

// Send copies of arrays to other devices, or take those that were sent where the site `of` says.
extern int hlo_send(s64 site, s64 count, const void *const *values, const s64 *bytes);
extern int hlo_receive(s64 site, s64 of, s64 count, void *const *values, const s64 *bytes);

// The number of this device among the replicas (0), or the partitions (1).
extern s64 hlo_device_number(s64 of_partitions);
