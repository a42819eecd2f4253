//===- GradientExchange.h - Sums of gradients over ranks ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_DISTRIBUTED_GRADIENTEXCHANGE_H
#define BPPSA_RUNTIME_DISTRIBUTED_GRADIENTEXCHANGE_H

#include "bppsa/Runtime/Distributed/Ranks.h"
#include "bppsa/Runtime/Distributed/SliceProtocol.h"
#include "bppsa/Runtime/Memory.h"

namespace bppsa::runtime {

/// The sums are bit-identical for all settings.
struct ExchangeOptions {
  enum class Kind {
    /// Whole parameters, after the step.
    Barrier,
    /// Whole parameters, as their gradients become final.
    AllReduce,
    /// Slices, by the read order of the next step (P3, MLSys 2019).
    P3,
    /// Slices; all sums are computed before any is sent back (DeAR).
    DeAR
  };
  Kind kind = Kind::AllReduce;
  bool hasBarrier() const { return kind == Kind::Barrier || kind == Kind::AllReduce; }
  int64_t slice = 50000;
};

struct FlatRange {
  int64_t start, size;
};

/// Sums the gradients of all ranks. The owner of a slice adds contributions in rank order, so sums
/// depend neither on timing nor on slicing. `docs/Guides/Distributed.md` explains why ranks cannot
/// deadlock.
class GradientExchange {
public:
  /// `order` lists the parameter indices in the read order of the next step.
  GradientExchange(Ranks &ranks, float *gradients, const std::vector<FlatRange> &parameters,
                   const std::vector<size_t> &order, ExchangeOptions options);
  ~GradientExchange();
  GradientExchange(const GradientExchange &) = delete;

  /// Contributes a gradient, multiplied by `weight`. This rank must have taken the previous sum
  /// before.
  void give(size_t parameter, double weight);
  void take(size_t parameter);

private:
  struct Slice {
    int64_t start, size;
    int64_t use;
    int owner;
    size_t ownedNumber = 0;
    int64_t ownedStart = 0;

    /// Steps that this rank has contributed to. Training thread only.
    int64_t given = 0;
    /// Steps sent and steps summed. Only changed through MessageLoop::update().
    int64_t pushed = 0, summed = 0;
  };

  void cut(const std::vector<FlatRange> &parameters, const std::vector<size_t> &order);
  bool isOwned(const Slice &slice) const { return slice.owner == ranks.rank(); }
  const float *contributionOf(const Slice &slice, int rank) const;
  int64_t priorityOf(const Slice &slice, bool isSum) const;
  std::string describeMissing(const Slice &slice) const;

  void push(size_t number, double ready);
  void perform(const SliceProtocol::Actions &actions);
  void receivePushes(size_t number);
  void addUp(size_t number);
  void sendSums(size_t number);

  Ranks &ranks;
  float *const gradients;
  const ExchangeOptions options;
  std::vector<Slice> slices;
  std::vector<size_t> firstSlices;
  std::vector<size_t> ownedSlices;
  SliceProtocol protocol;
  Buffer contribution;
  std::vector<Buffer> contributions;
  Buffer sums;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DISTRIBUTED_GRADIENTEXCHANGE_H
