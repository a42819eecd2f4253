//===- Errors.h - failed calls as exceptions --------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_PYTHON_NATIVE_ERRORS_H
#define BPPSA_PYTHON_NATIVE_ERRORS_H

#include "bppsa-c/Support.h"
#include <string>

namespace bppsa::python {

/// Throws the exception of `bppsa.errors` that says `message`.
[[noreturn]] void raise(BppsaStatus status, const std::string &message);

/// Throws what the last call says where it has failed.
void check(BppsaStatus status);

} // namespace bppsa::python

#endif // BPPSA_PYTHON_NATIVE_ERRORS_H
