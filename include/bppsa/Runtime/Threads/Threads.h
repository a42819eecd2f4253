//===- Threads.h - Thread pool behind compiled parallel loops -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_THREADS_THREADS_H
#define BPPSA_RUNTIME_THREADS_THREADS_H

#include <string>
#include <vector>

namespace bppsa::runtime {

int availableCores();

/// Sets the maximum number of threads, including the calling thread, from the next region on.
void setThreads(int count);
int threads();

/// Binds worker i (from 1) to cpus[i], wrapping around. The calling thread is not bound. An empty
/// list removes the binding. Throws Error for unavailable CPUs.
void setAffinity(std::vector<int> cpus);
/// Parses "0,2-4". Throws UsageError.
std::vector<int> parseCpus(const std::string &text);

/// Overrides setThreads() for the calling thread; 0 removes the override.
class ThreadLimit {
public:
  explicit ThreadLimit(int count);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit &) = delete;

private:
  int before;
};

/// Treats denormal values as zero on this thread.
void flushDenormals();

class DenormalsFlushed {
public:
  DenormalsFlushed();
  ~DenormalsFlushed();
  DenormalsFlushed(const DenormalsFlushed &) = delete;

private:
  unsigned before = 0;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_THREADS_THREADS_H
