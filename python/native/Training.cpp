//===- Training.cpp - Python bindings of training -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Arrays.h"
#include "Errors.h"
#include "Program.h"
#include <exception>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace bppsa::python;

namespace {
using Settings = std::vector<std::pair<std::string, std::optional<std::string>>>;

/// An exception raised in a Python callback, rethrown after training has ended.
using Raised = std::exception_ptr;

/// The arrays of all samples, a function that returns the arrays of the next batch, or None.
class Source {
public:
  Source(nb::object data, std::optional<int64_t> batches, Raised &raised) : raised(raised) {
    if (nb::dict samples; nb::try_cast(data, samples)) {
      arrays.emplace().addAll(samples);
      source.arrays = arrays->data();
      source.numArrays = arrays->size();
    } else if (!data.is_none()) {
      loader = data;
      source.next = [](const BppsaNamedArray **arrays, intptr_t *count, void *self) {
        return static_cast<Source *>(self)->next(arrays, count);
      };
    }
    source.userData = this;
    source.numBatches = batches.value_or(-1);
  }
  Source(const Source &) = delete;

  const BppsaTrainingSource *get() const { return &source; }

private:
  BppsaBatchState next(const BppsaNamedArray **found, intptr_t *count) noexcept {
    nb::gil_scoped_acquire acquire;
    try {
      nb::object batch = loader();
      arrays.emplace();
      if (batch.is_none())
        return BppsaEpochEnd;
      arrays->addAll(batch);
    } catch (...) {
      raised = std::current_exception();
      return BppsaTrainingEnd;
    }
    *found = arrays->data();
    *count = arrays->size();
    return BppsaNextBatch;
  }

  Raised &raised;
  nb::object loader;
  std::optional<CallArrays> arrays;
  BppsaTrainingSource source = {};
};

/// Forwards events to Python, where signal handlers such as Ctrl-C may raise an exception.
struct Listener {
  nb::object callback;
  Raised &raised;

  bool tell(const BppsaTrainingEvent &event) noexcept {
    if (raised)
      return true;
    nb::gil_scoped_acquire acquire;
    try {
      if (PyErr_CheckSignals() != 0)
        throw nb::python_error();
      nb::dict arguments;
      arguments["epoch"] = event.epoch;
      arguments["batch"] = event.batch;
      arguments["batches"] = event.numBatches;
      arguments["record"] = event.record;
      arguments["message"] = event.message;
      arguments["is_warning"] = event.isWarning;
      return nb::cast<bool>(callback(**arguments));
    } catch (...) {
      raised = std::current_exception();
      return true;
    }
  }
};
} // namespace

static void fit(const Program &program, const Settings &settings, nb::object train,
                std::optional<int64_t> trainBatches, nb::object validation, nb::object callback) {
  std::vector<BppsaSetting> words;
  for (const auto &[name, value] : settings)
    words.push_back({name.c_str(), value ? value->c_str() : nullptr});
  Raised raised;
  Source samples(train, trainBatches, raised), unseen(validation, std::nullopt, raised);
  Listener listener{callback, raised};
  BppsaTrainingCallback tell = [](const BppsaTrainingEvent *event, void *listener) {
    return static_cast<Listener *>(listener)->tell(*event);
  };
  BppsaStatus status;
  {
    nb::gil_scoped_release release;
    status = bppsaProgramFit(program.get(), words.data(), static_cast<intptr_t>(words.size()),
                             samples.get(), unseen.get(), tell, &listener);
  }
  if (raised)
    std::rethrow_exception(raised);
  check(status);
}

void bppsa::python::bindTraining(nb::module_ &module) {
  module.def("fit", fit, nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg().none(),
             nb::arg());
}
