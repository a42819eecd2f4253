//===- NaNSearch.h - The node that makes the first NaN --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_NANSEARCH_H
#define BPPSA_LIB_RUNTIME_NANSEARCH_H

#include "bppsa/Runtime/Session.h"

namespace bppsa::runtime {

/// Throws Error where the program was not compiled to find NaNs.
void requireNaNSearch(const Model &model);

/// Computes `function`, `step` or `grad`, on `batch` once more and says which node made the first
/// NaN. The search runs sequentially, whatever the variant of the program's own call.
std::string describeFirstNaN(Session &session, const std::string &function, Batch &batch);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_NANSEARCH_H
