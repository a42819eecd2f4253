//===- EmbeddedProgram.h - A program in another process ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_EMBEDDING_EMBEDDEDPROGRAM_H
#define BPPSA_RUNTIME_EMBEDDING_EMBEDDEDPROGRAM_H

#include "bppsa/Runtime/Embedding/EmbeddedCall.h"
#include "bppsa/Runtime/Embedding/Residuals.h"
#include "bppsa/Runtime/Embedding/TrainingSource.h"
#include "bppsa/Runtime/Variants/Dispatch.h"

#include <deque>

namespace bppsa::runtime {

struct TrainSettings;

/// A compiled program that works on arrays of a caller. Calls that throw Error or UsageError change
/// no parameters or caller memory. Not for concurrent use.
class EmbeddedProgram {
public:
  explicit EmbeddedProgram(Program program);

  const Model &model() const { return program.model; }
  /// The output of the command `info`.
  const std::string &description() const { return json; }
  const std::vector<std::string> &gradientNames() const { return gradients; }

  void setThreads(int count);
  int threadCount() const { return threadLimit; }
  void setVariant(VariantRequest request);
  /// Selects the fastest variant of `step` for arrays of these sizes and `calls` calls.
  void tune(const ArrayArguments &arguments, int64_t calls);
  void setHyper(const std::string &name, double value);
  void setSeed(uint64_t value) { seed = value; }

  std::vector<Array> infer(const ArrayArguments &arguments);
  void infer(const ArrayArguments &arguments, const ArrayArguments &outputs);
  double eval(const ArrayArguments &arguments, std::optional<double> &accuracy);
  /// Returns the loss. Computes all gradients, or those listed in `results`.
  double grad(const ArrayArguments &arguments, std::vector<Array> &results);
  double grad(const ArrayArguments &arguments, const ArrayArguments &results);
  /// Returns the loss. `rate` overrides the hyperparameter.
  double step(const ArrayArguments &arguments, std::optional<double> rate);
  void update(const ArrayArguments &gradients, std::optional<double> rate);
  /// If it throws, the parameters are those after the last complete step.
  void fit(const TrainingWords &words, const TrainingSource &train,
           const TrainingSource &validation, const TrainingCallback &callback);
  // Separate forward and backward passes, for the loss `vjp`. Arrays named like parameters replace
  // them.
  /// Reads only shapes.
  uint64_t residualBytes(const ArrayArguments &arguments);
  void forward(const ArrayArguments &arguments, const ArrayArguments &outputs,
               const ArrayArgument &residuals);
  uint64_t usedResidualBytes(const ArrayArgument &residuals) const;
  /// Computes gradients of the sum of outputs times cotangents, which are named like outputs and
  /// default to zero. `arguments` must be those of the forward pass. Does not check that gradients
  /// are finite.
  void backward(const ArrayArguments &arguments, const ArrayArgument &residuals,
                const ArrayArguments &cotangents, const ArrayArguments &results);
  const std::vector<double> &losses() const { return lastLosses; }

  /// May be changed until the next call.
  float *parameter(size_t index) { return session->parameters.changeValues(index); }
  void reset();
  void save(const std::string &path);
  void saveCheckpoint(const std::string &path);
  void loadCheckpoint(const std::string &path);

private:
  class CallerBatches;
  TrainSettings trainingDefaults() const;
  struct CallArguments {
    ArrayArguments arrays;
    std::vector<const ArrayArgument *> parameters;
  };

  EmbeddedCall &find(const std::string &function, const BatchArguments &batch, LossArrays use);
  EmbeddedCall &prepare(const std::string &function, const ArrayArguments &arguments,
                        LossArrays use);
  void requireOutputs(const EmbeddedCall &call, const ArrayArguments &outputs) const;
  void runOutputs(EmbeddedCall &call, const ArrayArguments &outputs);
  CallArguments takeParameters(const ArrayArguments &arguments) const;
  static void lendParameters(EmbeddedCall &call, const CallArguments &arguments);
  void requireGradients(const EmbeddedCall &call, const ArrayArguments &results) const;
  void writeGradients(const EmbeddedCall &call, const ArrayArguments &results) const;
  void requireProducts() const;
  uint32_t numberOf(const std::string &function) const;
  ArrayArguments toTargets(const EmbeddedCall &forward, const ArrayArguments &cotangents,
                           std::vector<Buffer> &zeros) const;
  /// Returns the results that cannot be redirected and must be copied.
  ArrayArguments redirectGradients(EmbeddedCall &call, const ArrayArguments &results);
  std::string chooseFunction(const std::string &function, Batch &batch, int64_t calls);
  double runLoss(EmbeddedCall &call);
  double runGradient(EmbeddedCall &call);
  std::optional<size_t> findParameter(const std::string &name) const;
  void requireShape(const ArrayArgument &argument, DType dtype,
                    const std::vector<int64_t> &shape) const;
  void applyUpdate(std::optional<double> rate, bool takesStatistics);

  const Program program;
  const std::string json;
  std::vector<std::string> gradients;
  std::unique_ptr<Session> session;
  VariantRequest request;
  int threadLimit = 0;
  std::map<std::string, double> hyper;
  double clipNorm = 0;
  uint64_t seed = 0;
  int64_t steps = 0;
  bool isTraining = false;
  std::vector<double> lastLosses;
  /// Most recently used first.
  std::map<std::string, std::deque<std::unique_ptr<EmbeddedCall>>> calls;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_EMBEDDING_EMBEDDEDPROGRAM_H
