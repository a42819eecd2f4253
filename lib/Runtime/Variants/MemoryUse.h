//===- MemoryUse.h - Memory use of training -------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_VARIANTS_MEMORYUSE_H
#define BPPSA_LIB_RUNTIME_VARIANTS_MEMORYUSE_H

#include "bppsa/Runtime/Session.h"

#include <nlohmann/json.hpp>

namespace bppsa::runtime {

/// Returns the bytes for training: `parameters`, `gradients`, `optimizer`, `arrays` of a batch, and
/// for each variant the peak residuals and temporaries of a measured `step`. Throws Error if the
/// model fixes a different size.
nlohmann::ordered_json describeMemory(const Program &program, int64_t steps, int64_t samples);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_VARIANTS_MEMORYUSE_H
