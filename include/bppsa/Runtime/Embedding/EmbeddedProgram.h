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

/// A compiled program that works on arrays of a caller. Calls that throw Error or UsageError have
/// changed neither parameters nor memory of the caller. Must not be used by several threads at
/// once.
class EmbeddedProgram {
public:
  explicit EmbeddedProgram(Program program);

  const Model &model() const { return program.model; }
  /// The output of the command `info`.
  const std::string &description() const { return json; }
  /// Trained parameters, then float inputs.
  const std::vector<std::string> &gradientNames() const { return gradients; }

  /// Sets the thread count of calls; 0 for all cores.
  void setThreads(int count);
  int threadCount() const { return threadLimit; }
  void setVariant(VariantRequest request);
  /// Selects the variant of `step` for arrays of these sizes by timing. `calls` is the expected
  /// number of calls.
  void tune(const ArrayArguments &arguments, int64_t calls);
  /// Also accepts `clip_norm`.
  void setHyper(const std::string &name, double value);
  void setSeed(uint64_t value) { seed = value; }

  /// Returns all graph outputs in order, or writes the outputs listed in `outputs`.
  std::vector<Array> infer(const ArrayArguments &arguments);
  void infer(const ArrayArguments &arguments, const ArrayArguments &outputs);
  /// Returns the loss. Sets `accuracy` if it is defined.
  double eval(const ArrayArguments &arguments, std::optional<double> &accuracy);
  /// Returns the loss. Computes all gradients in order, or writes the gradients listed in
  /// `results`.
  double grad(const ArrayArguments &arguments, std::vector<Array> &results);
  double grad(const ArrayArguments &arguments, const ArrayArguments &results);
  /// step() returns the loss of a training step. Without `rate`, both use the hyperparameter.
  double step(const ArrayArguments &arguments, std::optional<double> rate);
  void update(const ArrayArguments &gradients, std::optional<double> rate);
  /// Trains like the command `train` (EmbeddedTraining.cpp). If it throws, the parameters are those
  /// after the last complete step.
  void fit(const TrainingWords &words, const TrainingSource &train,
           const TrainingSource &validation, const TrainingCallback &callback);
  // Separate forward and backward passes, for programs with the loss `vjp` (VectorJacobian.cpp).
  // Arrays named like parameters replace the program's own parameters, also in infer().
  /// The residual size in bytes of a forward pass on arrays of these shapes. Does not read the
  /// arrays.
  uint64_t residualBytes(const ArrayArguments &arguments);
  void forward(const ArrayArguments &arguments, const ArrayArguments &outputs,
               const ArrayArgument &residuals);
  /// The number of bytes of `residuals` that forward() has written.
  uint64_t usedResidualBytes(const ArrayArgument &residuals) const;
  /// Computes the gradients of the sum of outputs times cotangents, which are named like the
  /// outputs; missing cotangents are zero. `arguments` must be the same as in the forward pass.
  /// Writes the gradients listed in `results`, without checking that they are finite.
  void backward(const ArrayArguments &arguments, const ArrayArgument &residuals,
                const ArrayArguments &cotangents, const ArrayArguments &results);
  /// From the last call that computed losses.
  const std::vector<double> &losses() const { return lastLosses; }

  /// The values of a parameter, which may be changed until the next call.
  float *parameter(size_t index) { return session->parameters.changeValues(index); }
  void reset();
  void save(const std::string &path);
  void saveCheckpoint(const std::string &path);
  void loadCheckpoint(const std::string &path);

private:
  class CallerBatches;
  TrainSettings trainingDefaults() const;
  /// The arrays of a call, and those that replace parameters.
  struct CallArguments {
    ArrayArguments arrays;
    std::vector<const ArrayArgument *> parameters;
  };

  EmbeddedCall &find(const std::string &function, const BatchArguments &batch, LossArrays use);
  EmbeddedCall &prepare(const std::string &function, const ArrayArguments &arguments,
                        LossArrays use);
  void requireOutputs(const EmbeddedCall &call, const ArrayArguments &outputs) const;
  void runOutputs(EmbeddedCall &call, const ArrayArguments &outputs);
  /// Throws if a replacement does not match its parameter.
  CallArguments takeParameters(const ArrayArguments &arguments) const;
  static void lendParameters(EmbeddedCall &call, const CallArguments &arguments);
  /// Throws if a result is not a gradient or has the wrong shape.
  void requireGradients(const EmbeddedCall &call, const ArrayArguments &results) const;
  void writeGradients(const EmbeddedCall &call, const ArrayArguments &results) const;
  void requireProducts() const;
  uint32_t numberOf(const std::string &function) const;
  /// Returns the cotangents as targets. `zeros` holds the memory of missing cotangents.
  ArrayArguments toTargets(const EmbeddedCall &forward, const ArrayArguments &cotangents,
                           std::vector<Buffer> &zeros) const;
  /// Redirects gradients of the next run to `results` where possible. Returns the results that must
  /// be copied.
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
  /// By function, most recently used first.
  std::map<std::string, std::deque<std::unique_ptr<EmbeddedCall>>> calls;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_EMBEDDING_EMBEDDEDPROGRAM_H
