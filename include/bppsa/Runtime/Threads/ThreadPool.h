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

/// Threads wait by spinning, because the next region usually follows soon, then by sleeping.
class Signal {
public:
  void set(uint32_t next);
  uint32_t get() const { return value.load(std::memory_order_acquire); }

  /// Spins for up to `patience` seconds before sleeping.
  void waitChange(uint32_t seen, double patience);

private:
  std::atomic<uint32_t> value{0};
  std::atomic<int> sleepers{0};
};

struct Region {
  void (*body)(int64_t first, int64_t last, void *captures) = nullptr;
  void *captures = nullptr;
  int64_t count = 0;
  int32_t size = 1;
  bool catchesFailures = false;
};

bool &inRegion();

/// The share may be empty.
void runShare(const Region &region, int32_t number);

struct History {
  double seconds = 200e-6;
  /// Seconds per iteration and thread in the last run.
  double secondsAnIteration = 1;
  /// Consecutive runs with too few workers in time, and further runs without workers.
  int failures = 0, alone = 0;

  /// If workers share their cores with other programs, they may be late by milliseconds, and a
  /// short region finishes sooner without them.
  double patience() const;
  /// Starting and joining workers takes some microseconds.
  bool isLong(int64_t count) const;
  void update(bool came, double duration);
};

/// Worker threads that run regions together with the calling thread. Workers that arrive late are
/// left out.
class ThreadPool {
public:
  explicit ThreadPool(int size, const std::vector<int> &cpus = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;

  /// Uses up to region.size threads. Returns the first error if the region catches failures.
  std::exception_ptr run(const Region &next);

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
  uint32_t epoch = 0;
  std::atomic<uint64_t> ticket{0};
  /// `start` calls the workers; `go` releases those that joined once their number is final.
  Signal start, go, done;
  std::atomic<int> finished{0};
  std::atomic<bool> hasFailed{false};
  std::exception_ptr error;
  std::unordered_map<void *, History> histories;
  std::vector<std::thread> workers;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_THREADS_THREADPOOL_H
