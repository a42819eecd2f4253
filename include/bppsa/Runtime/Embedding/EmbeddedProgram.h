//===- EmbeddedProgram.h - a program in another program's process -*- C++ -*-===//
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

/// A compiled program whose arrays are those of a caller. Calls throw Error and UsageError, and
/// have changed nothing then: neither parameters nor memory of the caller. For one thread at a
/// time.
class EmbeddedProgram {
public:
  explicit EmbeddedProgram(Program program);

  const Model &model() const { return program.model; }
  /// What the command `info` prints.
  const std::string &description() const { return json; }
  /// The names of all gradients: trained parameters, then float inputs.
  const std::vector<std::string> &gradientNames() const { return gradients; }

  /// What calls use; 0: all cores.
  void setThreads(int count);
  /// How many threads calls have.
  int threadCount() const { return threadLimit; }
  void setVariant(VariantRequest request);
  /// Chooses the variant for steps on such arrays by times.
  void tune(const ArrayArguments &arguments, int64_t calls);
  /// A number that updates read, or `clip_norm`.
  void setHyper(const std::string &name, double value);
  void setSeed(uint64_t value) { seed = value; }

  /// All graph outputs, in order; or those of `outputs`, written there.
  std::vector<Array> infer(const ArrayArguments &arguments);
  void infer(const ArrayArguments &arguments, const ArrayArguments &outputs);
  /// The loss; and the share of right positions, where that is known, in `accuracy`.
  double eval(const ArrayArguments &arguments, std::optional<double> &accuracy);
  /// The loss; and all gradients in their order, or those of `results`, written there.
  double grad(const ArrayArguments &arguments, std::vector<Array> &results);
  double grad(const ArrayArguments &arguments, const ArrayArguments &results);
  /// The loss of a training step. Nothing for the rate: the hyperparameter.
  double step(const ArrayArguments &arguments, std::optional<double> rate);
  void update(const ArrayArguments &gradients, std::optional<double> rate);
  /// Trains as the command `train` does (EmbeddedTraining.cpp). Where it throws, parameters are
  /// those after the last whole step.
  void fit(const TrainingWords &words, const TrainingSource &train,
           const TrainingSource &validation, const TrainingCallback &callback);
  // Forward and backward passes apart, of programs whose loss is `vjp` (VectorJacobian.cpp). Arrays
  // under the names of parameters are read in the place of the program's own; so they are by
  // infer().
  /// The bytes of the residuals of a forward pass on arrays of these shapes, whose memory is not
  /// looked at.
  uint64_t residualBytes(const ArrayArguments &arguments);
  /// Computes outputs as infer() does, and writes what backward() reads to `residuals`.
  void forward(const ArrayArguments &arguments, const ArrayArguments &outputs,
               const ArrayArgument &residuals);
  /// How many bytes of `residuals`, which forward() has written, belong to them.
  uint64_t usedResidualBytes(const ArrayArgument &residuals) const;
  /// Gradients of the sum of outputs times cotangents, which are named after the outputs and zero
  /// where they are missing. `arguments` are those of the forward pass. Writes the gradients of
  /// `results`, whatever their values.
  void backward(const ArrayArguments &arguments, const ArrayArgument &residuals,
                const ArrayArguments &cotangents, const ArrayArguments &results);
  /// Of the last call that had one.
  const std::vector<double> &losses() const { return lastLosses; }

  /// The values of a parameter, to be changed until the next call.
  float *parameter(size_t index) { return session->parameters.changeValues(index); }
  void reset();
  void save(const std::string &path);
  void saveCheckpoint(const std::string &path);
  void loadCheckpoint(const std::string &path);

private:
  class CallerBatches;
  TrainSettings trainingDefaults() const;
  /// The arrays of a call, and those among them that stand for parameters.
  struct CallArguments {
    ArrayArguments arrays;
    std::vector<const ArrayArgument *> parameters;
  };

  EmbeddedCall &find(const std::string &function, const BatchArguments &batch, LossArrays use);
  EmbeddedCall &prepare(const std::string &function, const ArrayArguments &arguments,
                        LossArrays use);
  /// Throws where an output does not fit the call.
  void requireOutputs(const EmbeddedCall &call, const ArrayArguments &outputs) const;
  void runOutputs(EmbeddedCall &call, const ArrayArguments &outputs);
  /// Throws where an array for a parameter does not fit it.
  CallArguments takeParameters(const ArrayArguments &arguments) const;
  static void lendParameters(EmbeddedCall &call, const CallArguments &arguments);
  /// Throws where a result is no gradient, or has another shape than the call's.
  void requireGradients(const EmbeddedCall &call, const ArrayArguments &results) const;
  void writeGradients(const EmbeddedCall &call, const ArrayArguments &results) const;
  void requireProducts() const;
  uint32_t numberOf(const std::string &function) const;
  /// The targets that cotangents are; `zeros` keeps those that are left out.
  ArrayArguments toTargets(const EmbeddedCall &forward, const ArrayArguments &cotangents,
                           std::vector<Buffer> &zeros) const;
  /// Lets the next run write gradients where callers want them; returns those that it does not.
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
  /// Finished updates.
  int64_t steps = 0;
  bool isTraining = false;
  std::vector<double> lastLosses;
  /// Of each function, the latest in front.
  std::map<std::string, std::deque<std::unique_ptr<EmbeddedCall>>> calls;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_EMBEDDING_EMBEDDEDPROGRAM_H
