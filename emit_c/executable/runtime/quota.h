// The processors that the system lets this process use, and its share of their time.
#ifndef HLO_QUOTA_H
#define HLO_QUOTA_H
#include <stdint.h>

// In processors, rounded up; 0 where there is no limit. Linux: `cpu.max` of control groups.
int64_t hlo_quota(void);

// The least of a group of processes and those that it is in, whose files are in a folder.
int64_t hlo_least_quota(const char *folder, const char *group);

// How many processors this process may use.
int64_t hlo_processors(void);

#endif
