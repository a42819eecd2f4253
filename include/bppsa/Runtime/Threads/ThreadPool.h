//===- ThreadPool.h - the threads of parallel regions ---------------------===//
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

/// A number to wait on: first by spinning, since the next parallel region usually follows soon,
/// then asleep.
class Signal {
public:
  void set(uint32_t next);
  uint32_t get() const { return value.load(std::memory_order_acquire); }

  /// Returns once the value differs from `seen`. Spins for `patience` seconds first.
  void waitChange(uint32_t seen, double patience);

private:
  std::atomic<uint32_t> value{0};
  std::atomic<int> sleepers{0};
};

/// A parallel loop: what to run, for how many iterations and with how many threads.
struct Region {
  void (*body)(int64_t first, int64_t last, void *captures) = nullptr;
  void *captures = nullptr;
  int64_t count = 0;
  int32_t size = 1;
  /// Whether threads give the errors of their shares to the calling one (CompiledErrors.h).
  bool catchesFailures = false;
};

/// Whether the calling thread runs a share of a region.
bool &inRegion();

/// Runs the share of thread `number` of the region, which may be empty.
void runShare(const Region &region, int32_t number);

/// What is known of a region from the times it ran.
struct History {
  double seconds = 200e-6;
  /// What an iteration took of one thread, the last time.
  double secondsAnIteration = 1;
  /// How often in a row the workers did not come in time; for how many runs not to call them.
  int failures = 0, alone = 0;

  /// How long to wait for workers: when they share their cores with other programs they may be
  /// away for milliseconds, and a short region is done sooner without them.
  double patience() const;
  /// Whether `count` iterations are worth more threads than one: calling and awaiting them takes
  /// some microseconds.
  bool isLong(int64_t count) const;
  void update(bool came, double duration);
};

/// Threads that run parallel regions together with the calling thread. How many a region has
/// depends on how many are there in time.
class ThreadPool {
public:
  /// `cpus` as setAffinity() takes them.
  explicit ThreadPool(int size, const std::vector<int> &cpus = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;

  /// Runs a region with up to region.size threads: those that come in time. Gives an error that a
  /// share was left for, where the region catches them.
  std::exception_ptr run(const Region &next);

  /// The number of threads, the calling one included.
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
  /// `start` calls the workers to a region; `go` tells those that joined that it is complete.
  Signal start, go, done;
  std::atomic<int> finished{0};
  /// Of the first share that failed; written by the thread that set the flag.
  std::atomic<bool> hasFailed{false};
  std::exception_ptr error;
  std::unordered_map<void *, History> histories;
  std::vector<std::thread> workers;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_THREADS_THREADPOOL_H
