//===- GradientExchange.h - Sums of gradients over ranks --------------------------===//
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

/// How gradients are exchanged. The sums are the same, bit by bit.
struct ExchangeOptions {
  enum class Kind {
    /// Whole parameters, between one step and the next.
    Barrier,
    /// Whole parameters, in the order in which their gradients are there.
    AllReduce,
    /// Slices, those of the parameters that the next step reads first before others (P3, MLSys
    /// 2019).
    P3,
    /// Slices: all sums first, and their way back in the order in which the next step reads them
    /// (DeAR).
    DeAR
  };
  Kind kind = Kind::AllReduce;
  /// Whether the next step begins when all sums are there, and not before.
  bool hasBarrier() const { return kind == Kind::Barrier || kind == Kind::AllReduce; }
  /// Elements of a slice.
  int64_t slice = 50000;
};

/// Elements [start, start + size) of a flat array.
struct FlatRange {
  int64_t start, size;
};

/// Adds up the gradients of all ranks. Every slice has an owner, which adds the contributions of
/// all ranks in the order of the ranks: the sums depend neither on time nor on how parameters are
/// sliced. `docs/Distributed.md` explains why no cycle of waiting ranks can arise.
class GradientExchange {
public:
  /// `gradients` is the flat array of gradients, in which each parameter has its range. `order` are
  /// the numbers of the parameters in the order in which the next step reads them.
  GradientExchange(Ranks &ranks, float *gradients, const std::vector<FlatRange> &parameters,
                   const std::vector<size_t> &order, ExchangeOptions options);
  /// Waits for the messages of the last step.
  ~GradientExchange();
  GradientExchange(const GradientExchange &) = delete;

  /// Contributes the gradient of a parameter times `weight`. The sum of the last step must have
  /// been taken, by this rank, before the gradient was written.
  void give(size_t parameter, double weight);
  /// Waits until the sum has replaced the gradient of a parameter.
  void take(size_t parameter);

private:
  struct Slice {
    int64_t start, size;
    /// The position of the parameter in the order in which the next step reads them.
    int64_t use;
    int owner;
    /// Of a slice of this rank: its number among these, and its start in their arrays.
    size_t ownedNumber = 0;
    int64_t ownedStart = 0;

    /// Steps to which this rank has contributed; of the training thread.
    int64_t given = 0;
    /// Steps whose contribution has left this rank, and steps whose sum is there; changed by
    /// MessageLoop::update().
    int64_t pushed = 0, summed = 0;
  };

  void cut(const std::vector<FlatRange> &parameters, const std::vector<size_t> &order);
  bool isOwned(const Slice &slice) const { return slice.owner == ranks.rank(); }
  const float *contributionOf(const Slice &slice, int rank) const;
  int64_t priorityOf(const Slice &slice, bool isSum) const;
  std::string describeMissing(const Slice &slice) const;

  // On the thread of the messages.
  void push(size_t number, double ready);
  void perform(const SliceProtocol::Actions &actions);
  void receivePushes(size_t number);
  void addUp(size_t number);
  void sendSums(size_t number);

  Ranks &ranks;
  float *const gradients;
  const ExchangeOptions options;
  std::vector<Slice> slices;
  /// The first slice of each parameter, and the end of all.
  std::vector<size_t> firstSlices;
  /// Numbers of the slices that this rank owns.
  std::vector<size_t> ownedSlices;
  SliceProtocol protocol;
  /// Contributions of this rank, in the flat layout.
  Buffer contribution;
  /// Of owned slices: contributions of each other rank, and sums.
  std::vector<Buffer> contributions;
  Buffer sums;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DISTRIBUTED_GRADIENTEXCHANGE_H
