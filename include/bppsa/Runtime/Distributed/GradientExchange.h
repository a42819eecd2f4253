//===- GradientExchange.h - Sums of gradients over ranks --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_DISTRIBUTED_GRADIENTEXCHANGE_H
#define BPPSA_RUNTIME_DISTRIBUTED_GRADIENTEXCHANGE_H

#include "bppsa/Runtime/Distributed/Ranks.h"
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

/// Adds up the gradients of all ranks. Every slice has an owner, which adds what the ranks send it
/// in the order of the ranks: the sums depend neither on time nor on how parameters are sliced.
class GradientExchange {
public:
  /// `parameters` are where their gradients are in a flat array, `order` their numbers in the order
  /// in which the next step reads them.
  GradientExchange(Ranks &ranks, const std::vector<FlatRange> &parameters,
                   const std::vector<size_t> &order, ExchangeOptions options);
  /// Waits for the messages of the last step.
  ~GradientExchange() { ranks.loop().drain(); }
  GradientExchange(const GradientExchange &) = delete;

  /// Begins with a step, whose gradients will be in `gradients`.
  void start(float *gradients);
  /// The gradient of parameter number `number` is there; what this rank adds is it times `weight`.
  void give(size_t number, double weight);
  /// Waits until the sums of parameter number `number` are in the place of its gradient.
  void take(size_t number);

private:
  struct Slice {
    int64_t start, size;
    /// The position of the parameter in the order in which the next step reads them.
    int64_t use;
    int owner;
    /// Where it is in the arrays of the owner.
    int64_t owned = 0;

    // Of the thread of the messages, for the owner: steps that have been started and not begun,
    // whether one has begun, contributions of others that it lacks, whether that of this rank is
    // there, and messages with the last sums that have not gone.
    int wanted = 0;
    bool isCollecting = false;
    int missing = 0;
    bool isGiven = false;
    int leaving = 0;

    // For those that wait: whether the contribution is on its way, and whether the sums are there.
    bool isPushing = false, isThere = true;
  };

  void cut(const std::vector<FlatRange> &parameters, const std::vector<size_t> &order);
  bool isOwned(const Slice &slice) const { return slice.owner == ranks.rank(); }
  const float *contributionOf(const Slice &slice, int rank) const;
  int64_t priorityOf(const Slice &slice, bool isSum) const;
  void push(size_t number);
  // On the thread of the messages.
  void advance(size_t number);
  void collect(size_t number);
  void addUp(size_t number);
  void release(size_t number);
  void sendSums(size_t number);

  Ranks &ranks;
  const ExchangeOptions options;
  std::vector<Slice> slices;
  /// The first slice of each parameter, and the end of all.
  std::vector<size_t> firstSlices;
  /// What this rank adds, in the flat layout.
  Buffer contribution;
  /// Of owned slices: what other ranks add, and the sums.
  std::vector<Buffer> contributions;
  Buffer sums;
  float *gradients = nullptr;
  /// Owned slices, and those of them whose sums wait for the others.
  size_t ownedCount = 0;
  std::vector<size_t> held;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DISTRIBUTED_GRADIENTEXCHANGE_H
