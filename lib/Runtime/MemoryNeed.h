//===- MemoryNeed.h - Whether a call fits into the device's memory --------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_MEMORYNEED_H
#define BPPSA_LIB_RUNTIME_MEMORYNEED_H

#include "bppsa/Runtime/Session.h"

namespace bppsa::runtime {

/// Returns true if the device has enough memory for `function` on `batch`. Always true in CPU
/// programs.
bool fitsMemory(const Program &program, const std::string &function, const Batch &batch,
                const ViewTable &views);

/// The error states needed and available memory and the largest batch that fits.
void requireMemory(const Program &program, const std::string &function, const Batch &batch,
                   const ViewTable &views);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_MEMORYNEED_H
