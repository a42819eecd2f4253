//===- BenchMemory.h - Memory check of benchmarks ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_VARIANTS_BENCHMEMORY_H
#define BPPSA_LIB_RUNTIME_VARIANTS_BENCHMEMORY_H

#include "bppsa/Runtime/Session.h"

namespace bppsa::runtime {

/// Throws Error, before allocating, if memory is insufficient for `samples` samples of `steps` time
/// steps.
void requireBenchMemory(const Program &program, int64_t steps, int64_t samples);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_VARIANTS_BENCHMEMORY_H
