// The processors that the system lets this process use, and its share of their time.
//
// A container may have two processors' worth of time on a machine of 64. On 64 threads it would use
// up its share at once, and then stop until the next period, up to 100 ms later.
#define _GNU_SOURCE
#include "quota.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#endif

enum { LONGEST = 4096 };

// Of one group of processes; 0 where it has no limit of its own.
static int64_t quota_of(const char *folder, const char *group) {
  char path[2 * LONGEST];
  long long time, period;
  snprintf(path, sizeof path, "%s%s/cpu.max", folder, group);
  FILE *file = fopen(path, "r");
  if (!file) return 0;
  int found = fscanf(file, "%lld %lld", &time, &period); // "max" is no number
  fclose(file);
  return found == 2 && time > 0 && period > 0 ? (time - 1) / period + 1 : 0;
}

int64_t hlo_least_quota(const char *folder, const char *group) {
  char path[LONGEST], *end = path;
  int64_t least = 0;
  snprintf(path, sizeof path, "%s", group);
  while (end) {
    int64_t quota = quota_of(folder, path);
    if (quota && (!least || quota < least)) least = quota;
    end = strrchr(path, '/');
    if (end) *end = 0;
  }
  return least;
}

int64_t hlo_quota(void) {
  char line[LONGEST];
  int64_t quota = 0;
  FILE *file = fopen("/proc/self/cgroup", "r");
  while (file && fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = 0;
    if (!strncmp(line, "0::", 3)) quota = hlo_least_quota("/sys/fs/cgroup", line + 3);
  }
  if (file) fclose(file);
  return quota;
}

int64_t hlo_processors(void) {
#ifdef __linux__
  cpu_set_t allowed;
  if (!sched_getaffinity(0, sizeof allowed, &allowed)) return CPU_COUNT(&allowed);
#endif
  return sysconf(_SC_NPROCESSORS_ONLN);
}
