//===- NaNSearch.h - Find the node that creates the first NaN ---*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_NANSEARCH_H
#define BPPSA_LIB_RUNTIME_NANSEARCH_H

#include "bppsa/Runtime/Session.h"

namespace bppsa::runtime {

/// Throws Error if the program was not compiled with --check-nan.
void requireNaNSearch(const Model &model);

/// Reruns `function` (`step` or `grad`) on `batch`, in the sequential variant, and names the node
/// that created the first NaN.
std::string describeFirstNaN(Session &session, const std::string &function, Batch &batch);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_NANSEARCH_H
