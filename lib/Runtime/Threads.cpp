//===- Threads.cpp - Thread pool behind compiled parallel loops -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The part of the OpenMP run-time interface that compiled models use. Threads get fixed, contiguous
// shares of a loop; nested parallel regions run on one thread.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Threads.h"

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <linux/futex.h>
#include <memory>
#include <sched.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>
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

static void relax() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

namespace {
/// A counter to wait on: first by spinning, since the next parallel region usually follows within
/// microseconds, then asleep.
class Signal {
public:
  void add(uint32_t amount) {
    value.fetch_add(amount);
    if (sleepers.load() > 0)
      syscall(SYS_futex, &value, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
  }
  uint32_t get() const { return value.load(std::memory_order_acquire); }

  /// Returns once the value differs from `seen`.
  void waitChange(uint32_t seen, int spins) {
    for (int i = 0; i < spins; ++i) {
      if (get() != seen)
        return;
      relax();
    }
    sleepers.fetch_add(1);
    while (value.load() == seen)
      syscall(SYS_futex, &value, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
    sleepers.fetch_sub(1);
  }

private:
  std::atomic<uint32_t> value{0};
  std::atomic<int> sleepers{0};
};

using Microtask = void (*)(int32_t *, int32_t *, ...);

/// Compilers pass one structure, or a few pointers.
constexpr int maxArguments = 8;

/// A parallel region: what to run and with how many threads.
struct Region {
  Microtask task = nullptr;
  int argumentCount = 0;
  void **arguments = nullptr;
  int32_t size = 1;
};

/// The calling thread's place in the region it runs.
struct Place {
  int32_t number = 0;
  int32_t size = 1;
  bool inRegion = false;
};
thread_local Place place;
thread_local int32_t requestedSize = 0;

void runMicrotask(const Region &region, int32_t number) {
  int32_t bound = 0;
  void **a = region.arguments;
  Microtask task = region.task;
  switch (region.argumentCount) {
  case 0:
    return task(&number, &bound);
  case 1:
    return task(&number, &bound, a[0]);
  case 2:
    return task(&number, &bound, a[0], a[1]);
  case 3:
    return task(&number, &bound, a[0], a[1], a[2]);
  case 4:
    return task(&number, &bound, a[0], a[1], a[2], a[3]);
  case 5:
    return task(&number, &bound, a[0], a[1], a[2], a[3], a[4]);
  case 6:
    return task(&number, &bound, a[0], a[1], a[2], a[3], a[4], a[5]);
  case 7:
    return task(&number, &bound, a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
  case 8:
    return task(&number, &bound, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
  }
  abort();
}

class Pool {
public:
  explicit Pool(int size) : size(size), spins(size <= availableCores() ? 20000 : 100) {
    for (int number = 1; number < size; ++number)
      workers.emplace_back([this, number] { work(number); });
  }

  ~Pool() {
    region = Region();
    stopping = true;
    start.add(1);
    for (std::thread &worker : workers)
      worker.join();
  }

  void run(const Region &next) {
    region = next;
    uint32_t before = done.get();
    finished.store(0);
    start.add(1);
    runAs(0);
    if (finished.fetch_add(1) + 1 != size)
      done.waitChange(before, spins);
  }

  void barrier() {
    uint32_t before = barrierDone.get();
    if (barrierCount.fetch_add(1) + 1 == region.size) {
      barrierCount.store(0);
      barrierDone.add(1);
    } else {
      barrierDone.waitChange(before, spins);
    }
  }

  const int size;

private:
  void work(int number) {
    flushDenormals();
    uint32_t seen = 0;
    while (true) {
      start.waitChange(seen, spins);
      ++seen;
      if (stopping)
        return;
      if (number < region.size)
        runAs(number);
      if (finished.fetch_add(1) + 1 == size)
        done.add(1);
    }
  }

  void runAs(int32_t number) {
    place = {number, region.size, true};
    runMicrotask(region, number);
    place = Place();
  }

  const int spins;
  Region region;
  bool stopping = false;
  Signal start, done, barrierDone;
  std::atomic<int> finished{0}, barrierCount{0};
  std::vector<std::thread> workers;
};

int wantedThreads = 0;
std::unique_ptr<Pool> pool;
} // namespace

int bppsa::runtime::threads() { return wantedThreads ? wantedThreads : availableCores(); }
void bppsa::runtime::setThreads(int count) { wantedThreads = count; }

static Pool &currentPool() {
  if (!pool || pool->size != threads()) {
    pool.reset();
    pool = std::make_unique<Pool>(threads());
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
  Unsigned count = place.size, number = place.number, by = static_cast<Unsigned>(step);
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
int32_t __kmpc_global_thread_num(void *) { return place.number; }

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
  if (!place.inRegion && region.size > 1)
    return currentPool().run(region);
  Place outer = place;
  region.size = 1;
  place = {0, 1, true};
  runMicrotask(region, 0);
  place = outer;
}

void __kmpc_barrier(void *, int32_t) {
  if (place.size > 1)
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
