//===- Support.h - error handling of the C API ------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CAPI_SUPPORT_H
#define BPPSA_LIB_CAPI_SUPPORT_H

#include "bppsa-c/Support.h"

#include <string>

namespace bppsa::capi {

/// Stores the message for bppsaGetLastError() and returns `status`.
BppsaStatus setError(BppsaStatus status, std::string message) noexcept;

} // namespace bppsa::capi

#endif // BPPSA_LIB_CAPI_SUPPORT_H
