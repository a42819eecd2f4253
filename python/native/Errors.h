//===- Errors.h - errors of the C API as exceptions -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_PYTHON_NATIVE_ERRORS_H
#define BPPSA_PYTHON_NATIVE_ERRORS_H

#include "bppsa-c/Support.h"
#include <string>

namespace bppsa::python {

/// Raises the exception of `bppsa.errors` for `status` with `message`.
[[noreturn]] void raise(BppsaStatus status, const std::string &message);

/// Raises the last error of the C API unless `status` is success.
void check(BppsaStatus status);

} // namespace bppsa::python

#endif // BPPSA_PYTHON_NATIVE_ERRORS_H
