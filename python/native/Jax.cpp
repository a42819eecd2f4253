//===- Jax.cpp - programs as XLA custom calls -----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
// Handlers of XLA's foreign function interface, which run without holding the GIL. They are only
// built if jaxlib, which provides the headers, is installed.
//
//===----------------------------------------------------------------------===//

#include "Errors.h"
#include "Program.h"
#include "bppsa-c/Program.h"
#include "xla/ffi/api/ffi.h"
#include <condition_variable>
#include <mutex>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <unordered_map>

namespace nb = nanobind;
namespace ffi = xla::ffi;
using namespace bppsa::python;

namespace {
using Names = std::vector<std::string>;
class JaxCall;

/// A program as a function of parameters and inputs.
class JaxFunction {
public:
  JaxFunction(nb::object program, Names parameters, Names inputs, Names outputs, Names gradients);
  JaxFunction(const JaxFunction &) = delete;
  ~JaxFunction();

  int64_t getNumber() const { return number; }

  /// Computes outputs from parameters and inputs.
  ffi::Error infer(ffi::RemainingArgs arguments, ffi::RemainingRets results);
  /// Computes outputs and residuals from parameters and inputs.
  ffi::Error forward(ffi::RemainingArgs arguments, ffi::RemainingRets results);
  /// Computes gradients from parameters, inputs, residuals and cotangents of outputs.
  ffi::Error backward(ffi::RemainingArgs arguments, ffi::RemainingRets results);

private:
  friend class JaxCall;

  nb::object owner;
  BppsaProgram program;
  /// Names of the parameters, followed by the inputs.
  Names arrays;
  Names outputs, gradients;
  int64_t number;
  /// Number of running calls.
  int64_t calls = 0;
};

/// All existing functions, by number.
struct Registry {
  std::mutex mutex;
  std::condition_variable callEnded;
  std::unordered_map<int64_t, JaxFunction *> functions;
  int64_t next = 0;
};

/// XLA buffers as named arrays.
class NamedBuffers {
public:
  explicit NamedBuffers(size_t most) { tensors.reserve(most); }

  ffi::Error add(const std::string &name, ffi::ErrorOr<ffi::AnyBuffer> buffer);
  /// Adds consecutive arguments, starting at index `first`.
  ffi::Error addAll(const Names &names, ffi::RemainingArgs arguments, size_t first = 0);
  ffi::Error addAll(const Names &names, ffi::RemainingRets results);
  const BppsaNamedArray *data() const { return named.data(); }
  intptr_t size() const { return static_cast<intptr_t>(named.size()); }

private:
  std::vector<DLTensor> tensors;
  std::vector<BppsaNamedArray> named;
};
} // namespace

static Registry &getRegistry() {
  static Registry registry;
  return registry;
}

JaxFunction::JaxFunction(nb::object program, Names parameters, Names inputs, Names outputs,
                         Names gradients)
    : owner(program), program(nb::cast<const Program &>(program).get()),
      arrays(std::move(parameters)), outputs(std::move(outputs)), gradients(std::move(gradients)) {
  arrays.insert(arrays.end(), inputs.begin(), inputs.end());
  Registry &registry = getRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  number = registry.next++;
  registry.functions[number] = this;
}

/// Waits for running calls, because XLA's threads hold no Python references.
JaxFunction::~JaxFunction() {
  nb::gil_scoped_release release;
  Registry &registry = getRegistry();
  std::unique_lock<std::mutex> lock(registry.mutex);
  registry.functions.erase(number);
  registry.callEnded.wait(lock, [this] { return calls == 0; });
}

namespace {
/// Looks up a function by number and keeps it alive during the call.
class JaxCall {
public:
  explicit JaxCall(int64_t number) {
    std::lock_guard<std::mutex> lock(registry.mutex);
    auto found = registry.functions.find(number);
    if (found == registry.functions.end())
      return;
    function = found->second;
    ++function->calls;
  }
  ~JaxCall() {
    std::lock_guard<std::mutex> lock(registry.mutex);
    if (function && --function->calls == 0)
      registry.callEnded.notify_all();
  }
  JaxCall(const JaxCall &) = delete;

  /// Returns null if the function no longer exists.
  JaxFunction *get() const { return function; }

private:
  Registry &registry = getRegistry();
  JaxFunction *function = nullptr;
};
} // namespace

static std::optional<DLDataType> toDLPack(ffi::DataType type) {
  switch (type) {
  case ffi::DataType::F32:
    return DLDataType{kDLFloat, 32, 1};
  case ffi::DataType::S32:
    return DLDataType{kDLInt, 32, 1};
  case ffi::DataType::S64:
    return DLDataType{kDLInt, 64, 1};
  case ffi::DataType::U8:
    return DLDataType{kDLUInt, 8, 1};
  case ffi::DataType::PRED:
    return DLDataType{kDLBool, 8, 1};
  default:
    return std::nullopt;
  }
}

ffi::Error NamedBuffers::add(const std::string &name, ffi::ErrorOr<ffi::AnyBuffer> buffer) {
  if (!buffer)
    return buffer.error();
  std::optional<DLDataType> type = toDLPack(buffer->element_type());
  if (!type)
    return ffi::Error::InvalidArgument("array '" + name +
                                       "' must be of type float32, int32, int64 or bool");
  auto dimensions = buffer->dimensions();
  tensors.push_back({buffer->untyped_data(),
                     {kDLCPU, 0},
                     static_cast<int32_t>(dimensions.size()),
                     *type,
                     const_cast<int64_t *>(dimensions.begin()),
                     /*strides=*/nullptr,
                     /*byte_offset=*/0});
  named.push_back({name.c_str(), &tensors.back()});
  return ffi::Error::Success();
}

static ffi::ErrorOr<ffi::AnyBuffer> getResult(ffi::RemainingRets results, size_t index) {
  ffi::ErrorOr<ffi::Result<ffi::AnyBuffer>> result = results.get<ffi::AnyBuffer>(index);
  if (!result)
    return ffi::Unexpected(result.error());
  return **result;
}

ffi::Error NamedBuffers::addAll(const Names &names, ffi::RemainingArgs arguments, size_t first) {
  for (size_t i = 0; i < names.size(); ++i)
    if (ffi::Error error = add(names[i], arguments.get<ffi::AnyBuffer>(first + i)); error.failure())
      return error;
  return ffi::Error::Success();
}

ffi::Error NamedBuffers::addAll(const Names &names, ffi::RemainingRets results) {
  for (size_t i = 0; i < names.size(); ++i)
    if (ffi::Error error = add(names[i], getResult(results, i)); error.failure())
      return error;
  return ffi::Error::Success();
}

static ffi::Error toError(BppsaStatus status) {
  return status == BppsaSuccess ? ffi::Error::Success()
                                : ffi::Error::InvalidArgument(bppsaGetLastError());
}

ffi::Error JaxFunction::infer(ffi::RemainingArgs arguments, ffi::RemainingRets results) {
  NamedBuffers read(arrays.size()), written(outputs.size());
  if (ffi::Error error = read.addAll(arrays, arguments); error.failure())
    return error;
  if (ffi::Error error = written.addAll(outputs, results); error.failure())
    return error;
  return toError(
      bppsaProgramInferInto(program, read.data(), read.size(), written.data(), written.size()));
}

ffi::Error JaxFunction::forward(ffi::RemainingArgs arguments, ffi::RemainingRets results) {
  NamedBuffers read(arrays.size()), written(outputs.size()), kept(1);
  if (ffi::Error error = read.addAll(arrays, arguments); error.failure())
    return error;
  if (ffi::Error error = written.addAll(outputs, results); error.failure())
    return error;
  if (ffi::Error error = kept.add("residuals", getResult(results, outputs.size())); error.failure())
    return error;
  return toError(bppsaProgramForward(program, read.data(), read.size(), written.data(),
                                     written.size(), kept.data()->array));
}

ffi::Error JaxFunction::backward(ffi::RemainingArgs arguments, ffi::RemainingRets results) {
  NamedBuffers read(arrays.size()), kept(1), cotangents(outputs.size()), written(gradients.size());
  if (ffi::Error error = read.addAll(arrays, arguments); error.failure())
    return error;
  if (ffi::Error error = kept.add("residuals", arguments.get<ffi::AnyBuffer>(arrays.size()));
      error.failure())
    return error;
  if (ffi::Error error = cotangents.addAll(outputs, arguments, arrays.size() + 1); error.failure())
    return error;
  if (ffi::Error error = written.addAll(gradients, results); error.failure())
    return error;
  return toError(bppsaProgramBackward(program, read.data(), read.size(), kept.data()->array,
                                      cotangents.data(), cotangents.size(), written.data(),
                                      written.size()));
}

/// Calls a member of the function with the given number.
template <ffi::Error (JaxFunction::*member)(ffi::RemainingArgs, ffi::RemainingRets)>
static ffi::Error dispatch(ffi::RemainingArgs arguments, ffi::RemainingRets results,
                           int64_t number) {
  JaxCall call(number);
  if (!call.get())
    return ffi::Error::InvalidArgument("the function of bppsa.jax that is called has been freed");
  return (call.get()->*member)(arguments, results);
}

XLA_FFI_DEFINE_HANDLER(inferHandler, dispatch<&JaxFunction::infer>,
                       ffi::Ffi::Bind().RemainingArgs().RemainingRets().Attr<int64_t>("number"));
XLA_FFI_DEFINE_HANDLER(forwardHandler, dispatch<&JaxFunction::forward>,
                       ffi::Ffi::Bind().RemainingArgs().RemainingRets().Attr<int64_t>("number"));
XLA_FFI_DEFINE_HANDLER(backwardHandler, dispatch<&JaxFunction::backward>,
                       ffi::Ffi::Bind().RemainingArgs().RemainingRets().Attr<int64_t>("number"));

void bppsa::python::bindJax(nb::module_ &module) {
  nb::class_<JaxFunction>(module, "JaxFunction")
      .def(nb::init<nb::object, Names, Names, Names, Names>())
      .def_prop_ro("number", &JaxFunction::getNumber);
  module.def("jax_handlers", [] {
    nb::dict handlers;
    handlers["bppsa_infer"] = nb::capsule(reinterpret_cast<void *>(inferHandler));
    handlers["bppsa_forward"] = nb::capsule(reinterpret_cast<void *>(forwardHandler));
    handlers["bppsa_backward"] = nb::capsule(reinterpret_cast<void *>(backwardHandler));
    return handlers;
  });
}
