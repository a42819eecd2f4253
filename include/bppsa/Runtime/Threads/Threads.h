//===- Threads.h - Thread pool behind compiled parallel loops -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_THREADS_THREADS_H
#define BPPSA_RUNTIME_THREADS_THREADS_H

#include <string>
#include <vector>

namespace bppsa::runtime {

/// The number of cores this process may use.
int availableCores();

/// Sets the most threads of a parallel region (the calling one included), for all callers. Takes
/// effect at the next region; the threads start then.
void setThreads(int count);
int threads();

/// Binds the threads that help others to CPUs: number i of them, from 1, to cpus[i] or, where there
/// are fewer, to those from the first on again. The first one is left for the calling thread, which
/// stays where it is. None: threads run anywhere. Throws Error where the process may not use a CPU.
void setAffinity(std::vector<int> cpus);
/// "0,2-4" as numbers; throws UsageError where the text is no such list.
std::vector<int> parseCpus(const std::string &text);

/// Sets it for the calling thread, while this lives; 0: to what setThreads() says.
class ThreadLimit {
public:
  explicit ThreadLimit(int count);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit &) = delete;

private:
  int before;
};

/// Makes the calling thread's floating-point arithmetic treat denormal numbers as zero.
void flushDenormals();

/// Does so while this lives.
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
