//===- Program.cpp - compiled programs in a process -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ProgramFunctions.h"
#include "ProgramHandle.h"
#include "Support.h"
#include "Tensors.h"
#include "bppsa/Runtime/Embedding/EmbeddedProgram.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Threads/Threads.h"

#include <cmath>
#include <mutex>
#include <new>

using namespace bppsa;
using namespace bppsa::capi;
using namespace bppsa::runtime;

namespace {
/// A described array with what the description points to.
struct ArrayText {
  std::string name, carried;
  std::vector<int64_t> shape;
  BppsaArrayInfo info = {};
};
} // namespace

struct BppsaProgramOpaque : Handle {
  BppsaProgramOpaque(Program loaded, std::shared_ptr<void> code);

  void describeArrays();
  void add(BppsaArrayKind kind, const ArrayInfo &info, bool isOptional);
  void addParameter(BppsaArrayKind kind, const ParameterInfo &info);
  void viewParameters();

  /// Outlives the program.
  const std::shared_ptr<void> code;
  EmbeddedProgram program;
  std::mutex mutex;
  /// By kind.
  std::array<std::deque<ArrayText>, 5> arrays;
  std::vector<DLTensor> views;
};

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// Runs `action`, and turns what it throws into a status.
template <typename Action> static BppsaStatus guard(Action &&action) noexcept {
  try {
    action();
    return BppsaSuccess;
  } catch (const UsageError &error) {
    return setError(BppsaWrongUsage, error.what());
  } catch (const NoDeviceError &error) {
    return setError(BppsaNoDevice, error.what());
  } catch (const DivergedError &error) {
    return setError(BppsaDiverged, error.what());
  } catch (const Error &error) {
    return setError(BppsaWrongInput, error.what());
  } catch (const std::bad_alloc &) {
    return setError(BppsaWrongInput, "out of memory; use smaller batches or shorter sequences");
  } catch (const std::exception &error) {
    return setError(BppsaInternalError, error.what());
  }
}

/// Runs `action` on a program that no other thread uses meanwhile, with its number of threads and
/// the arithmetic of compiled code. A program of another library is handed to `function` there.
template <auto function, typename Action, typename... Arguments>
static BppsaStatus use(BppsaProgram handle, Action &&action, Arguments... arguments) noexcept {
  if (auto *other = inLibraryOf(handle, function); other != function)
    return relay(handle, other(handle, arguments...));
  return guard([&] {
    if (!handle)
      throw UsageError("the program is null");
    std::lock_guard<std::mutex> lock(handle->mutex);
    ThreadLimit threads(handle->program.threadCount());
    DenormalsFlushed arithmetic;
    action(handle->program);
  });
}

template <typename T> static T &require(T *pointer, const char *what) {
  if (!pointer)
    throw UsageError(text(what, " is null"));
  return *pointer;
}

//===----------------------------------------------------------------------===//
// Programs and their arrays
//===----------------------------------------------------------------------===//

BppsaProgramOpaque::BppsaProgramOpaque(Program loaded, std::shared_ptr<void> code)
    : code(std::move(code)), program(std::move(loaded)) {
  describeArrays();
  viewParameters();
}

void BppsaProgramOpaque::add(BppsaArrayKind kind, const ArrayInfo &array, bool isOptional) {
  ArrayText &text = arrays[kind].emplace_back();
  text.name = array.name;
  text.carried = array.carried;
  for (const Extent &extent : array.shape)
    text.shape.push_back(extent.kind == Extent::Kind::Number ? extent.number : -1);
  DType dtype = kind == BppsaGradient ? DType::F32 : array.dtype;
  text.info = {text.name.c_str(),
               toDLDataType(dtype),
               static_cast<int32_t>(text.shape.size()),
               text.shape.data(),
               static_cast<int32_t>(array.batchAxis.value_or(-1)),
               static_cast<int32_t>(array.timeAxis.value_or(-1)),
               /*isTrained=*/false,
               isOptional,
               array.carried.empty() ? nullptr : text.carried.c_str()};
}

void BppsaProgramOpaque::addParameter(BppsaArrayKind kind, const ParameterInfo &parameter) {
  ArrayText &text = arrays[kind].emplace_back();
  text.name = parameter.name;
  text.shape = parameter.shape;
  text.info = {text.name.c_str(),
               toDLDataType(DType::F32),
               static_cast<int32_t>(text.shape.size()),
               text.shape.data(),
               -1,
               -1,
               parameter.trained,
               /*isOptional=*/false,
               nullptr};
}

void BppsaProgramOpaque::describeArrays() {
  const Model &model = program.model();
  for (const ArrayInfo &info : model.inputs)
    add(BppsaInput, info, !info.carried.empty());
  for (const ArrayInfo &info : model.outputs)
    add(BppsaOutput, info, false);
  for (const LossInfo &loss : model.losses) {
    if (loss.target)
      add(BppsaTarget, *loss.target, false);
    if (loss.readsWeight)
      add(BppsaTarget, *loss.weight, true);
  }
  for (const ParameterInfo &info : model.parameters) {
    addParameter(BppsaParameter, info);
    if (info.trained)
      addParameter(BppsaGradient, info);
  }
  for (const ArrayInfo &info : model.inputs)
    if (info.gradient)
      add(BppsaGradient, info, false);
}

void BppsaProgramOpaque::viewParameters() {
  for (size_t i = 0; i < arrays[BppsaParameter].size(); ++i) {
    ArrayText &text = arrays[BppsaParameter][i];
    views.push_back({program.parameter(i),
                     {kDLCPU, 0},
                     text.info.rank,
                     text.info.dtype,
                     text.shape.data(),
                     /*strides=*/nullptr,
                     /*byte_offset=*/0});
  }
}

BppsaStatus capi::createProgram(const ProgramInterface &interface, std::shared_ptr<void> code,
                                BppsaProgram *program) noexcept {
  return guard([&] {
    require(program, "the place for the program") =
        new BppsaProgramOpaque(Program::load(interface), std::move(code));
  });
}

void bppsaProgramDestroy(BppsaProgram program) {
  if (auto *other = inLibraryOf(program, &bppsaProgramDestroy); other != &bppsaProgramDestroy)
    return other(program);
  delete program;
}

const char *bppsaProgramGetDescription(BppsaProgram program) {
  if (auto *other = inLibraryOf(program, &bppsaProgramGetDescription);
      other != &bppsaProgramGetDescription)
    return other(program);
  return program ? program->program.description().c_str() : nullptr;
}

intptr_t bppsaProgramGetNumArrays(BppsaProgram program, BppsaArrayKind kind) {
  if (auto *other = inLibraryOf(program, &bppsaProgramGetNumArrays);
      other != &bppsaProgramGetNumArrays)
    return other(program, kind);
  return program && kind >= BppsaInput && kind <= BppsaGradient
             ? static_cast<intptr_t>(program->arrays[kind].size())
             : 0;
}

/// Throws UsageError where there is no array of that number.
static const ArrayText &findArray(BppsaProgram program, BppsaArrayKind kind, intptr_t index) {
  if (index < 0 || index >= bppsaProgramGetNumArrays(program, kind))
    throw UsageError(text("there is no array ", index, " of this kind; the program has ",
                          bppsaProgramGetNumArrays(program, kind)));
  return program->arrays[kind][index];
}

BppsaStatus bppsaProgramGetArray(BppsaProgram program, BppsaArrayKind kind, intptr_t index,
                                 BppsaArrayInfo *info) {
  if (auto *other = inLibraryOf(program, &bppsaProgramGetArray); other != &bppsaProgramGetArray)
    return relay(program, other(program, kind, index, info));
  return guard(
      [&] { require(info, "the place for the array") = findArray(program, kind, index).info; });
}

//===----------------------------------------------------------------------===//
// Settings
//===----------------------------------------------------------------------===//

BppsaStatus bppsaProgramSetThreads(BppsaProgram program, int32_t count) {
  return use<&bppsaProgramSetThreads>(
      program, [&](EmbeddedProgram &own) { own.setThreads(count); }, count);
}

BppsaStatus bppsaProgramSetVariant(BppsaProgram program, const char *backward, const char *scan,
                                   const char *mapping) {
  auto word = [](const char *given) { return std::string(given ? given : "auto"); };
  return use<&bppsaProgramSetVariant>(
      program,
      [&](EmbeddedProgram &own) { own.setVariant({word(backward), word(scan), word(mapping)}); },
      backward, scan, mapping);
}

BppsaStatus bppsaProgramTuneVariant(BppsaProgram program, const BppsaNamedArray *arrays,
                                    intptr_t numArrays, int64_t calls) {
  return use<&bppsaProgramTuneVariant>(
      program, [&](EmbeddedProgram &own) { own.tune(toArguments(arrays, numArrays), calls); },
      arrays, numArrays, calls);
}

BppsaStatus bppsaProgramSetHyperparameter(BppsaProgram program, const char *name, double value) {
  return use<&bppsaProgramSetHyperparameter>(
      program, [&](EmbeddedProgram &own) { own.setHyper(&require(name, "the name"), value); }, name,
      value);
}

BppsaStatus bppsaProgramSetSeed(BppsaProgram program, uint64_t seed) {
  return use<&bppsaProgramSetSeed>(program, [&](EmbeddedProgram &own) { own.setSeed(seed); }, seed);
}

//===----------------------------------------------------------------------===//
// Computing
//===----------------------------------------------------------------------===//

/// Hands arrays out; all or none.
static void handOut(std::vector<Array> arrays, DLManagedTensor **tensors) {
  std::vector<DLManagedTensor *> made;
  try {
    for (Array &array : arrays)
      made.push_back(toManagedTensor(std::move(array)));
  } catch (...) {
    for (DLManagedTensor *tensor : made)
      tensor->deleter(tensor);
    throw;
  }
  std::copy(made.begin(), made.end(), tensors);
}

static std::optional<double> toRate(double lr) {
  return std::isnan(lr) ? std::nullopt : std::optional<double>(lr);
}

BppsaStatus bppsaProgramInfer(BppsaProgram program, const BppsaNamedArray *arrays,
                              intptr_t numArrays, DLManagedTensor **outputs) {
  return use<&bppsaProgramInfer>(
      program,
      [&](EmbeddedProgram &own) {
        require(outputs, "the place for outputs");
        handOut(own.infer(toArguments(arrays, numArrays)), outputs);
      },
      arrays, numArrays, outputs);
}

BppsaStatus bppsaProgramInferInto(BppsaProgram program, const BppsaNamedArray *arrays,
                                  intptr_t numArrays, const BppsaNamedArray *outputs,
                                  intptr_t numOutputs) {
  return use<&bppsaProgramInferInto>(
      program,
      [&](EmbeddedProgram &own) {
        own.infer(toArguments(arrays, numArrays), toArguments(outputs, numOutputs));
      },
      arrays, numArrays, outputs, numOutputs);
}

BppsaStatus bppsaProgramEval(BppsaProgram program, const BppsaNamedArray *arrays,
                             intptr_t numArrays, double *loss, double *accuracy) {
  return use<&bppsaProgramEval>(
      program,
      [&](EmbeddedProgram &own) {
        require(loss, "the place for the loss");
        std::optional<double> share;
        *loss = own.eval(toArguments(arrays, numArrays), share);
        if (accuracy)
          *accuracy = share.value_or(NAN);
      },
      arrays, numArrays, loss, accuracy);
}

BppsaStatus bppsaProgramGrad(BppsaProgram program, const BppsaNamedArray *arrays,
                             intptr_t numArrays, double *loss, DLManagedTensor **gradients) {
  return use<&bppsaProgramGrad>(
      program,
      [&](EmbeddedProgram &own) {
        require(gradients, "the place for gradients");
        std::vector<Array> results;
        double value = own.grad(toArguments(arrays, numArrays), results);
        handOut(std::move(results), gradients);
        if (loss)
          *loss = value;
      },
      arrays, numArrays, loss, gradients);
}

BppsaStatus bppsaProgramGradInto(BppsaProgram program, const BppsaNamedArray *arrays,
                                 intptr_t numArrays, double *loss, const BppsaNamedArray *gradients,
                                 intptr_t numGradients) {
  return use<&bppsaProgramGradInto>(
      program,
      [&](EmbeddedProgram &own) {
        double value =
            own.grad(toArguments(arrays, numArrays), toArguments(gradients, numGradients));
        if (loss)
          *loss = value;
      },
      arrays, numArrays, loss, gradients, numGradients);
}

BppsaStatus bppsaProgramStep(BppsaProgram program, const BppsaNamedArray *arrays,
                             intptr_t numArrays, double lr, double *loss) {
  return use<&bppsaProgramStep>(
      program,
      [&](EmbeddedProgram &own) {
        double value = own.step(toArguments(arrays, numArrays), toRate(lr));
        if (loss)
          *loss = value;
      },
      arrays, numArrays, lr, loss);
}

BppsaStatus bppsaProgramUpdate(BppsaProgram program, const BppsaNamedArray *gradients,
                               intptr_t numGradients, double lr) {
  return use<&bppsaProgramUpdate>(
      program,
      [&](EmbeddedProgram &own) { own.update(toArguments(gradients, numGradients), toRate(lr)); },
      gradients, numGradients, lr);
}

BppsaStatus bppsaProgramGetLosses(BppsaProgram program, double *losses, intptr_t count) {
  return use<&bppsaProgramGetLosses>(
      program,
      [&](EmbeddedProgram &own) {
        require(losses, "the place for the losses");
        if (count != static_cast<intptr_t>(own.losses().size()))
          throw UsageError(text("the program has ", own.losses().size(), " losses, found ", count));
        std::copy(own.losses().begin(), own.losses().end(), losses);
      },
      losses, count);
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

BppsaStatus bppsaProgramGetParameter(BppsaProgram program, intptr_t index, const DLTensor **view) {
  return use<&bppsaProgramGetParameter>(
      program,
      [&](EmbeddedProgram &own) {
        findArray(program, BppsaParameter, index);
        // In programs for GPUs, brings the values to the host.
        own.parameter(index);
        require(view, "the place for the view") = &program->views[index];
      },
      index, view);
}

BppsaStatus bppsaProgramReset(BppsaProgram program) {
  return use<&bppsaProgramReset>(program, [&](EmbeddedProgram &own) { own.reset(); });
}

BppsaStatus bppsaProgramSave(BppsaProgram program, const char *path) {
  return use<&bppsaProgramSave>(
      program, [&](EmbeddedProgram &own) { own.save(&require(path, "the path")); }, path);
}

BppsaStatus bppsaProgramSaveCheckpoint(BppsaProgram program, const char *path) {
  return use<&bppsaProgramSaveCheckpoint>(
      program, [&](EmbeddedProgram &own) { own.saveCheckpoint(&require(path, "the path")); }, path);
}

BppsaStatus bppsaProgramLoadCheckpoint(BppsaProgram program, const char *path) {
  return use<&bppsaProgramLoadCheckpoint>(
      program, [&](EmbeddedProgram &own) { own.loadCheckpoint(&require(path, "the path")); }, path);
}
