//===- Jax.cpp - programs as calls of XLA ---------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
// Handlers of XLA's foreign function interface, which run without the interpreter's lock. They are
// in packages that are built where jaxlib, whose headers they need, is installed.
//
//===----------------------------------------------------------------------===//

#include "Errors.h"
#include "Program.h"
#include "bppsa-c/Program.h"
#include "xla/ffi/api/ffi.h"
#include <algorithm>
#include <cmath>
#include <cstring>
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

/// A program as a function of parameters and inputs.
class JaxFunction {
public:
  JaxFunction(nb::object program, std::vector<int64_t> parameters, Names inputs, Names outputs,
              Names targets, Names gradients);
  JaxFunction(const JaxFunction &) = delete;
  ~JaxFunction();

  int64_t getNumber() const { return number; }

  ffi::Error call(ffi::RemainingArgs arguments, ffi::RemainingRets results);
  ffi::Error pullBack(ffi::RemainingArgs arguments, ffi::RemainingRets results);

private:
  ffi::Error load(ffi::RemainingArgs arguments);

  nb::object owner;
  BppsaProgram program;
  /// Those of the C API.
  std::vector<int64_t> parameters;
  Names inputs, outputs, targets, gradients;
  int64_t number;
  std::mutex mutex;
};

/// The functions that are alive, by their numbers.
struct Registry {
  std::mutex mutex;
  std::unordered_map<int64_t, JaxFunction *> functions;
  int64_t next = 0;
};

/// Arrays of XLA under their names.
class NamedBuffers {
public:
  explicit NamedBuffers(size_t most) { tensors.reserve(most); }

  ffi::Error add(const std::string &name, ffi::ErrorOr<ffi::AnyBuffer> buffer);
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

JaxFunction::JaxFunction(nb::object program, std::vector<int64_t> parameters, Names inputs,
                         Names outputs, Names targets, Names gradients)
    : owner(program), program(nb::cast<const Program &>(program).get()),
      parameters(std::move(parameters)), inputs(std::move(inputs)), outputs(std::move(outputs)),
      targets(std::move(targets)), gradients(std::move(gradients)) {
  Registry &registry = getRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  number = registry.next++;
  registry.functions[number] = this;
}

JaxFunction::~JaxFunction() {
  Registry &registry = getRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  registry.functions.erase(number);
}

static std::optional<DLDataType> toDLPack(ffi::DataType type) {
  switch (type) {
  case ffi::DataType::F32:
    return DLDataType{kDLFloat, 32, 1};
  case ffi::DataType::S32:
    return DLDataType{kDLInt, 32, 1};
  case ffi::DataType::S64:
    return DLDataType{kDLInt, 64, 1};
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

/// Writes the parameters, which are the first arguments, to the program.
ffi::Error JaxFunction::load(ffi::RemainingArgs arguments) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    ffi::ErrorOr<ffi::AnyBuffer> buffer = arguments.get<ffi::AnyBuffer>(i);
    const DLTensor *view;
    if (!buffer)
      return buffer.error();
    if (bppsaProgramGetParameter(program, parameters[i], &view) != BppsaSuccess)
      return ffi::Error::Internal(bppsaGetLastError());
    memcpy(view->data, buffer->untyped_data(), buffer->size_bytes());
  }
  return ffi::Error::Success();
}

ffi::Error JaxFunction::call(ffi::RemainingArgs arguments, ffi::RemainingRets results) {
  std::lock_guard<std::mutex> lock(mutex);
  if (ffi::Error error = load(arguments); error.failure())
    return error;
  NamedBuffers read(inputs.size()), written(outputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (ffi::Error error =
            read.add(inputs[i], arguments.get<ffi::AnyBuffer>(parameters.size() + i));
        error.failure())
      return error;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (ffi::Error error = written.add(outputs[i], getResult(results, i)); error.failure())
      return error;
  if (bppsaProgramInferInto(program, read.data(), read.size(), written.data(), written.size()))
    return ffi::Error::InvalidArgument(bppsaGetLastError());
  return ffi::Error::Success();
}

ffi::Error JaxFunction::pullBack(ffi::RemainingArgs arguments, ffi::RemainingRets results) {
  std::lock_guard<std::mutex> lock(mutex);
  if (ffi::Error error = load(arguments); error.failure())
    return error;
  NamedBuffers read(inputs.size() + targets.size()), written(gradients.size());
  for (size_t i = 0; i < inputs.size() + targets.size(); ++i) {
    const std::string &name = i < inputs.size() ? inputs[i] : targets[i - inputs.size()];
    if (ffi::Error error = read.add(name, arguments.get<ffi::AnyBuffer>(parameters.size() + i));
        error.failure())
      return error;
  }
  for (size_t i = 0; i < gradients.size(); ++i)
    if (ffi::Error error = written.add(gradients[i], getResult(results, i)); error.failure())
      return error;
  BppsaStatus status = bppsaProgramGradInto(program, read.data(), read.size(), /*loss=*/nullptr,
                                            written.data(), written.size());
  if (status == BppsaSuccess)
    return ffi::Error::Success();
  if (status != BppsaDiverged)
    return ffi::Error::InvalidArgument(bppsaGetLastError());
  for (size_t i = 0; i < gradients.size(); ++i) {
    ffi::AnyBuffer buffer = *getResult(results, i);
    std::fill_n(static_cast<float *>(buffer.untyped_data()), buffer.element_count(), NAN);
  }
  return ffi::Error::Success();
}

/// Calls a member of the function of that number.
template <ffi::Error (JaxFunction::*member)(ffi::RemainingArgs, ffi::RemainingRets)>
static ffi::Error dispatch(ffi::RemainingArgs arguments, ffi::RemainingRets results,
                           int64_t number) {
  JaxFunction *function = nullptr;
  {
    Registry &registry = getRegistry();
    std::lock_guard<std::mutex> lock(registry.mutex);
    if (auto found = registry.functions.find(number); found != registry.functions.end())
      function = found->second;
  }
  if (!function)
    return ffi::Error::InvalidArgument("the function of bppsa.jax that is called has been freed");
  return (function->*member)(arguments, results);
}

XLA_FFI_DEFINE_HANDLER(callHandler, dispatch<&JaxFunction::call>,
                       ffi::Ffi::Bind().RemainingArgs().RemainingRets().Attr<int64_t>("number"));
XLA_FFI_DEFINE_HANDLER(pullBackHandler, dispatch<&JaxFunction::pullBack>,
                       ffi::Ffi::Bind().RemainingArgs().RemainingRets().Attr<int64_t>("number"));

void bppsa::python::bindJax(nb::module_ &module) {
  nb::class_<JaxFunction>(module, "JaxFunction")
      .def(nb::init<nb::object, std::vector<int64_t>, Names, Names, Names, Names>())
      .def_prop_ro("number", &JaxFunction::getNumber);
  module.def("jax_handlers", [] {
    nb::dict handlers;
    handlers["bppsa_call"] = nb::capsule(reinterpret_cast<void *>(callHandler));
    handlers["bppsa_pull_back"] = nb::capsule(reinterpret_cast<void *>(pullBackHandler));
    return handlers;
  });
}
