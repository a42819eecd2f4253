//===- jumping_clock.c - Clocks that jump, stand still or go back ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A library for LD_PRELOAD. BPPSA_CLOCK says how the clocks of a program go:
//
//   MODE:SEED   jump    every few calls a jump of up to a day, forward or, of the wall clock, back
//               back    the same, where the monotonic clock goes back, too
//               frozen  time stands still
//               fast    a second is a day
//
//===----------------------------------------------------------------------===//

#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define DAY 86400
#define BILLION 1000000000L

static _Atomic uint64_t state;
static _Atomic int64_t offsets[16];

static uint64_t draw(void) {
  uint64_t x = (state += 0x9e3779b97f4a7c15u);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static const char *mode(void) {
  static const char *word;
  if (!word) {
    const char *given = getenv("BPPSA_CLOCK");
    const char *seed = given ? strchr(given, ':') : NULL;
    state = seed ? strtoull(seed + 1, NULL, 10) : 0;
    word = given ? given : "";
  }
  return word;
}

static int64_t jump(clockid_t clock, int mayGoBack) {
  _Atomic int64_t *offset = &offsets[clock & 15];
  if (draw() % 8 == 0) {
    static const int64_t sizes[] = {1, 1000, 1000000, BILLION, 60 * BILLION, DAY * BILLION};
    int64_t size = sizes[draw() % 6];
    *offset += mayGoBack && draw() % 2 ? -size : size;
  }
  return *offset;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  if (syscall(SYS_clock_gettime, clock, time) != 0)
    return -1;
  int64_t now = time->tv_sec * BILLION + time->tv_nsec;
  if (strncmp(mode(), "jump", 4) == 0)
    now += jump(clock, clock == CLOCK_REALTIME);
  else if (strncmp(mode(), "back", 4) == 0)
    now += jump(clock, 1);
  else if (strncmp(mode(), "frozen", 6) == 0)
    now = 1000 * BILLION;
  else if (strncmp(mode(), "fast", 4) == 0)
    now = now % (100 * DAY * BILLION) * 1000;
  if (now < 0)
    now = 0;
  time->tv_sec = now / BILLION;
  time->tv_nsec = now % BILLION;
  return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  (void)zone;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *to) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (to)
    *to = now.tv_sec;
  return now.tv_sec;
}
