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

/// Returns the bytes for training on batches of `samples` samples of `steps` time steps:
/// `parameters`, `gradients`, `optimizer`, the `arrays` of a batch, and for each variant the peak
/// residuals and temporaries of a `step`, which is run to measure them. Sizes of axes that the
/// model does not have are ignored. Throws Error if the model fixes a different size.
nlohmann::ordered_json describeMemory(const Program &program, int64_t steps, int64_t samples);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_VARIANTS_MEMORYUSE_H
