//===- Session.h - Compiled functions on batches --------------------------------===//
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

/// Where a compiled program has what ObjectInterface.h lists.
struct ProgramInterface {
  const char *json;
  uint64_t jsonSize;
  const unsigned char *onnx;
  uint64_t onnxSize;
  const bppsa_function *functions;
  const bppsa_instruction_set *instructionSets;
  const void *const **kernels;
  /// Null where all functions have code.
  FunctionLoader load = nullptr;
};

/// The program this library is linked into.
ProgramInterface linkedProgram();

/// What a compiled program consists of.
struct Program {
  /// The JSON text that `model` was read from.
  std::string description;
  Model model;
  FunctionTable functions;
  const unsigned char *onnx;
  uint64_t onnxSize;
  /// Identifies the model: a checksum of its description and its ONNX file.
  uint32_t checksum;

  /// Throws Error where the program cannot be used.
  static Program load(const ProgramInterface &interface);
};

/// Parameters and the small results of compiled functions.
class Session {
public:
  Session(const Program &program, bool withOptimizer);
  Session(const Session &) = delete;

  /// A call of `function` on `batch` (null: the function takes none). `extra` adds to the views of
  /// parameters, batch and scalars. The batch may be filled again as long as its size stays.
  Call prepare(const std::string &function, Batch *batch, const ViewTable &extra = {});
  /// Whether the device has memory for that call.
  bool fits(const std::string &function, Batch &batch, const ViewTable &extra = {});

  /// Gives trained parameters rates of their own: parameter `i` has rates[groups[i]].
  void groupRates(const std::vector<size_t> &groups) { cutUpdates(groups, /*isEach=*/false); }
  void ungroupRates() { ranges.clear(); }
  /// The same; each of them can then be updated for itself.
  void splitUpdates(const std::vector<size_t> &groups) { cutUpdates(groups, /*isEach=*/true); }
  /// Calls the optimizer on the gradients that the last step left, and takes over its statistics,
  /// where there was a step.
  void update(bool takesStatistics = true);
  /// The sum of the squares of all gradients.
  double gradientSquares();
  /// Both for trained parameter `number` of those that splitUpdates() has taken apart.
  void updateOne(size_t number);
  double squaresOfOne(size_t number);
  /// Sets `hyper` for step `step`, counted from 1: `rate`, and `values` by the names of the model's
  /// hyperparameters, 0 for those that are not there. Gradients are not scaled then.
  void setHyper(const std::map<std::string, double> &values, double rate, int64_t step);
  /// Scales gradients of that sum of squares to a norm of at most `limit`.
  void clipGradients(double squares, double limit);

  const Program &program;
  Parameters parameters;

  /// Written by steps and evaluations: the sum of the losses and, where there are several, each.
  float loss = 0;
  std::vector<float> losses;
  /// Of each loss with classes, the weights of the positions that are right; written by
  /// evaluations.
  std::vector<double> correct;
  float lossOf(size_t number) const { return losses.size() > 1 ? losses[number] : loss; }
  /// Read by steps of models with dropout.
  int64_t seed = 0;
  /// Read by the optimizer: learning rate, weight decay, step (from 1), gradient scale, then
  /// beta1, beta2, eps, 0.
  alignas(64) float hyper[program::kNumHyperSlots] = {};
  /// The learning rates of groups, where there are some, in place of that of `hyper`.
  std::vector<float> rates;

private:
  /// Neighbours in the flat arrays that have the same rate.
  struct UpdateRange {
    size_t group;
    /// The first of them in the model.
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
  /// Adds memory for the final states that `function` computes and nobody asked for.
  void addUnusedStates(const std::string &function, const Batch &batch, ViewTable &views);

  double squares = 0;
  /// By function and name, large enough for the largest batch.
  std::map<std::string, Buffer> unusedStates;
  /// In a program that gets its code by and by, prepared when they are first needed: what only
  /// infers needs no code for them.
  std::optional<Call> callUpdate, callSquares;
  std::vector<std::unique_ptr<UpdateRange>> ranges;
};

/// Sums of the losses of batches, for their means.
struct LossSums {
  /// Of each loss: the sum of its values times what they count, and of that.
  std::vector<double> losses, weights;

  void add(size_t number, double loss, double weight);
  /// Adds a sum of losses times what they count, which is `weight` in all.
  void addSum(size_t number, double sum, double weight);
  /// The mean of loss `number`; nothing where none of its positions had a weight.
  std::optional<double> mean(size_t number) const;
  /// The sum of the means, each times its factor.
  double total(const Model &model) const;
};

/// A mean loss and a share of right answers over a data set.
struct LossValue {
  /// Nothing where no position has a weight.
  std::optional<double> loss;
  /// Only where the loss has classes.
  std::optional<double> accuracy;
};

struct Evaluation {
  /// The sum of the losses, each times its factor, and the accuracy of the one with classes.
  double loss = 0;
  std::optional<double> accuracy;
  int64_t samples = 0;
  /// Of each loss.
  std::vector<LossValue> losses;
};

/// Sums over the batches of an evaluation.
class EvaluationSums {
public:
  explicit EvaluationSums(const Model &model)
      : model(model), correct(model.losses.size()), positions(model.losses.size()) {}

  /// Adds what `eval` of the session has computed of `batch`. Throws DivergedError where the loss
  /// is not finite; `what` says of which samples it is.
  void add(const Session &session, const Batch &batch, const std::string &what);
  /// Adds the sums of the other ranks, in the order of the ranks. Returns whether one of them, or
  /// this one as `isStopped` says, has left early.
  bool combine(Ranks &ranks, bool isStopped);
  Evaluation result() const;

private:
  const Model &model;
  LossSums sums;
  std::vector<double> correct, positions;
  int64_t samples = 0;
};

/// Evaluates the `samples` of `data` batch by batch, whole batches on each rank, and calls `visit`
/// with those of this rank; nothing when `stop` asked some rank to leave early. Throws Error when a
/// loss is not finite.
std::optional<Evaluation> evaluate(
    Session &session, const Dataset &data, const std::vector<int64_t> &samples, int64_t batchSize,
    Ranks &ranks, const std::function<bool()> &stop,
    const std::function<void(Batch &)> &visit = [](Batch &) {});

/// Throws Error, naming the first gradient element that is not finite, if there is one.
void requireFiniteGradients(Session &session);
/// The same of `gradient`, the gradient of `name`, float32.
void requireFiniteGradient(const std::string &name, const float *gradient,
                           const std::vector<int64_t> &shape);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_SESSION_H
