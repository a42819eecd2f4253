//===- ProgramFunctions.h - programs of other libraries ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Every compiled shared library contains the functions of Program.h; `libbppsa` forwards calls to
// the library that created the program.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CAPI_PROGRAMFUNCTIONS_H
#define BPPSA_LIB_CAPI_PROGRAMFUNCTIONS_H

#include "Support.h"
#include "bppsa-c/Program.h"

#include <cstddef>

namespace bppsa::capi {

using AnyFunction = void (*)();

/// All libraries of a version use the same order. Ends with null.
extern const AnyFunction programFunctions[];

struct Handle {
  const AnyFunction *functions = programFunctions;
};

size_t findNumber(AnyFunction function);

/// Returns the counterpart of `function` in the library of `handle`.
template <typename Function> Function *findCounterpart(const Handle *handle, Function *function) {
  if (!handle || handle->functions == programFunctions)
    return function;
  size_t number = findNumber(reinterpret_cast<AnyFunction>(function));
  return reinterpret_cast<Function *>(handle->functions[number]);
}

/// Copies the error message of a forwarded call to this library.
inline BppsaStatus relay(const Handle *handle, BppsaStatus status) noexcept {
  return status == BppsaSuccess ? status
                                : setError(status, findCounterpart(handle, &bppsaGetLastError)());
}

} // namespace bppsa::capi

#endif // BPPSA_LIB_CAPI_PROGRAMFUNCTIONS_H
