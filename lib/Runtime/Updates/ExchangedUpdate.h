//===- ExchangedUpdate.h - Updates from the gradients of all ranks --------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_UPDATES_EXCHANGEDUPDATE_H
#define BPPSA_LIB_RUNTIME_UPDATES_EXCHANGEDUPDATE_H

#include "Updates/DeferredUpdate.h"

namespace bppsa::runtime {

struct StepShare {
  /// Their weight in the loss.
  double weight = 0;
  /// Their number, and the number on all ranks.
  int64_t samples = 0, allSamples = 0;
};

/// Updates of a run on several ranks. If steps announce final gradients and needed parameters
/// (`bppsa-signal-gradients`), gradients are exchanged while steps run. Otherwise they are
/// exchanged after each step, with bit-identical results. All calls are collective.
class ExchangedUpdate final : public DeferredUpdate {
public:
  /// `step` is the name of the step function. If `areWeighted`, steps already multiply gradients by
  /// the weight of the samples.
  ExchangedUpdate(Session &session, Ranks &ranks, const ExchangeOptions &options,
                  const std::string &step, const std::vector<size_t> &groups, bool areWeighted);

  /// Runs `step` on `share`. If `gives`, contributes its gradients, multiplied by the weight, as
  /// they become final.
  void run(const StepShare &share, bool gives, const std::function<void()> &step);
  /// The factor for gradients of samples with `weight` in sums over ranks.
  double scaleOf(double weight) const { return areWeighted ? 1 : weight; }
  /// Contributes the remaining gradients, multiplied by `weight`. Sums may then overwrite the
  /// session's gradients.
  void contributeRemaining(double weight);
  /// Starts an update with the sums.
  void update(UpdateRule rule);
  void discard();
  void settle() override;

  void gradientReady(const void *gradient) noexcept override;
  void shareMeans(float *means, int64_t count, bool areCotangents) noexcept override;
  double lossWeight() const noexcept override { return share.weight; }

private:
  std::vector<size_t> orderOf(const std::string &step) const;
  std::vector<FlatRange> ranges() const;
  void give(size_t number);
  void complete(size_t number) override;
  void completeAll();
  void collect(size_t number) override;
  [[noreturn]] void refuse() override;

  Ranks &ranks;
  const bool areWeighted;
  /// Steps announce gradients and the exchange uses that.
  const bool announcesGradients;
  /// Parameter indices in the order of first use by a step.
  const std::vector<size_t> order;
  GradientExchange exchange;
  StepShare share;
  /// The factor for contributed gradients; nothing while gradients are not contributed.
  std::optional<double> scale;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_UPDATES_EXCHANGEDUPDATE_H
