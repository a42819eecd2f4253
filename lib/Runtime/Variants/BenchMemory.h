//===- BenchMemory.h - Whether a benchmark fits into memory ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_VARIANTS_BENCHMEMORY_H
#define BPPSA_LIB_RUNTIME_VARIANTS_BENCHMEMORY_H

#include "bppsa/Runtime/Session.h"

namespace bppsa::runtime {

/// Throws Error, before anything of that size is allocated, where neither the host nor the device
/// has memory for a step on `samples` samples of `steps` steps. The message states the bytes that
/// are needed at least and those that are available.
void requireBenchMemory(const Program &program, int64_t steps, int64_t samples);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_VARIANTS_BENCHMEMORY_H
