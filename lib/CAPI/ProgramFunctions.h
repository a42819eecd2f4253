//===- ProgramFunctions.h - programs of other libraries ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Every compiled shared library has the functions of Program.h with a run-time library of its own.
// What `libbppsa` gets for such a program it hands to the library that made it.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CAPI_PROGRAMFUNCTIONS_H
#define BPPSA_LIB_CAPI_PROGRAMFUNCTIONS_H

#include "Support.h"
#include "bppsa-c/Program.h"

#include <cstddef>

namespace bppsa::capi {

/// A function of the C API, whatever its type.
using AnyFunction = void (*)();

/// The functions of the library that this is compiled into, in an order that all libraries of a
/// version share; ends with null.
extern const AnyFunction programFunctions[];

/// What handles of programs begin with.
struct Handle {
  /// `programFunctions` of the library that made it.
  const AnyFunction *functions = programFunctions;
};

/// The number of `function` in the table.
size_t findNumber(AnyFunction function);

/// What `function` is in the library that made `handle`.
template <typename Function> Function *inLibraryOf(const Handle *handle, Function *function) {
  if (!handle || handle->functions == programFunctions)
    return function;
  size_t number = findNumber(reinterpret_cast<AnyFunction>(function));
  return reinterpret_cast<Function *>(handle->functions[number]);
}

/// The status of a call of the library that made `handle`, with its message.
inline BppsaStatus relay(const Handle *handle, BppsaStatus status) noexcept {
  return status == BppsaSuccess ? status
                                : setError(status, inLibraryOf(handle, &bppsaGetLastError)());
}

} // namespace bppsa::capi

#endif // BPPSA_LIB_CAPI_PROGRAMFUNCTIONS_H
