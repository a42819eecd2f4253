//===- StreamAssignment.h - which launches run beside which -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BGPU_TRANSFORMS_STREAMS_STREAMASSIGNMENT_H
#define BPPSA_LIB_DIALECT_BGPU_TRANSFORMS_STREAMS_STREAMASSIGNMENT_H

#include "BackwardLaunches.h"
#include "bppsa/CostModel/LaunchCost.h"

namespace bppsa {

/// Ws that depend on each other: they run in their order, wherever they do.
struct WeightGroup {
  /// Their numbers among the launches of the backward part.
  llvm::SmallVector<unsigned> launches;
  LaunchCost cost;
  /// The first region that they may run in, and the last one: a launch behind that may change what
  /// they read.
  unsigned earliest = 0, latest = 0;
  /// The region that they run in, and the microseconds that it hides of them.
  unsigned region = 0;
  double hidden = 0;
};

/// Launches of the main stream: those from where a group of Ws becomes possible to where the next
/// one does.
struct Region {
  /// The last operation before them.
  mlir::Operation *before;
  LaunchCost cost;
};

/// What of a backward part goes to the sub stream.
class StreamAssignment {
public:
  StreamAssignment(llvm::ArrayRef<BackwardLaunch> launches, MarkPhaseOp start);

  /// Lets every group run in the first region that it may run in.
  void chooseOwnRegions();
  /// Lets every group run where the cost model hides most of it beside the launches of the region,
  /// the longest first (Oh et al., EuroSys 2022, call that joint scheduling of regions). `cost` is
  /// that of a launch.
  void chooseJointly(llvm::function_ref<LaunchCost(mlir::Operation *)> cost);

  llvm::ArrayRef<WeightGroup> getGroups() const { return groups; }
  llvm::ArrayRef<Region> getRegions() const { return regions; }
  llvm::ArrayRef<BackwardLaunch> getLaunches() const { return launches; }

private:
  void formGroups();
  bool staysOnMainStream(const WeightGroup &group) const;
  void findEarliest();
  void findLatest();
  void addCosts(llvm::function_ref<LaunchCost(mlir::Operation *)> cost);

  unsigned countBefore(const WeightGroup &group) const;
  std::optional<unsigned> findNextConflict(const WeightGroup &group, unsigned from) const;
  mlir::Operation *getLastOf(unsigned count) const;

  llvm::SmallVector<BackwardLaunch, 0> launches;
  mlir::Operation *start;
  llvm::SmallVector<WeightGroup, 0> groups;
  llvm::SmallVector<Region, 0> regions;
  /// By region: how many launches come before it.
  llvm::SmallVector<unsigned> begins;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BGPU_TRANSFORMS_STREAMS_STREAMASSIGNMENT_H
