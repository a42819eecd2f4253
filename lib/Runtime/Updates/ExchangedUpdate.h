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
  double weight = 0;
  int64_t samples = 0, allSamples = 0;
};

/// Updates on several ranks. Exchanges gradients while steps run if steps announce them
/// (`bppsa-signal-gradients`), otherwise after each step, with bit-identical results. All calls are
/// collective.
class ExchangedUpdate final : public DeferredUpdate {
public:
  /// With `areWeighted`, steps multiply gradients by the weight of the samples.
  ExchangedUpdate(Session &session, Ranks &ranks, const ExchangeOptions &options,
                  const std::string &step, const std::vector<size_t> &groups, bool areWeighted);

  /// If `gives`, contributes weighted gradients as they become final.
  void run(const StepShare &share, bool gives, const std::function<void()> &step);
  double scaleOf(double weight) const { return areWeighted ? 1 : weight; }
  /// Contributes the remaining gradients. Sums may then overwrite the session's gradients.
  void contributeRemaining(double weight);
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
  const bool announcesGradients;
  const std::vector<size_t> order;
  GradientExchange exchange;
  StepShare share;
  std::optional<double> scale;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_UPDATES_EXCHANGEDUPDATE_H
