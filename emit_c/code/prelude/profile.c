// The time in ns; see emit_c/executable/runtime/profile.c.
extern s64 hlo_clock(void);

// Remember that a kernel ran from `begin` until now.
extern void hlo_record(s64 site, s64 begin);
