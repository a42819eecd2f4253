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
#include "bppsa/Runtime/Call.h"

#include <algorithm>
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
#include <unordered_map>
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
/// A number to wait on: first by spinning, since the next parallel region usually follows within
/// microseconds, then asleep.
class Signal {
public:
  void set(uint32_t next) {
    value.store(next);
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

/// Who may join the current region: its number, whether it has begun, how many workers it wants
/// and how many have joined, in one word.
struct Ticket {
  uint64_t word;
  static constexpr uint64_t closed = uint64_t(1) << 31;
  static Ticket open(uint32_t epoch, uint32_t wanted) {
    return {uint64_t(epoch) << 32 | uint64_t(wanted) << 16};
  }
  uint32_t epoch() const { return word >> 32; }
  int32_t wanted() const { return word >> 16 & 0x7fff; }
  int32_t joined() const { return word & 0xffff; }
  bool isOpen() const { return !(word & closed) && joined() < wanted(); }
};

/// What is known of a region from the times it ran.
struct History {
  double seconds = 200e-6;
  /// How often in a row the workers did not come in time; for how many runs not to call them.
  int failures = 0, alone = 0;

  /// How long to wait for workers: when they share their cores with other programs they may be
  /// away for milliseconds, and a short region is done sooner without them.
  double patience() const { return std::clamp(seconds / 2, 2e-6, 10e-3); }

  void update(bool came, double duration) {
    seconds = duration;
    failures = came ? 0 : std::min(failures + 1, 6);
    alone = duration < 5e-3 ? (1 << failures) - 1 : 0;
  }
};

class Pool {
public:
  explicit Pool(int size) : size(size), spins(size <= availableCores() ? 4000 : 50) {
    for (int i = 1; i < size; ++i)
      workers.emplace_back([this] { work(); });
  }

  ~Pool() {
    stopping = true;
    start.set(++epoch);
    for (std::thread &worker : workers)
      worker.join();
  }

  /// Runs a region with up to region.size threads: those that come in time.
  void run(const Region &next) {
    region = next;
    History &history = histories[reinterpret_cast<void *>(next.task)];
    int32_t wanted = next.size - 1, joined = 0;
    bool calling = history.alone == 0;
    if (calling)
      joined = callWorkers(wanted, history.patience());
    else
      --history.alone;
    region.size = joined + 1;
    uint32_t before = done.get();
    finished.store(0);
    if (joined > 0)
      go.set(epoch);
    double begin = now();
    runAs(0);
    if (finished.fetch_add(1) + 1 != joined + 1)
      done.waitChange(before, spins);
    if (calling)
      history.update(2 * joined >= wanted, now() - begin);
  }

  void barrier() {
    uint32_t before = barrierDone.get();
    if (barrierCount.fetch_add(1) + 1 == place.size) {
      barrierCount.store(0);
      barrierDone.set(before + 1);
    } else {
      barrierDone.waitChange(before, spins);
    }
  }

  const int size;

private:
  /// Waits for `wanted` workers, but not for long; returns how many have come.
  int32_t callWorkers(int32_t wanted, double patience) {
    ticket.store(Ticket::open(++epoch, wanted).word);
    start.set(epoch);
    double end = now() + patience;
    for (int i = 1; Ticket{ticket.load(std::memory_order_acquire)}.joined() < wanted; ++i) {
      relax();
      if (i % 16 == 0 && now() > end)
        break;
    }
    return Ticket{ticket.fetch_or(Ticket::closed)}.joined();
  }

  /// Joins region `current`; returns the thread's number in it, 0 when it is too late.
  int32_t join(uint32_t current) {
    Ticket seen{ticket.load(std::memory_order_acquire)};
    while (seen.epoch() == current && seen.isOpen())
      if (ticket.compare_exchange_weak(seen.word, seen.word + 1))
        return seen.joined() + 1;
    return 0;
  }

  void work() {
    flushDenormals();
    uint32_t seen = 0;
    while (true) {
      start.waitChange(seen, spins);
      seen = start.get();
      if (stopping)
        return;
      int32_t number = join(seen);
      if (number == 0)
        continue;
      for (uint32_t last = go.get(); last != seen; last = go.get())
        go.waitChange(last, spins);
      int32_t members = region.size;
      runAs(number);
      uint32_t before = done.get();
      if (finished.fetch_add(1) + 1 == members)
        done.set(before + 1);
    }
  }

  void runAs(int32_t number) {
    place = {number, region.size, true};
    runMicrotask(region, number);
    place = Place();
  }

  const int spins;
  Region region;
  std::atomic<bool> stopping{false};
  /// The number of the last region that workers were called to.
  uint32_t epoch = 0;
  std::atomic<uint64_t> ticket{0};
  /// `start` calls the workers to a region; `go` tells those that joined that it is complete.
  Signal start, go, done, barrierDone;
  std::atomic<int> finished{0}, barrierCount{0};
  std::unordered_map<void *, History> histories;
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
