//===- ThreadPool.h - The threads of parallel regions ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_THREADS_THREADPOOL_H
#define BPPSA_RUNTIME_THREADS_THREADPOOL_H

#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>
#include <unordered_map>
#include <vector>

namespace bppsa::runtime {

/// A value that threads wait on: first by spinning, because the next parallel region usually
/// follows soon, then by sleeping.
class Signal {
public:
  void set(uint32_t next);
  uint32_t get() const { return value.load(std::memory_order_acquire); }

  /// Returns once the value differs from `seen`. Spins for up to `patience` seconds before
  /// sleeping.
  void waitChange(uint32_t seen, double patience);

private:
  std::atomic<uint32_t> value{0};
  std::atomic<int> sleepers{0};
};

/// A parallel loop.
struct Region {
  void (*body)(int64_t first, int64_t last, void *captures) = nullptr;
  void *captures = nullptr;
  int64_t count = 0;
  int32_t size = 1;
  /// Errors in shares are passed to the calling thread (CompiledErrors.h).
  bool catchesFailures = false;
};

bool &inRegion();

/// Runs the possibly empty share of thread `number`.
void runShare(const Region &region, int32_t number);

struct History {
  double seconds = 200e-6;
  /// Seconds per iteration and thread in the last run.
  double secondsAnIteration = 1;
  /// The number of consecutive runs with too few workers in time, and the number of further runs
  /// that do not call the workers.
  int failures = 0, alone = 0;

  /// How long to wait for workers. If they share their cores with other programs, they may not be
  /// scheduled for milliseconds, and a short region finishes sooner without them.
  double patience() const;
  /// Returns true if `count` iterations justify more than one thread: starting and joining workers
  /// takes some microseconds.
  bool isLong(int64_t count) const;
  void update(bool came, double duration);
};

/// Worker threads that run parallel regions together with the calling thread. The number of threads
/// of a region depends on how many workers arrive in time.
class ThreadPool {
public:
  explicit ThreadPool(int size, const std::vector<int> &cpus = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;

  /// Runs a region with up to region.size threads: the calling thread and the workers that arrive
  /// in time. Returns the first error of a share if the region catches failures.
  std::exception_ptr run(const Region &next);

  /// Includes the calling thread.
  const int size;

private:
  int32_t callWorkers(int32_t wanted, double patience);
  int32_t join(uint32_t current);
  void work();
  void runAs(int32_t number);
  void catchIn(int32_t number);

  const double patience;
  Region region;
  std::atomic<bool> stopping{false};
  /// The number of the last region that workers were called to.
  uint32_t epoch = 0;
  std::atomic<uint64_t> ticket{0};
  /// `start` calls the workers to a region. `go` releases those that joined once the number of
  /// threads is final.
  Signal start, go, done;
  std::atomic<int> finished{0};
  /// The error of the first share that failed. Only the thread that set `hasFailed` writes `error`.
  std::atomic<bool> hasFailed{false};
  std::exception_ptr error;
  std::unordered_map<void *, History> histories;
  std::vector<std::thread> workers;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_THREADS_THREADPOOL_H
