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

struct ProgramInterface {
  const char *json;
  uint64_t jsonSize;
  const unsigned char *onnx;
  uint64_t onnxSize;
  const bppsa_function *functions;
  const bppsa_instruction_set *instructionSets;
  const void *const **kernels;
  FunctionLoader load = nullptr;
};

ProgramInterface linkedProgram();

struct Program {
  std::string description;
  Model model;
  FunctionTable functions;
  const unsigned char *onnx;
  uint64_t onnxSize;
  /// A checksum of the description and the ONNX file.
  uint32_t checksum;

  static Program load(const ProgramInterface &interface);
};

class Session {
public:
  Session(const Program &program, bool withOptimizer);
  Session(const Session &) = delete;

  /// Prepares a call of `function` on `batch`, which may be null. The batch may be refilled if its
  /// size stays the same.
  Call prepare(const std::string &function, Batch *batch, const ViewTable &extra = {});
  bool fits(const std::string &function, Batch &batch, const ViewTable &extra = {});

  /// Parameter `i` uses learning rate rates[groups[i]].
  void setRateGroups(const std::vector<size_t> &groups) { cutUpdates(groups, /*isEach=*/false); }
  void clearRateGroups() { ranges.clear(); }
  /// Variant of setRateGroups() that lets each parameter be updated separately.
  void splitUpdates(const std::vector<size_t> &groups) { cutUpdates(groups, /*isEach=*/true); }
  /// Runs the optimizer. With `takesStatistics`, also accepts the running statistics of the last
  /// step.
  void update(bool takesStatistics = true);
  double gradientSquares();
  void updateOne(size_t number);
  double squaresOfOne(size_t number);
  /// Sets `hyper` for step `step` (from 1); missing values are 0. Resets the gradient scale to 1.
  void setHyper(const std::map<std::string, double> &values, double rate, int64_t step);
  void clipGradients(double squares, double limit);

  const Program &program;
  Parameters parameters;

  /// The sum of the losses and, if there are several, each loss.
  float loss = 0;
  std::vector<float> losses;
  /// The total weight of correctly classified positions, for each loss with classes.
  std::vector<double> correct;
  float lossOf(size_t number) const { return losses.size() > 1 ? losses[number] : loss; }
  int64_t seed = 0;
  /// Learning rate, weight decay, step (from 1), gradient scale, beta1, beta2, eps, 0.
  alignas(64) float hyper[program::kNumHyperSlots] = {};
  std::vector<float> rates;

private:
  struct UpdateRange {
    size_t group;
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
  void addUnusedStates(const std::string &function, const Batch &batch, ViewTable &views);

  double squares = 0;
  std::map<std::string, Buffer> unusedStates;
  /// Prepared on first use, so that inference does not load them.
  std::optional<Call> callUpdate, callSquares;
  std::vector<std::unique_ptr<UpdateRange>> ranges;
};

struct LossSums {
  /// For each loss, the weighted sum of its values, and the sum of weights.
  std::vector<double> losses, weights;

  void add(size_t number, double loss, double weight);
  void addSum(size_t number, double sum, double weight);
  std::optional<double> mean(size_t number) const;
  double total(const Model &model) const;
};

struct LossValue {
  std::optional<double> loss;
  std::optional<double> accuracy;
};

struct Evaluation {
  /// The weighted sum of the losses, and the accuracy of the only loss with classes.
  double loss = 0;
  std::optional<double> accuracy;
  int64_t samples = 0;
  std::vector<LossValue> losses;
};

class EvaluationSums {
public:
  explicit EvaluationSums(const Model &model)
      : model(model), correct(model.losses.size()), positions(model.losses.size()) {}

  /// Adds the results of `eval` for `batch`. Throws DivergedError if the loss is not finite; `what`
  /// describes the samples.
  void add(const Session &session, const Batch &batch, const std::string &what);
  /// Adds the sums of the other ranks in rank order. Returns true if any rank stopped early.
  bool combine(Ranks &ranks, bool isStopped);
  Evaluation result() const;

private:
  const Model &model;
  LossSums sums;
  std::vector<double> correct, positions;
  int64_t samples = 0;
};

/// Evaluates the `samples` of `data` in batches distributed over the ranks, calling `visit` for
/// each batch of this rank. Returns nothing if `stop` returned true on any rank.
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
