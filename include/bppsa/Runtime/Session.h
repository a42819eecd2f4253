//===- Session.h - Compiled functions on batches --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_SESSION_H
#define BPPSA_RUNTIME_SESSION_H

#include "bppsa/Program/Optimizers.h"
#include "bppsa/Runtime/Call.h"
#include "bppsa/Runtime/Distributed/Ranks.h"
#include "bppsa/Runtime/Files/Dataset.h"
#include "bppsa/Runtime/Training/Parameters.h"

#include <functional>
#include <map>

namespace bppsa::runtime {

/// The ObjectInterface.h symbols of a compiled program.
struct ProgramInterface {
  const char *json;
  uint64_t jsonSize;
  const unsigned char *onnx;
  uint64_t onnxSize;
  const bppsa_function *functions;
  const bppsa_instruction_set *instructionSets;
  const void *const **kernels;
  /// Null if all functions have code.
  FunctionLoader load = nullptr;
};

/// The program that this library is linked into.
ProgramInterface linkedProgram();

struct Program {
  /// The JSON text of `model`.
  std::string description;
  Model model;
  FunctionTable functions;
  const unsigned char *onnx;
  uint64_t onnxSize;
  /// Identifies the model: a checksum of its description and its ONNX file.
  uint32_t checksum;

  static Program load(const ProgramInterface &interface);
};

/// Parameters, optimizer states and the scalar results of compiled functions.
class Session {
public:
  Session(const Program &program, bool withOptimizer);
  Session(const Session &) = delete;

  /// Prepares a call of `function` on `batch`, which is null if the function takes none. `extra`
  /// adds to the views of parameters, batch and scalars. The batch may be refilled as long as its
  /// size stays the same.
  Call prepare(const std::string &function, Batch *batch, const ViewTable &extra = {});
  bool fits(const std::string &function, Batch &batch, const ViewTable &extra = {});

  /// Assigns learning rates by group: parameter `i` uses rates[groups[i]].
  void groupRates(const std::vector<size_t> &groups) { cutUpdates(groups, /*isEach=*/false); }
  void ungroupRates() { ranges.clear(); }
  /// Like groupRates(), but splits the update so that each parameter can be updated separately.
  void splitUpdates(const std::vector<size_t> &groups) { cutUpdates(groups, /*isEach=*/true); }
  /// Runs the optimizer on the current gradients. With `takesStatistics`, also accepts the running
  /// statistics of the last step.
  void update(bool takesStatistics = true);
  double gradientSquares();
  /// Update trained parameter `number`, or return its sum of squared gradients. Require
  /// splitUpdates().
  void updateOne(size_t number);
  double squaresOfOne(size_t number);
  /// Sets `hyper` for step `step` (counted from 1) from the learning rate `rate` and from `values`,
  /// keyed by hyperparameter name; missing values are 0. Resets the gradient scale to 1.
  void setHyper(const std::map<std::string, double> &values, double rate, int64_t step);
  void clipGradients(double squares, double limit);

  const Program &program;
  Parameters parameters;

  /// Written by steps and evaluations: the sum of the losses and, if there are several, each loss.
  float loss = 0;
  std::vector<float> losses;
  /// Written by evaluations: for each loss with classes, the total weight of the correctly
  /// classified positions.
  std::vector<double> correct;
  float lossOf(size_t number) const { return losses.size() > 1 ? losses[number] : loss; }
  /// Read by steps of models with dropout.
  int64_t seed = 0;
  /// Read by the optimizer: learning rate, weight decay, step (from 1), gradient scale, beta1,
  /// beta2, eps, 0.
  alignas(64) float hyper[program::kNumHyperSlots] = {};
  /// The learning rates of groups, which replace the rate in `hyper` if there are groups.
  std::vector<float> rates;

private:
  /// A contiguous range of the flat arrays with the same learning rate.
  struct UpdateRange {
    size_t group;
    /// The model index of its first parameter.
    size_t index;
    alignas(64) float hyper[program::kNumHyperSlots];
    Call call;
    double squares;
    Call callSquares;
  };

  void cutUpdates(const std::vector<size_t> &groups, bool isEach);
  std::unique_ptr<UpdateRange> makeRange(size_t index, size_t group, int64_t start, int64_t size);
  void update(UpdateRange &range);

  ViewTable collectViews(Batch *batch, const ViewTable &extra);
  /// Adds memory for final states that `function` computes but the caller does not use.
  void addUnusedStates(const std::string &function, const Batch &batch, ViewTable &views);

  double squares = 0;
  /// Keyed by function, argument name and size.
  std::map<std::string, Buffer> unusedStates;
  /// Prepared on first use if code is loaded lazily, so that inference does not load them.
  std::optional<Call> callUpdate, callSquares;
  std::vector<std::unique_ptr<UpdateRange>> ranges;
};

struct LossSums {
  /// For each loss: the weighted sum of its values, and the sum of the weights.
  std::vector<double> losses, weights;

  void add(size_t number, double loss, double weight);
  void addSum(size_t number, double sum, double weight);
  /// The mean of loss `number`, or nothing if its total weight is zero.
  std::optional<double> mean(size_t number) const;
  /// The sum of the means, each multiplied by the factor of its loss.
  double total(const Model &model) const;
};

struct LossValue {
  /// Nothing if all positions have weight zero.
  std::optional<double> loss;
  /// Only set for losses with classes.
  std::optional<double> accuracy;
};

struct Evaluation {
  /// The sum of the losses, each multiplied by its factor, and the accuracy of the only loss with
  /// classes.
  double loss = 0;
  std::optional<double> accuracy;
  int64_t samples = 0;
  std::vector<LossValue> losses;
};

class EvaluationSums {
public:
  explicit EvaluationSums(const Model &model)
      : model(model), correct(model.losses.size()), positions(model.losses.size()) {}

  /// Adds the results that the session's `eval` computed for `batch`. Throws DivergedError if the
  /// loss is not finite; `what` describes the samples in the message.
  void add(const Session &session, const Batch &batch, const std::string &what);
  /// Adds the sums of the other ranks in rank order. Returns whether any rank, including this one
  /// according to `isStopped`, stopped early.
  bool combine(Ranks &ranks, bool isStopped);
  Evaluation result() const;

private:
  const Model &model;
  LossSums sums;
  std::vector<double> correct, positions;
  int64_t samples = 0;
};

/// Evaluates the `samples` of `data` in batches, which are distributed over the ranks as a whole,
/// and calls `visit` for each batch of this rank. Returns nothing if `stop` returned true on any
/// rank. Throws Error if a loss is not finite.
std::optional<Evaluation> evaluate(
    Session &session, const Dataset &data, const std::vector<int64_t> &samples, int64_t batchSize,
    Ranks &ranks, const std::function<bool()> &stop,
    const std::function<void(Batch &)> &visit = [](Batch &) {});

/// Names the first element that is not finite in an Error.
void requireFiniteGradients(Session &session);
void requireFiniteGradient(const std::string &name, const float *gradient,
                           const std::vector<int64_t> &shape);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_SESSION_H
