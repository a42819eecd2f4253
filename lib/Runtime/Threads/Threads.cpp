//===- Threads.cpp - Thread pool behind compiled parallel loops -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Threads execute contiguous shares of a loop; nested loops run on the calling thread. Compiled
// code computes the same bits for any number of threads. Of concurrent regions, one gets the pool
// and the others run without workers.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Threads/Threads.h"
#include "bppsa/Runtime/CompiledErrors.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/ObjectInterface.h"
#include "bppsa/Runtime/Threads/ThreadPool.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <sstream>
#include <thread>
#include <unistd.h>
#include <utility>
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
  // Bit 15: flush results to zero; bit 6: treat denormal operands as zero.
  _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
}

DenormalsFlushed::DenormalsFlushed() {
#if defined(__x86_64__)
  before = _mm_getcsr();
#endif
  flushDenormals();
}

DenormalsFlushed::~DenormalsFlushed() {
#if defined(__x86_64__)
  _mm_setcsr(before);
#endif
}

static void requireCpus(const std::vector<int> &cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(getpid(), sizeof set, &set) != 0)
    fail("affinity: the CPUs of this process are not known (", strerror(errno), ")");
  std::vector<int64_t> usable;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set))
      usable.push_back(cpu);
  for (int cpu : cpus)
    if (std::find(usable.begin(), usable.end(), cpu) == usable.end())
      fail("affinity: found CPU ", cpu, ", this process may use ", list(usable));
}

std::vector<int> bppsa::runtime::parseCpus(const std::string &words) {
  std::vector<int> cpus;
  std::istringstream stream(words);
  for (std::string word; std::getline(stream, word, ',');) {
    int first = -1, last = -1;
    const char *end = word.data() + word.size();
    auto read = std::from_chars(word.data(), end, first);
    last = first;
    if (read.ec == std::errc() && read.ptr != end && *read.ptr == '-')
      read = std::from_chars(read.ptr + 1, end, last);
    if (read.ec != std::errc() || read.ptr != end || first < 0 || last < first ||
        last >= CPU_SETSIZE)
      throw UsageError(text("--affinity: found ", quote(words), ", expected CPUs such as 0,2-4"));
    for (int cpu = first; cpu <= last; ++cpu)
      cpus.push_back(cpu);
  }
  return cpus;
}

static std::atomic<int> wantedThreads{0};
static thread_local int ownThreads = 0;

ThreadLimit::ThreadLimit(int count) : before(std::exchange(ownThreads, count)) {}
ThreadLimit::~ThreadLimit() { ownThreads = before; }

int bppsa::runtime::threads() {
  if (ownThreads)
    return ownThreads;
  int wanted = wantedThreads;
  return wanted ? wanted : availableCores();
}

void bppsa::runtime::setThreads(int count) { wantedThreads = count; }

namespace {
struct SharedPool {
  std::mutex mutex;
  std::unique_ptr<ThreadPool> pool;
  std::vector<int> cpus;

  /// Returns a pool with at least as many threads as the calling thread may use.
  ThreadPool &current() {
    if (!pool || pool->size < threads()) {
      pool.reset();
      pool = std::make_unique<ThreadPool>(threads(), cpus);
    }
    return *pool;
  }
};
} // namespace

/// Never destroyed: other threads may run regions during exit.
static SharedPool &shared() {
  static SharedPool *instance = new SharedPool;
  return *instance;
}

void bppsa::runtime::setAffinity(std::vector<int> cpus) {
  requireCpus(cpus);
  std::lock_guard<std::mutex> lock(shared().mutex);
  shared().cpus = std::move(cpus);
  shared().pool.reset();
}

/// A forked child has no workers and creates its own pool. fork() waits for the running region, so
/// a region must not fork.
static const int forkHandlers =
    pthread_atfork([] { shared().mutex.lock(); }, [] { shared().mutex.unlock(); },
                   [] {
                     static_cast<void>(shared().pool.release());
                     shared().mutex.unlock();
                   });

static bool runInPool(const Region &region, std::exception_ptr &error) {
  std::unique_lock<std::mutex> lock(shared().mutex, std::try_to_lock);
  if (!lock)
    return false;
  error = shared().current().run(region);
  return true;
}

void bppsa_rt_parallel_for(int64_t count, void (*body)(int64_t first, int64_t last, void *captures),
                           void *captures) {
  if (count <= 0)
    return;
  int64_t size = std::min<int64_t>(threads(), count);
  if (inRegion() || size <= 1)
    return body(0, count, captures);
  std::exception_ptr error;
  if (!runInPool({body, captures, count, static_cast<int32_t>(size), catchesFailures()}, error))
    return body(0, count, captures);
  if (error)
    failCompiled(std::move(error));
}

int64_t bppsa_rt_side_by_side(int64_t loops, int64_t iterations) {
  int64_t size = threads();
  auto rounds = [&](int64_t count) { return (count + size - 1) / size; };
  return !inRegion() && size > 1 && rounds(loops) * iterations <= loops * rounds(iterations);
}

int64_t bppsa_rt_task_size(int64_t count, int64_t least, int64_t most) {
  int64_t size = inRegion() ? 1 : threads();
  // Each task has a fixed cost for shared data.
  auto cost = [&](int64_t together) {
    int64_t tasks = (count + together - 1) / together;
    return (tasks + size - 1) / size * (8 * together + most);
  };
  int64_t best = most;
  for (int64_t together = most / 2; size > 1 && together >= least; together /= 2)
    if (cost(together) < cost(best))
      best = together;
  return best;
}
