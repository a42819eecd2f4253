//===- StreamAssignment.h - assignment of launches to streams ---*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BGPU_TRANSFORMS_STREAMS_STREAMASSIGNMENT_H
#define BPPSA_LIB_DIALECT_BGPU_TRANSFORMS_STREAMS_STREAMASSIGNMENT_H

#include "BackwardLaunches.h"
#include "bppsa/CostModel/LaunchCost.h"

namespace bppsa {

/// Dependent parameter-gradient launches, in their original order.
struct WeightGroup {
  llvm::SmallVector<unsigned> launches;
  LaunchCost cost;
  /// A launch after the latest region may overwrite the inputs of the group.
  unsigned earliest = 0, latest = 0;
  /// Chosen region, and the microseconds of the group that overlap with it.
  unsigned region = 0;
  double hidden = 0;
};

/// Main-stream launches between points at which parameter-gradient groups become ready.
struct Region {
  mlir::Operation *before;
  LaunchCost cost;
};

class StreamAssignment {
public:
  StreamAssignment(llvm::ArrayRef<BackwardLaunch> launches, MarkPhaseOp start);

  void chooseOwnRegions();
  /// Assigns each group, longest first, to the region that hides most of it according to `cost` (Oh
  /// et al., EuroSys 2022).
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
  llvm::SmallVector<unsigned> begins;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BGPU_TRANSFORMS_STREAMS_STREAMASSIGNMENT_H
