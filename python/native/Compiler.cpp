//===- Compiler.cpp - Python bindings of the compiler ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa-c/Compiler.h"
#include "Errors.h"
#include "Program.h"
#include <memory>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <vector>

namespace nb = nanobind;
using namespace bppsa::python;

namespace {
using OptionList = std::vector<std::pair<std::string, std::string>>;

/// Diagnostics, collected in C++ because a compilation does not hold the GIL.
using Diagnostics = std::vector<std::pair<int, std::string>>;

struct DestroyOptions {
  void operator()(BppsaOptions options) const { bppsaOptionsDestroy(options); }
};
using Options = std::unique_ptr<BppsaOptionsOpaque, DestroyOptions>;
} // namespace

static Options makeOptions(const OptionList &list) {
  Options options(bppsaOptionsCreate());
  for (const auto &[name, value] : list)
    check(bppsaOptionsSet(options.get(), name.c_str(), value.c_str()));
  return options;
}

static void addDiagnostic(BppsaSeverity severity, const char *message, void *diagnostics) {
  static_cast<Diagnostics *>(diagnostics)->emplace_back(severity, message);
}

namespace {
/// Forwards progress to a Python function and cancels a compilation on Ctrl-C.
struct Progress {
  /// None, or a function with the arguments of BppsaCompileCallback; False cancels the compilation.
  nb::object function;
  std::unique_ptr<nb::python_error> raised;

  bool tell(const char *phase, int64_t done, int64_t total) {
    nb::gil_scoped_acquire acquire;
    try {
      if (PyErr_CheckSignals() != 0)
        throw nb::python_error();
      return function.is_none() ||
             !nb::object(function(phase, done, total)).is(nb::handle(Py_False));
    } catch (nb::python_error &error) {
      raised = std::make_unique<nb::python_error>(std::move(error));
      return false;
    }
  }
};
} // namespace

static bool tellProgress(const char *phase, int64_t done, int64_t total, void *progress) {
  return static_cast<Progress *>(progress)->tell(phase, done, total);
}

/// Runs `call(model, options, diagnostics)` without the GIL and appends the diagnostics to `said`.
template <typename Call>
static void compile(const std::string &path, nb::object bytes, const OptionList &list,
                    nb::list said, nb::object progress, Call call) {
  Options options = makeOptions(list);
  Progress listener{std::move(progress), nullptr};
  bppsaOptionsSetProgress(options.get(), tellProgress, &listener);
  BppsaModel model = {path.c_str(), nullptr, 0};
  if (nb::bytes content; nb::try_cast(bytes, content))
    model = {path.c_str(), content.data(), content.size()};
  Diagnostics diagnostics;
  BppsaStatus status;
  {
    nb::gil_scoped_release release;
    status = call(model, options.get(), &diagnostics);
  }
  for (const auto &diagnostic : diagnostics)
    said.append(nb::cast(diagnostic));
  if (listener.raised)
    throw std::move(*listener.raised);
  check(status);
}

static Program *compileToProgram(const std::string &path, nb::object bytes,
                                 const OptionList &options, nb::list said, nb::object progress) {
  BppsaProgram program;
  compile(path, bytes, options, said, std::move(progress),
          [&](BppsaModel model, BppsaOptions options, Diagnostics *diagnostics) {
            return bppsaCompileToProgram(model, options, addDiagnostic, diagnostics, &program);
          });
  return new Program(program);
}

static void compileToFile(const std::string &path, nb::object bytes, const OptionList &options,
                          nb::list said, nb::object progress, const std::string &output) {
  compile(path, bytes, options, said, std::move(progress),
          [&](BppsaModel model, BppsaOptions options, Diagnostics *diagnostics) {
            return bppsaCompileToFile(model, options, output.c_str(), addDiagnostic, diagnostics);
          });
}

static nb::bytes compileToBytes(const std::string &path, nb::object bytes,
                                const OptionList &options, nb::list said, nb::object progress) {
  char *data;
  size_t size;
  compile(path, bytes, options, said, std::move(progress),
          [&](BppsaModel model, BppsaOptions options, Diagnostics *diagnostics) {
            return bppsaCompileToBytes(model, options, addDiagnostic, diagnostics, &data, &size);
          });
  std::unique_ptr<char, decltype(&bppsaBytesDestroy)> owner(data, bppsaBytesDestroy);
  return nb::bytes(data, size);
}

/// Returns name, form of the value, help text and repeatability of every option.
static nb::list listOptions() {
  nb::list options;
  for (intptr_t i = 0; i < bppsaGetNumOptions(); ++i) {
    BppsaOptionInfo info = bppsaGetOption(i);
    options.append(nb::make_tuple(info.name, info.value, info.help, info.isRepeated));
  }
  return options;
}

void bppsa::python::bindCompiler(nb::module_ &module) {
  module.def("compile", compileToProgram, nb::arg(), nb::arg().none(), nb::arg(), nb::arg(),
             nb::arg().none());
  module.def("compile_to_file", compileToFile, nb::arg(), nb::arg().none(), nb::arg(), nb::arg(),
             nb::arg().none(), nb::arg());
  module.def("compile_to_bytes", compileToBytes, nb::arg(), nb::arg().none(), nb::arg(), nb::arg(),
             nb::arg().none());
  module.def("list_options", listOptions);
  module.def("list_support", bppsaGetSupportedOperators);
  module.def("version", bppsaGetVersion);
}

NB_MODULE(_native, module) {
  bindProgram(module);
  bindTraining(module);
  bindCompiler(module);
#ifdef BPPSA_JAX
  bindJax(module);
#endif
}
