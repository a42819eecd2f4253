//===- pool.h - a spinning thread pool --------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_BENCHMARKS_HANDWRITTEN_POOL_H
#define BPPSA_BENCHMARKS_HANDWRITTEN_POOL_H

#include <atomic>
#include <functional>
#include <immintrin.h>
#include <thread>
#include <vector>

/// Subnormal numbers become zero on the calling thread.
inline void flushDenormals() { _mm_setcsr(_mm_getcsr() | 0x8040); }

/// Runs numbered tasks on a fixed set of threads; task i goes to thread i modulo their number, so
/// sums are formed in the same order every time.
class Pool {
public:
  explicit Pool(int threads) : count(threads) {
    for (int thread = 1; thread < count; ++thread)
      workers.emplace_back([this, thread] { work(thread); });
  }
  ~Pool() {
    stopping = true;
    generation.fetch_add(1);
    for (std::thread &worker : workers)
      worker.join();
  }
  Pool(const Pool &) = delete;
  Pool &operator=(const Pool &) = delete;

  int threads() const { return count; }

  /// Calls task(thread, index) for every index below `tasks` and waits.
  void run(int tasks, std::function<void(int, int)> task) {
    job = std::move(task);
    jobSize = tasks;
    busy = count - 1;
    generation.fetch_add(1);
    share(0);
    while (busy.load() != 0)
      _mm_pause();
  }

private:
  void share(int thread) {
    for (int index = thread; index < jobSize; index += count)
      job(thread, index);
  }

  void work(int thread) {
    flushDenormals();
    for (unsigned seen = 0;;) {
      while (generation.load() == seen)
        _mm_pause();
      ++seen;
      if (stopping)
        return;
      share(thread);
      busy.fetch_sub(1);
    }
  }

  int count;
  std::vector<std::thread> workers;
  std::function<void(int, int)> job;
  int jobSize = 0;
  std::atomic<unsigned> generation{0};
  std::atomic<int> busy{0};
  std::atomic<bool> stopping{false};
};

#endif // BPPSA_BENCHMARKS_HANDWRITTEN_POOL_H
