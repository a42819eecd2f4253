//===- Threads.cpp - Thread pool behind compiled parallel loops -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The part of the OpenMP run-time interface that compiled models use. The threads of a region get
// contiguous shares of a loop; nested regions run on one thread. How many threads a region has
// depends on how many are there in time, up to the number that was set: compiled code computes the
// same bits for any number.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Threads.h"
#include "bppsa/Runtime/ThreadPool.h"

#include <cstdarg>
#include <cstdint>
#include <memory>
#include <sched.h>
#include <thread>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace bppsa::runtime;

int bppsa::runtime::availableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return CPU_COUNT(&set);
  unsigned count = std::thread::hardware_concurrency();
  return count ? static_cast<int>(count) : 1;
}

void bppsa::runtime::flushDenormals() {
#if defined(__x86_64__)
  // Bit 15: flush results to zero; bit 6: read denormal operands as zero.
  _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
}

static int wantedThreads = 0;
static std::unique_ptr<ThreadPool> pool;
static thread_local int32_t requestedSize = 0;

int bppsa::runtime::threads() { return wantedThreads ? wantedThreads : availableCores(); }
void bppsa::runtime::setThreads(int count) { wantedThreads = count; }

static ThreadPool &currentPool() {
  if (!pool || pool->size != threads()) {
    pool.reset();
    pool = std::make_unique<ThreadPool>(threads());
  }
  return *pool;
}

//===----------------------------------------------------------------------===//
// Entry points of compiled code
//===----------------------------------------------------------------------===//

/// Gives the calling thread its share of the loop from `lower` to `upper` (inclusive). Unsigned
/// arithmetic throughout: an empty unsigned loop comes as 0 .. -1.
template <typename Unsigned, typename Signed>
static void staticShare(int32_t schedule, int32_t *last, Unsigned *lower, Unsigned *upper,
                        Signed *stride, Signed step, Signed chunk) {
  constexpr int32_t chunked = 33;
  *last = 0;
  Unsigned count = place().size, number = place().number, by = static_cast<Unsigned>(step);
  Unsigned trips = step > 0 ? (*upper - *lower) / by + 1 : (*lower - *upper) / (0 - by) + 1;
  if (schedule == chunked) {
    Unsigned span = static_cast<Unsigned>(chunk < 1 ? 1 : chunk);
    *stride = static_cast<Signed>(span * by * count);
    *lower += span * by * number;
    *upper = *lower + (span - 1) * by;
    *last = number == (trips - 1) / span % count;
    return;
  }
  *stride = static_cast<Signed>(*upper - *lower + by);
  *last = trips < count ? number + 1 == trips : number + 1 == count;
  if (count == 1)
    return;
  Unsigned small = trips / count, extra = trips % count;
  Unsigned mine = small + (number < extra ? 1 : 0);
  *lower += by * (number * small + (number < extra ? number : extra));
  *upper = *lower + mine * by - by;
  if (mine == 0) {
    // An empty share must look empty also to unsigned loops, which compute upper - lower + 1.
    *lower = by;
    *upper = 0;
  }
}

extern "C" {
int32_t __kmpc_global_thread_num(void *) { return place().number; }

void __kmpc_push_num_threads(void *, int32_t, int32_t count) { requestedSize = count; }

void __kmpc_fork_call(void *, int32_t argumentCount, Microtask task, ...) {
  void *arguments[maxArguments] = {};
  va_list list;
  va_start(list, task);
  for (int i = 0; i < argumentCount && i < maxArguments; ++i)
    arguments[i] = va_arg(list, void *);
  va_end(list);

  Region region{task, argumentCount, arguments, threads()};
  if (requestedSize > 0 && requestedSize < region.size)
    region.size = requestedSize;
  requestedSize = 0;
  if (!place().inRegion && region.size > 1)
    return currentPool().run(region);
  Place outer = place();
  region.size = 1;
  place() = {0, 1, true};
  runMicrotask(region, 0);
  place() = outer;
}

void __kmpc_barrier(void *, int32_t) {
  if (place().size > 1)
    pool->barrier();
}

void __kmpc_for_static_init_4(void *, int32_t, int32_t schedule, int32_t *last, int32_t *lower,
                              int32_t *upper, int32_t *stride, int32_t step, int32_t chunk) {
  if (step > 0 ? *lower <= *upper : *lower >= *upper)
    staticShare(schedule, last, reinterpret_cast<uint32_t *>(lower),
                reinterpret_cast<uint32_t *>(upper), stride, step, chunk);
}
void __kmpc_for_static_init_4u(void *, int32_t, int32_t schedule, int32_t *last, uint32_t *lower,
                               uint32_t *upper, int32_t *stride, int32_t step, int32_t chunk) {
  staticShare(schedule, last, lower, upper, stride, step, chunk);
}
void __kmpc_for_static_init_8(void *, int32_t, int32_t schedule, int32_t *last, int64_t *lower,
                              int64_t *upper, int64_t *stride, int64_t step, int64_t chunk) {
  if (step > 0 ? *lower <= *upper : *lower >= *upper)
    staticShare(schedule, last, reinterpret_cast<uint64_t *>(lower),
                reinterpret_cast<uint64_t *>(upper), stride, step, chunk);
}
void __kmpc_for_static_init_8u(void *, int32_t, int32_t schedule, int32_t *last, uint64_t *lower,
                               uint64_t *upper, int64_t *stride, int64_t step, int64_t chunk) {
  staticShare(schedule, last, lower, upper, stride, step, chunk);
}
void __kmpc_for_static_fini(void *, int32_t) {}
}
