//===- MemoryNeed.h - Whether a call fits into the device's memory --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_MEMORYNEED_H
#define BPPSA_LIB_RUNTIME_MEMORYNEED_H

#include "bppsa/Runtime/Session.h"

namespace bppsa::runtime {

/// Whether the device has memory for `function` on `batch`, whose arguments are among `views`. True
/// in CPU programs.
bool fitsMemory(const Program &program, const std::string &function, const Batch &batch,
                const ViewTable &views);

/// Throws Error when the device has no memory for `function` on `batch`, whose arguments are among
/// `views`. The message says what is needed, what there is, and the largest batch that fits. Does
/// nothing in CPU programs.
void requireMemory(const Program &program, const std::string &function, const Batch &batch,
                   const ViewTable &views);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_MEMORYNEED_H
