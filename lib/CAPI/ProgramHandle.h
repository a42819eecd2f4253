//===- ProgramHandle.h - definition of BppsaProgramOpaque -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CAPI_PROGRAMHANDLE_H
#define BPPSA_LIB_CAPI_PROGRAMHANDLE_H

#include "CallMutex.h"
#include "CreateProgram.h"
#include "ProgramFunctions.h"
#include "bppsa/Runtime/CompiledErrors.h"
#include "bppsa/Runtime/Embedding/EmbeddedProgram.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Threads/Threads.h"

#include <array>
#include <deque>
#include <mutex>
#include <new>

namespace bppsa::capi {

struct ArrayText {
  std::string name, carried;
  std::vector<int64_t> shape;
  BppsaArrayInfo info = {};
};

} // namespace bppsa::capi

struct BppsaProgramOpaque : bppsa::capi::Handle {
  BppsaProgramOpaque(bppsa::runtime::Program loaded, std::shared_ptr<void> code);

  void describeArrays();
  void add(BppsaArrayKind kind, const bppsa::runtime::ArrayInfo &info, bool isOptional);
  void addParameter(BppsaArrayKind kind, const bppsa::runtime::ParameterInfo &info);
  void viewParameters();

  const std::shared_ptr<void> code;
  bppsa::runtime::EmbeddedProgram program;
  /// Held during every call, including compilation.
  bppsa::capi::CallMutex mutex;
  std::array<std::deque<bppsa::capi::ArrayText>, 5> arrays;
  std::vector<DLTensor> views;
};

namespace bppsa::capi {

template <typename Action> BppsaStatus guard(Action &&action) noexcept {
  try {
    action();
    return BppsaSuccess;
  } catch (const runtime::UsageError &error) {
    return setError(BppsaWrongUsage, error.what());
  } catch (const runtime::NoDeviceError &error) {
    return setError(BppsaNoDevice, error.what());
  } catch (const runtime::DivergedError &error) {
    return setError(BppsaDiverged, error.what());
  } catch (const runtime::Error &error) {
    return setError(BppsaWrongInput, error.what());
  } catch (const std::bad_alloc &) {
    return setError(BppsaWrongInput, "out of memory; use smaller batches or shorter sequences");
  } catch (const std::exception &error) {
    return setError(BppsaInternalError, error.what());
  }
}

/// Runs `action` with exclusive access, the program's thread limit and the floating-point mode of
/// compiled code, or forwards to `function` of another library.
template <auto function, typename Action, typename... Arguments>
BppsaStatus use(BppsaProgram handle, Action &&action, Arguments... arguments) noexcept {
  if (auto *other = findCounterpart(handle, function); other != function)
    return relay(handle, other(handle, arguments...));
  return guard([&] {
    if (!handle)
      throw runtime::UsageError("the program is null");
    std::lock_guard lock(handle->mutex);
    runtime::ThreadLimit threads(handle->program.threadCount());
    runtime::DenormalsFlushed arithmetic;
    runtime::ScopedThrowFailures failures;
    action(handle->program);
  });
}

template <typename T> T &require(T *pointer, const char *what) {
  if (!pointer)
    throw runtime::UsageError(runtime::text(what, " is null"));
  return *pointer;
}

const ArrayText &findArray(BppsaProgram program, BppsaArrayKind kind, intptr_t index);

} // namespace bppsa::capi

#endif // BPPSA_LIB_CAPI_PROGRAMHANDLE_H
