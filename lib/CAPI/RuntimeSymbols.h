//===- RuntimeSymbols.h - run-time functions of compiled code ---*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CAPI_RUNTIMESYMBOLS_H
#define BPPSA_LIB_CAPI_RUNTIMESYMBOLS_H

#include <utility>
#include <vector>

namespace bppsa::capi {

/// Returns the run-time functions that compiled code may call.
std::vector<std::pair<const char *, const void *>> getRuntimeSymbols();

} // namespace bppsa::capi

#endif // BPPSA_LIB_CAPI_RUNTIMESYMBOLS_H
