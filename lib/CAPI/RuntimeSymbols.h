//===- RuntimeSymbols.h - what compiled code calls --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CAPI_RUNTIMESYMBOLS_H
#define BPPSA_LIB_CAPI_RUNTIMESYMBOLS_H

#include <utility>
#include <vector>

namespace bppsa::capi {

/// The functions of the run-time library that compiled code may call, by their symbols.
std::vector<std::pair<const char *, const void *>> getRuntimeSymbols();

} // namespace bppsa::capi

#endif // BPPSA_LIB_CAPI_RUNTIMESYMBOLS_H
