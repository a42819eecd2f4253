//===- Threads.h - Thread pool behind compiled parallel loops -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_THREADS_THREADS_H
#define BPPSA_RUNTIME_THREADS_THREADS_H

namespace bppsa::runtime {

/// The number of cores this process may use.
int availableCores();

/// Sets the most threads of a parallel region (the calling one included), for all callers. Takes
/// effect at the next region; the threads start then.
void setThreads(int count);
int threads();

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
