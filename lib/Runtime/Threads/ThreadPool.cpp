//===- ThreadPool.cpp - The threads of parallel regions -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Threads/ThreadPool.h"
#include "Chaos.h"
#include "bppsa/Runtime/Call.h"
#include "bppsa/Runtime/CompiledErrors.h"
#include "bppsa/Runtime/Threads/Threads.h"

#include <algorithm>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace bppsa::runtime;

/// In seconds. Serial parts of a step are mostly shorter, and waking a sleeping virtual core may
/// take half a millisecond.
static constexpr double kPatience = 1e-3;
static constexpr double kNoPatience = 1e-6;

static void relax() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

void Signal::set(uint32_t next) {
  value.store(next);
  if (sleepers.load() > 0)
    syscall(SYS_futex, &value, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
}

void Signal::waitChange(uint32_t seen, double patience) {
  double end = now() + patience;
  for (int i = 1; i % 64 != 0 || now() < end; ++i) {
    if (get() != seen)
      return;
    relax();
  }
  sleepers.fetch_add(1);
  while (value.load() == seen)
    syscall(SYS_futex, &value, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
  sleepers.fetch_sub(1);
}

bool &bppsa::runtime::inRegion() {
  static thread_local bool instance = false;
  return instance;
}

double History::patience() const { return std::clamp(seconds / 2, 2e-6, 10e-3); }

bool History::isLong(int64_t count) const {
  // Moving cache lines between cores costs more for shorter regions.
  constexpr double shortest = 30e-6;
  return secondsAnIteration * static_cast<double>(count) >= shortest;
}

void History::update(bool came, double duration) {
  seconds = duration;
  failures = came ? 0 : std::min(failures + 1, 6);
  alone = duration < 5e-3 ? (1 << failures) - 1 : 0;
}

void bppsa::runtime::runShare(const Region &region, int32_t number) {
  int64_t small = region.count / region.size, extra = region.count % region.size;
  int64_t first = number * small + std::min<int64_t>(number, extra);
  int64_t last = first + small + (number < extra ? 1 : 0);
  if (first < last)
    region.body(first, last, region.captures);
}

namespace {
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
} // namespace

static void bind(std::thread &thread, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  // If binding fails, the thread runs unbound.
  static_cast<void>(pthread_setaffinity_np(thread.native_handle(), sizeof set, &set));
}

ThreadPool::ThreadPool(int size, const std::vector<int> &cpus)
    : size(size), patience(size <= availableCores() ? kPatience : kNoPatience) {
  try {
    for (int i = 1; i < size; ++i) {
      workers.emplace_back([this] { work(); });
      if (!cpus.empty())
        bind(workers.back(), cpus[i % cpus.size()]);
    }
  } catch (const std::system_error &) {
    // The system grants no more threads.
  }
}

ThreadPool::~ThreadPool() {
  stopping = true;
  start.set(++epoch);
  for (std::thread &worker : workers)
    worker.join();
}

std::exception_ptr ThreadPool::run(const Region &next) {
  region = next;
  History &history = histories[reinterpret_cast<void *>(next.body)];
  int32_t wanted = std::min<int32_t>(next.size - 1, workers.size()), joined = 0;
  bool isLong = history.isLong(next.count), calling = isLong && history.alone == 0;
  if (calling)
    joined = callWorkers(wanted, history.patience());
  else if (isLong)
    --history.alone;
  region.size = joined + 1;
  uint32_t before = done.get();
  finished.store(0);
  if (joined > 0)
    go.set(epoch);
  double begin = now();
  runAs(0);
  if (finished.fetch_add(1) + 1 != joined + 1)
    done.waitChange(before, patience);
  double duration = now() - begin;
  history.secondsAnIteration = duration * region.size / static_cast<double>(next.count);
  if (calling)
    history.update(2 * joined >= wanted, duration);
  hasFailed = false;
  return std::exchange(error, nullptr);
}

/// Returns how many of `wanted` workers joined within `patience` seconds.
int32_t ThreadPool::callWorkers(int32_t wanted, double patience) {
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

/// Returns the thread's number, or 0 if joining is closed.
int32_t ThreadPool::join(uint32_t current) {
  Ticket seen{ticket.load(std::memory_order_acquire)};
  while (seen.epoch() == current && seen.isOpen())
    if (ticket.compare_exchange_weak(seen.word, seen.word + 1))
      return seen.joined() + 1;
  return 0;
}

void ThreadPool::work() {
  flushDenormals();
  uint32_t seen = 0;
  while (true) {
    start.waitChange(seen, patience);
    seen = start.get();
    if (stopping)
      return;
    injectChaos();
    int32_t number = join(seen);
    if (number == 0)
      continue;
    for (uint32_t last = go.get(); last != seen; last = go.get())
      go.waitChange(last, patience);
    int32_t members = region.size;
    runAs(number);
    uint32_t before = done.get();
    if (finished.fetch_add(1) + 1 == members)
      done.set(before + 1);
  }
}

void ThreadPool::runAs(int32_t number) {
  inRegion() = true;
  if (region.catchesFailures)
    catchIn(number);
  else
    runShare(region, number);
  inRegion() = false;
}

void ThreadPool::catchIn(int32_t number) {
  std::pair<const Region *, int32_t> share(&region, number);
  auto run = [](void *context) {
    auto *share = static_cast<std::pair<const Region *, int32_t> *>(context);
    runShare(*share->first, share->second);
  };
  std::exception_ptr failure = catchFailure(run, &share);
  if (failure && !hasFailed.exchange(true))
    error = std::move(failure);
}
