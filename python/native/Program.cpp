//===- Program.cpp - Python bindings of programs --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
// A thin layer: names, documentation and everything that is not performance-critical are in
// bppsa/program.py.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "Arrays.h"
#include "Errors.h"
#include <cmath>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace bppsa::python;

/// Calls the C API without the GIL. Every call that may wait for the program must do so: a thread
/// that trains the program takes the GIL in its callbacks.
template <typename Call> static void compute(Call call) {
  BppsaStatus status;
  {
    nb::gil_scoped_release release;
    status = call();
  }
  check(status);
}

//===----------------------------------------------------------------------===//
// Description
//===----------------------------------------------------------------------===//

static BppsaArrayInfo getArray(const Program &program, BppsaArrayKind kind, intptr_t index) {
  BppsaArrayInfo info;
  check(bppsaProgramGetArray(program.get(), kind, index, &info));
  return info;
}

static nb::object axis(int64_t number) {
  return number < 0 ? nb::none() : nb::object(nb::int_(number));
}

/// Returns the arrays of a kind as dicts with the arguments of `bppsa.program.ArrayInfo`.
static nb::list describe(const Program &program, int kind) {
  nb::list arrays;
  auto kindOfArray = static_cast<BppsaArrayKind>(kind);
  for (intptr_t i = 0; i < bppsaProgramGetNumArrays(program.get(), kindOfArray); ++i) {
    BppsaArrayInfo info = getArray(program, kindOfArray, i);
    nb::list shape;
    for (int32_t d = 0; d < info.rank; ++d)
      shape.append(axis(info.shape[d]));
    nb::dict array;
    array["name"] = info.name;
    array["dtype"] = nameType(info.dtype);
    array["shape"] = nb::tuple(shape);
    array["batch_axis"] = axis(info.batchAxis);
    array["time_axis"] = axis(info.timeAxis);
    array["trained"] = info.isTrained;
    array["optional"] = info.isOptional;
    array["carried"] = info.carried ? nb::object(nb::str(info.carried)) : nb::none();
    arrays.append(array);
  }
  return arrays;
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

/// Adds the inputs, and targets and weights under their names.
static void addCall(CallArrays &arrays, nb::dict inputs, nb::object target, nb::object weight) {
  arrays.addAll(inputs);
  for (auto [name, value] : {std::pair("target", target), std::pair("weight", weight)}) {
    if (value.is_none())
      continue;
    if (nb::isinstance<nb::dict>(value))
      arrays.addAll(value, std::string(name) + ".");
    else
      arrays.add(name, value);
  }
}

/// Returns NumPy arrays that own the results of a call, by the names of the arrays of `kind`.
static nb::dict adoptAll(const Program &program, BppsaArrayKind kind,
                         const std::vector<DLManagedTensor *> &tensors) {
  nb::dict arrays;
  for (size_t i = 0; i < tensors.size(); ++i)
    arrays[getArray(program, kind, static_cast<intptr_t>(i)).name] = adopt(tensors[i]);
  return arrays;
}

static nb::dict infer(const Program &program, nb::dict inputs) {
  CallArrays arrays;
  arrays.addAll(inputs);
  std::vector<DLManagedTensor *> outputs(bppsaProgramGetNumArrays(program.get(), BppsaOutput));
  const BppsaNamedArray *data = arrays.data();
  compute([&] { return bppsaProgramInfer(program.get(), data, arrays.size(), outputs.data()); });
  return adoptAll(program, BppsaOutput, outputs);
}

static void inferInto(const Program &program, nb::dict inputs, nb::dict out) {
  CallArrays arrays, outputs;
  arrays.addAll(inputs);
  outputs.addWritten(out);
  const BppsaNamedArray *data = arrays.data(), *results = outputs.data();
  compute([&] {
    return bppsaProgramInferInto(program.get(), data, arrays.size(), results, outputs.size());
  });
}

static nb::tuple eval(const Program &program, nb::dict inputs, nb::object target,
                      nb::object weight) {
  CallArrays arrays;
  addCall(arrays, inputs, target, weight);
  double loss, accuracy;
  const BppsaNamedArray *data = arrays.data();
  compute([&] { return bppsaProgramEval(program.get(), data, arrays.size(), &loss, &accuracy); });
  return nb::make_tuple(loss, accuracy);
}

static nb::tuple grad(const Program &program, nb::dict inputs, nb::object target,
                      nb::object weight) {
  CallArrays arrays;
  addCall(arrays, inputs, target, weight);
  std::vector<DLManagedTensor *> gradients(bppsaProgramGetNumArrays(program.get(), BppsaGradient));
  double loss;
  const BppsaNamedArray *data = arrays.data();
  compute([&] {
    return bppsaProgramGrad(program.get(), data, arrays.size(), &loss, gradients.data());
  });
  return nb::make_tuple(loss, adoptAll(program, BppsaGradient, gradients));
}

static double gradInto(const Program &program, nb::dict inputs, nb::object target,
                       nb::object weight, nb::dict out) {
  CallArrays arrays, gradients;
  addCall(arrays, inputs, target, weight);
  gradients.addWritten(out);
  double loss;
  const BppsaNamedArray *data = arrays.data(), *results = gradients.data();
  compute([&] {
    return bppsaProgramGradInto(program.get(), data, arrays.size(), &loss, results,
                                gradients.size());
  });
  return loss;
}

static double step(const Program &program, nb::dict inputs, nb::object target, nb::object weight,
                   std::optional<double> lr) {
  CallArrays arrays;
  addCall(arrays, inputs, target, weight);
  double loss;
  const BppsaNamedArray *data = arrays.data();
  compute([&] {
    return bppsaProgramStep(program.get(), data, arrays.size(), lr.value_or(NAN), &loss);
  });
  return loss;
}

static void update(const Program &program, nb::dict gradients, std::optional<double> lr) {
  CallArrays arrays;
  arrays.addAll(gradients);
  const BppsaNamedArray *data = arrays.data();
  compute([&] { return bppsaProgramUpdate(program.get(), data, arrays.size(), lr.value_or(NAN)); });
}

//===----------------------------------------------------------------------===//
// Separate forward and backward passes
//===----------------------------------------------------------------------===//

/// Adds the residuals, which have no name in the API, and returns their tensor.
static const DLTensor *addResiduals(CallArrays &arrays, nb::object residuals, bool isWritten) {
  arrays.add("residuals", residuals, isWritten);
  return arrays.data()[0].array;
}

/// Allocates an array whose memory is reused after it is freed.
static nb::object allocate(const Program &program, const std::vector<int64_t> &shape,
                           bool isBytes) {
  DLDataType dtype = isBytes ? DLDataType{kDLUInt, 8, 1} : DLDataType{kDLFloat, 32, 1};
  DLManagedTensor *array;
  compute([&] {
    return bppsaProgramAllocate(program.get(), dtype, static_cast<int32_t>(shape.size()),
                                shape.data(), &array);
  });
  return adopt(array);
}

static size_t residualBytes(const Program &program, nb::dict inputs) {
  CallArrays arrays;
  arrays.addAll(inputs);
  size_t bytes;
  const BppsaNamedArray *data = arrays.data();
  compute([&] { return bppsaProgramGetResidualBytes(program.get(), data, arrays.size(), &bytes); });
  return bytes;
}

/// Returns the number of bytes used in `residuals`.
static size_t forward(const Program &program, nb::dict inputs, nb::dict out, nb::object residuals) {
  CallArrays arrays, outputs, kept;
  arrays.addAll(inputs);
  outputs.addWritten(out);
  const DLTensor *block = addResiduals(kept, residuals, /*isWritten=*/true);
  const BppsaNamedArray *data = arrays.data(), *results = outputs.data();
  compute([&] {
    return bppsaProgramForward(program.get(), data, arrays.size(), results, outputs.size(), block);
  });
  size_t bytes;
  compute([&] { return bppsaProgramGetUsedResidualBytes(program.get(), block, &bytes); });
  return bytes;
}

static void backward(const Program &program, nb::dict inputs, nb::object residuals,
                     nb::dict cotangents, nb::dict out) {
  CallArrays arrays, products, gradients, kept;
  arrays.addAll(inputs);
  products.addAll(cotangents);
  gradients.addWritten(out);
  const DLTensor *block = addResiduals(kept, residuals, /*isWritten=*/false);
  const BppsaNamedArray *data = arrays.data(), *given = products.data(),
                        *results = gradients.data();
  compute([&] {
    return bppsaProgramBackward(program.get(), data, arrays.size(), block, given, products.size(),
                                results, gradients.size());
  });
}

static nb::list losses(const Program &program, size_t count) {
  std::vector<double> values(count);
  compute([&] {
    return bppsaProgramGetLosses(program.get(), values.data(), static_cast<intptr_t>(count));
  });
  nb::list list;
  for (double value : values)
    list.append(value);
  return list;
}

//===----------------------------------------------------------------------===//
// Settings, parameters and files
//===----------------------------------------------------------------------===//

static void setVariant(const Program &program, std::optional<std::string> backward,
                       std::optional<std::string> scan, std::optional<std::string> mapping) {
  auto text = [](const std::optional<std::string> &value) {
    return value ? value->c_str() : nullptr;
  };
  compute([&] {
    return bppsaProgramSetVariant(program.get(), text(backward), text(scan), text(mapping));
  });
}

static nb::object parameter(nb::handle self, intptr_t index) {
  const DLTensor *tensor;
  const Program &program = nb::cast<const Program &>(self);
  compute([&] { return bppsaProgramGetParameter(program.get(), index, &tensor); });
  return view(*tensor, self);
}

/// Returns a method that passes a path to `call`.
static auto withPath(BppsaStatus (*call)(BppsaProgram, const char *)) {
  return [call](const Program &program, const std::string &path) {
    compute([&] { return call(program.get(), path.c_str()); });
  };
}

static Program *load(const std::string &path) {
  BppsaProgram program;
  compute([&] { return bppsaProgramLoad(path.c_str(), &program); });
  return new Program(program);
}

void bppsa::python::bindProgram(nb::module_ &module) {
  nb::class_<Program>(module, "Program")
      .def_prop_ro("description",
                   [](const Program &self) { return bppsaProgramGetDescription(self.get()); })
      .def("describe", describe)
      .def("infer", infer)
      .def("infer_into", inferInto)
      .def("eval", eval, nb::arg(), nb::arg().none(), nb::arg().none())
      .def("grad", grad, nb::arg(), nb::arg().none(), nb::arg().none())
      .def("grad_into", gradInto, nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg())
      .def("step", step, nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg().none())
      .def("update", update, nb::arg(), nb::arg().none())
      .def("allocate", allocate)
      .def("residual_bytes", residualBytes)
      .def("forward", forward)
      .def("backward", backward)
      .def("losses", losses)
      .def("parameter", parameter)
      .def("set_threads",
           [](const Program &self, int count) {
             compute([&] { return bppsaProgramSetThreads(self.get(), count); });
           })
      .def("set_affinity",
           [](const Program &self, const std::vector<int32_t> &cpus) {
             compute([&] {
               return bppsaProgramSetAffinity(self.get(), cpus.data(),
                                              static_cast<intptr_t>(cpus.size()));
             });
           })
      .def("set_variant", setVariant, nb::arg().none(), nb::arg().none(), nb::arg().none())
      .def("set_hyperparameter",
           [](const Program &self, const std::string &name, double value) {
             compute(
                 [&] { return bppsaProgramSetHyperparameter(self.get(), name.c_str(), value); });
           })
      .def("set_seed",
           [](const Program &self, uint64_t seed) {
             compute([&] { return bppsaProgramSetSeed(self.get(), seed); });
           })
      .def("reset",
           [](const Program &self) { compute([&] { return bppsaProgramReset(self.get()); }); })
      .def("save", withPath(bppsaProgramSave))
      .def("save_checkpoint", withPath(bppsaProgramSaveCheckpoint))
      .def("load_checkpoint", withPath(bppsaProgramLoadCheckpoint));
  module.def("load", load);
}
