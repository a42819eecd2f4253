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

/// Sets the maximum number of threads of a parallel region, including the calling thread, for all
/// callers. Takes effect at the next region, which starts the threads.
void setThreads(int count);
int threads();

/// Binds the worker threads to CPUs: worker i (counted from 1) to cpus[i], wrapping around if there
/// are fewer CPUs. cpus[0] is left to the calling thread, which is not bound. An empty list removes
/// the binding. Throws Error if the process may not use one of the CPUs.
void setAffinity(std::vector<int> cpus);
/// Parses a CPU list such as "0,2-4". Throws UsageError if it is malformed.
std::vector<int> parseCpus(const std::string &text);

/// Overrides setThreads() for the calling thread during its lifetime; 0 removes the override.
class ThreadLimit {
public:
  explicit ThreadLimit(int count);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit &) = delete;

private:
  int before;
};

/// Makes the calling thread treat denormal floating-point values as zero.
void flushDenormals();

/// Enables flushDenormals() during its lifetime.
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
