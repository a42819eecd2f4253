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

/// Parameter-gradient launches that depend on each other. They keep their relative order.
struct WeightGroup {
  /// Indices into the launches of the backward pass.
  llvm::SmallVector<unsigned> launches;
  LaunchCost cost;
  /// The first and last region in which the group may run. A launch after the last region may
  /// overwrite its inputs.
  unsigned earliest = 0, latest = 0;
  /// The chosen region, and the microseconds of the group that overlap with the launches of the
  /// region.
  unsigned region = 0;
  double hidden = 0;
};

/// Launches of the main stream between two points at which parameter-gradient groups become ready.
struct Region {
  /// The last operation before the region.
  mlir::Operation *before;
  LaunchCost cost;
};

/// Selects the launches of a backward pass that run on the sub stream.
class StreamAssignment {
public:
  StreamAssignment(llvm::ArrayRef<BackwardLaunch> launches, MarkPhaseOp start);

  void chooseOwnRegions();
  /// Assigns each group, longest first, to the region whose launches hide most of it according to
  /// the cost model (joint scheduling of regions, Oh et al., EuroSys 2022). `cost` returns the cost
  /// of a launch.
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
  /// For each region, the number of launches before it.
  llvm::SmallVector<unsigned> begins;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BGPU_TRANSFORMS_STREAMS_STREAMASSIGNMENT_H
