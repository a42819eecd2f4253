//===- Support.cpp - error handling of the C API --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include <utility>

static std::string &lastError() {
  static thread_local std::string message;
  return message;
}

BppsaStatus bppsa::capi::setError(BppsaStatus status, std::string message) noexcept {
  lastError() = std::move(message);
  return status;
}

const char *bppsaGetLastError(void) { return lastError().c_str(); }

const char *bppsaGetVersion(void) { return BPPSA_VERSION; }
