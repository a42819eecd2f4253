//===- ExchangedUpdate.h - Updates by the gradients of all ranks ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_UPDATES_EXCHANGEDUPDATE_H
#define BPPSA_LIB_RUNTIME_UPDATES_EXCHANGEDUPDATE_H

#include "Updates/DeferredUpdate.h"

namespace bppsa::runtime {

/// The samples of a batch that this rank computes.
struct StepShare {
  /// Their weight in the loss.
  double weight = 0;
  /// How many there are, and how many on all ranks.
  int64_t samples = 0, allSamples = 0;
};

/// Updates of a run on several ranks. A step that announces final gradients and needed parameters
/// (`bppsa-signal-gradients`) runs while gradients are exchanged. Other steps exchange them after
/// they have run, with the same bits. All ranks make the same calls.
class ExchangedUpdate final : public DeferredUpdate {
public:
  /// `step` is the function that computes steps. Steps that `areWeighted` multiply gradients by the
  /// weight of the samples themselves.
  ExchangedUpdate(Session &session, Ranks &ranks, const ExchangeOptions &options,
                  const std::string &step, const std::vector<size_t> &groups, bool areWeighted);

  /// Runs `step` on `share`. If it `gives` them, its gradients are handed over times the weight.
  void run(const StepShare &share, bool gives, const std::function<void()> &step);
  /// The factor of gradients of samples with `weight` before they are added up.
  double scaleOf(double weight) const { return areWeighted ? 1 : weight; }
  /// Hands over the remaining gradients times `weight`. After this the gradients are not those of
  /// this rank.
  void giveRest(double weight);
  /// Makes an update of the sums.
  void update(UpdateRule rule);
  /// Drops the sums.
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
  /// Whether steps announce gradients, and the exchange uses that.
  const bool isTold;
  /// Numbers of parameters in the order in which a step first needs them.
  const std::vector<size_t> order;
  GradientExchange exchange;
  StepShare share;
  /// The factor of gradients that are handed over; nothing while they are not.
  std::optional<double> scale;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_UPDATES_EXCHANGEDUPDATE_H
