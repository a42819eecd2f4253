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

/// How gradients are exchanged. The sums are bit-identical for all settings.
struct ExchangeOptions {
  enum class Kind {
    /// Whole parameters, after the step.
    Barrier,
    /// Whole parameters, as their gradients become final.
    AllReduce,
    /// Slices, prioritized by the read order of the next step (P3, MLSys 2019).
    P3,
    /// Slices. All sums are computed before any is sent back, in the read order of the next step
    /// (DeAR).
    DeAR
  };
  Kind kind = Kind::AllReduce;
  bool hasBarrier() const { return kind == Kind::Barrier || kind == Kind::AllReduce; }
  /// In elements.
  int64_t slice = 50000;
};

/// Elements [start, start + size) of a flat array.
struct FlatRange {
  int64_t start, size;
};

/// Sums the gradients of all ranks. Each slice has an owner, which adds the contributions of all
/// ranks in rank order, so the sums depend neither on timing nor on slicing.
/// `docs/Explanation/DistributedDesign.md` explains why ranks cannot deadlock.
class GradientExchange {
public:
  /// `gradients` is the flat gradient array, with the ranges `parameters`. `order` lists the
  /// parameter indices in the read order of the next step.
  GradientExchange(Ranks &ranks, float *gradients, const std::vector<FlatRange> &parameters,
                   const std::vector<size_t> &order, ExchangeOptions options);
  ~GradientExchange();
  GradientExchange(const GradientExchange &) = delete;

  /// Contributes the gradient of a parameter, multiplied by `weight`. This rank must have taken the
  /// previous sum before the gradient was written.
  void give(size_t parameter, double weight);
  /// Waits until the sum has replaced the gradient of a parameter.
  void take(size_t parameter);

private:
  struct Slice {
    int64_t start, size;
    /// In the read order of the next step.
    int64_t use;
    int owner;
    /// Owned slices: the index among them, and the offset in their buffers.
    size_t ownedNumber = 0;
    int64_t ownedStart = 0;

    /// Steps to which this rank has contributed. Only used by the training thread.
    int64_t given = 0;
    /// Steps whose contribution has been sent, and steps whose sum has arrived. Only changed
    /// through MessageLoop::update().
    int64_t pushed = 0, summed = 0;
  };

  void cut(const std::vector<FlatRange> &parameters, const std::vector<size_t> &order);
  bool isOwned(const Slice &slice) const { return slice.owner == ranks.rank(); }
  const float *contributionOf(const Slice &slice, int rank) const;
  int64_t priorityOf(const Slice &slice, bool isSum) const;
  std::string describeMissing(const Slice &slice) const;

  // Called on the message thread.
  void push(size_t number, double ready);
  void perform(const SliceProtocol::Actions &actions);
  void receivePushes(size_t number);
  void addUp(size_t number);
  void sendSums(size_t number);

  Ranks &ranks;
  float *const gradients;
  const ExchangeOptions options;
  std::vector<Slice> slices;
  /// The first slice of each parameter, followed by the total number of slices.
  std::vector<size_t> firstSlices;
  std::vector<size_t> ownedSlices;
  SliceProtocol protocol;
  /// This rank's contributions, in the flat layout.
  Buffer contribution;
  /// Owned slices: the contributions of each other rank, and the sums.
  std::vector<Buffer> contributions;
  Buffer sums;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DISTRIBUTED_GRADIENTEXCHANGE_H
