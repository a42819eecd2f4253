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

/// Sets the number of threads of the pool (the calling thread included). Takes effect at the next
/// parallel region; the threads start then.
void setThreads(int count);
int threads();

/// Makes the calling thread's floating-point arithmetic treat denormal numbers as zero.
void flushDenormals();

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_THREADS_THREADS_H
