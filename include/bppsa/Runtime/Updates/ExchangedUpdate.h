//===- ExchangedUpdate.h - Updates by the gradients of all ranks ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_UPDATES_EXCHANGEDUPDATE_H
#define BPPSA_RUNTIME_UPDATES_EXCHANGEDUPDATE_H

#include "bppsa/Runtime/Distributed/GradientExchange.h"
#include "bppsa/Runtime/Distributed/StepListener.h"
#include "bppsa/Runtime/Session.h"

#include <exception>
#include <functional>
#include <map>
#include <optional>

namespace bppsa::runtime {

/// How parameters are updated by the sums of gradients.
struct UpdateRule {
  /// What the samples of all ranks count: the gradient is the sum divided by it.
  double divisor = 1;
  std::optional<double> clipNorm;
  /// The decay of the average of the weights, where there is one, and whether it begins here.
  std::optional<double> decay;
  bool restartsAverage = false;
  /// Which step it is, for errors.
  std::string where;
};

/// What this rank computes of a batch.
struct StepShare {
  /// What its samples count in the loss.
  double weight = 0;
  /// How many there are, and how many of all ranks.
  int64_t samples = 0, allSamples = 0;
};

/// The updates of a run on several ranks. A step that tells when its gradients are final and which
/// parameters it needs (`bppsa-signal-gradients`) is run while gradients are exchanged: each is
/// handed over when it is final, and each parameter is updated when the next step first needs it.
/// With other steps all that happens between them, with the same bits. Ranks make the same calls.
class ExchangedUpdate : public StepListener {
public:
  /// `step` is the function that computes steps, `groups` says of each parameter of the model which
  /// rate of the session it has. Steps that `areWeighted` multiply gradients by what samples count.
  ExchangedUpdate(Session &session, Ranks &ranks, const ExchangeOptions &options,
                  const std::string &step, const std::vector<size_t> &groups, bool areWeighted);

  /// Runs `step` on `share`. Where it `gives` them, its gradients are handed over times the weight.
  void run(const StepShare &share, bool gives, const std::function<void()> &step);
  /// What gradients of samples that count `weight` are multiplied by, before they are added up.
  double scaleOf(double weight) const { return areWeighted ? 1 : weight; }
  /// Hands over, times `weight`, what no step has handed over. After this the gradients are not
  /// those of this rank alone.
  void giveRest(double weight);
  /// The sums are for this update, which is made by the settings of the session.
  void update(UpdateRule rule);
  /// The sums are for nothing.
  void discard();
  /// Makes what is left of the last update; after this parameters and gradients are those of the
  /// last step. Throws DivergedError where a gradient is not finite.
  void settle();

  void parameterNeeded(const void *values) noexcept override;
  void gradientReady(const void *gradient) noexcept override;
  void shareMeans(float *means, int64_t count, bool areCotangents) noexcept override;
  double lossWeight() const noexcept override { return share.weight; }

private:
  struct Parameter {
    /// Where it is in the model.
    size_t index;
    /// Where its gradient is in the flat array.
    FlatRange range;
    bool isGiven = false, isPending = false;
  };

  static std::vector<Parameter> trainedOf(const Session &session);
  static std::vector<FlatRange> rangesOf(const std::vector<Parameter> &parameters);
  std::vector<size_t> orderOf(const std::string &step) const;
  void give(size_t number);
  void apply(size_t number);
  void applyAll();
  void collect(size_t number);
  void addToAverage(size_t number);
  [[noreturn]] void refuse();

  Session &session;
  Ranks &ranks;
  const bool areWeighted;
  std::vector<Parameter> parameters;
  /// Whether steps tell what they do, and that is heeded.
  const bool isTold;
  /// Numbers of parameters in the order in which a step first needs them.
  const std::vector<size_t> order;
  GradientExchange exchange;
  /// By the addresses of values and of gradients.
  std::map<const void *, size_t> byValues, byGradient;

  StepShare share;
  /// What the gradients that are handed over count; nothing where they are not.
  std::optional<double> scale;
  UpdateRule rule;
  /// What went wrong while a step was running.
  std::exception_ptr error;
};

/// Throws DivergedError: the step `where` has found `what`, or a gradient that is not finite.
[[noreturn]] void failDiverged(const std::string &where, const std::string &what);
[[noreturn]] void refuseGradients(Session &session, const std::string &where);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_UPDATES_EXCHANGEDUPDATE_H
