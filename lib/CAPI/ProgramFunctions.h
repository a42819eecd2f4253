//===- ProgramFunctions.h - programs of other libraries ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Every compiled shared library contains the functions of Program.h and a copy of the run-time
// library. `libbppsa` forwards calls on such a program to the library that created it.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CAPI_PROGRAMFUNCTIONS_H
#define BPPSA_LIB_CAPI_PROGRAMFUNCTIONS_H

#include "Support.h"
#include "bppsa-c/Program.h"

#include <cstddef>

namespace bppsa::capi {

/// A C API function of any type.
using AnyFunction = void (*)();

/// The functions of the library that contains this code. All libraries of the same version use the
/// same order. The table ends with null.
extern const AnyFunction programFunctions[];

/// The base of all program handles.
struct Handle {
  /// `programFunctions` of the library that created the handle.
  const AnyFunction *functions = programFunctions;
};

/// Returns the index of `function` in the table.
size_t findNumber(AnyFunction function);

/// Returns the counterpart of `function` in the library that created `handle`.
template <typename Function> Function *findCounterpart(const Handle *handle, Function *function) {
  if (!handle || handle->functions == programFunctions)
    return function;
  size_t number = findNumber(reinterpret_cast<AnyFunction>(function));
  return reinterpret_cast<Function *>(handle->functions[number]);
}

/// Returns the status of a forwarded call and copies its error message to this library.
inline BppsaStatus relay(const Handle *handle, BppsaStatus status) noexcept {
  return status == BppsaSuccess ? status
                                : setError(status, findCounterpart(handle, &bppsaGetLastError)());
}

} // namespace bppsa::capi

#endif // BPPSA_LIB_CAPI_PROGRAMFUNCTIONS_H
