//===- MemoryUse.h - What training takes in memory --------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_VARIANTS_MEMORYUSE_H
#define BPPSA_LIB_RUNTIME_VARIANTS_MEMORYUSE_H

#include "bppsa/Runtime/Session.h"

#include <nlohmann/json.hpp>

namespace bppsa::runtime {

/// Bytes that training on batches of `samples` samples of `steps` steps takes: `parameters`,
/// `gradients`, `optimizer`, the `arrays` of a batch, and by variant the residuals and temporaries
/// of a `step` at most, which is run to count them. Where the model has no such axis, or fixes it,
/// the number is ignored or must be the one it fixes; throws Error then.
nlohmann::ordered_json describeMemory(const Program &program, int64_t steps, int64_t samples);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_VARIANTS_MEMORYUSE_H
