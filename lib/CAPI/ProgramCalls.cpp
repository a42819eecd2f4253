//===- ProgramCalls.cpp - calls of compiled programs ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ProgramHandle.h"
#include "Tensors.h"

#include <algorithm>
#include <cmath>

using namespace bppsa;
using namespace bppsa::capi;
using namespace bppsa::runtime;

BppsaStatus bppsaProgramSetThreads(BppsaProgram program, int32_t count) {
  return use<&bppsaProgramSetThreads>(
      program, [&](EmbeddedProgram &own) { own.setThreads(count); }, count);
}

BppsaStatus bppsaProgramSetAffinity(BppsaProgram program, const int32_t *cpus, intptr_t count) {
  return use<&bppsaProgramSetAffinity>(
      program,
      [&](EmbeddedProgram &) {
        if (count > 0)
          require(cpus, "the list of CPUs");
        setAffinity(std::vector<int>(cpus, cpus + std::max<intptr_t>(count, 0)));
      },
      cpus, count);
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

/// Passes ownership of all arrays to the caller. Frees them on exceptions.
static void releaseToCaller(std::vector<Array> arrays, DLManagedTensor **tensors) {
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
        releaseToCaller(own.infer(toArguments(arrays, numArrays)), outputs);
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
        releaseToCaller(std::move(results), gradients);
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

BppsaStatus bppsaProgramAllocate(BppsaProgram program, DLDataType dtype, int32_t rank,
                                 const int64_t *shape, DLManagedTensor **array) {
  return use<&bppsaProgramAllocate>(
      program,
      [&](EmbeddedProgram &) {
        DLManagedTensor *&made = require(array, "the place for the array");
        DLTensor described = {
            array, {kDLCPU, 0}, rank, dtype, const_cast<int64_t *>(shape), nullptr, 0};
        BppsaNamedArray named = {"array", &described};
        ArrayArgument wanted = toArguments(&named, 1).front();
        uint64_t bytes = elementCount(wanted.shape) * elementSize(wanted.dtype);
        made = toManagedTensor({wanted.dtype, wanted.shape, Buffer::uninitialized(bytes)});
      },
      dtype, rank, shape, array);
}

BppsaStatus bppsaProgramGetParameter(BppsaProgram program, intptr_t index, const DLTensor **view) {
  return use<&bppsaProgramGetParameter>(
      program,
      [&](EmbeddedProgram &own) {
        findArray(program, BppsaParameter, index);
        // GPU programs copy the values to the host.
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

static ArrayArgument toResiduals(const DLTensor *tensor) {
  BppsaNamedArray named = {"residuals", &require(tensor, "the tensor for the residuals")};
  return toArguments(&named, 1).front();
}

BppsaStatus bppsaProgramGetResidualBytes(BppsaProgram program, const BppsaNamedArray *arrays,
                                         intptr_t numArrays, size_t *bytes) {
  return use<&bppsaProgramGetResidualBytes>(
      program,
      [&](EmbeddedProgram &own) {
        require(bytes, "the place for the bytes") =
            own.residualBytes(toArguments(arrays, numArrays));
      },
      arrays, numArrays, bytes);
}

BppsaStatus bppsaProgramForward(BppsaProgram program, const BppsaNamedArray *arrays,
                                intptr_t numArrays, const BppsaNamedArray *outputs,
                                intptr_t numOutputs, const DLTensor *residuals) {
  return use<&bppsaProgramForward>(
      program,
      [&](EmbeddedProgram &own) {
        own.forward(toArguments(arrays, numArrays), toArguments(outputs, numOutputs),
                    toResiduals(residuals));
      },
      arrays, numArrays, outputs, numOutputs, residuals);
}

BppsaStatus bppsaProgramGetUsedResidualBytes(BppsaProgram program, const DLTensor *residuals,
                                             size_t *bytes) {
  return use<&bppsaProgramGetUsedResidualBytes>(
      program,
      [&](EmbeddedProgram &own) {
        require(bytes, "the place for the bytes") = own.usedResidualBytes(toResiduals(residuals));
      },
      residuals, bytes);
}

BppsaStatus bppsaProgramBackward(BppsaProgram program, const BppsaNamedArray *arrays,
                                 intptr_t numArrays, const DLTensor *residuals,
                                 const BppsaNamedArray *cotangents, intptr_t numCotangents,
                                 const BppsaNamedArray *gradients, intptr_t numGradients) {
  return use<&bppsaProgramBackward>(
      program,
      [&](EmbeddedProgram &own) {
        own.backward(toArguments(arrays, numArrays), toResiduals(residuals),
                     toArguments(cotangents, numCotangents), toArguments(gradients, numGradients));
      },
      arrays, numArrays, residuals, cotangents, numCotangents, gradients, numGradients);
}
