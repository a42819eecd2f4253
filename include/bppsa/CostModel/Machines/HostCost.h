//===- HostCost.h - what a backward pass takes of a CPU ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Bounds of docs/Explanation/CPUCosts.md: from what the compiler counts of a link follow the most
// that the sequential pass takes and the least that a scan takes, in cycles of a core. They tell
// which scans cannot win, not how long a pass takes.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COSTMODEL_MACHINES_HOSTCOST_H
#define BPPSA_COSTMODEL_MACHINES_HOSTCOST_H

#include "bppsa/CostModel/Machines/DeviceCost.h"

namespace bppsa::cost {

/// What is counted of the link of a chain, for one sample. An operation is a multiply-add or an
/// elementwise operation on one number.
struct HostChain {
  /// Rows of its states together, and columns of the matrix of a map: 1 for diagonals.
  int64_t rows = 1, columns = 1;
  /// Whether maps have an offset too.
  bool hasOffset = false;
  /// Operations of the whole link; and those that each column of a map takes: what the next
  /// cotangents need and what depends on the last ones.
  int64_t linkOperations = 0, columnOperations = 0;
  /// Operations of the whole link that wait for each other.
  int64_t depth = 0;
  /// Vector operations of the whole link where a vector holds all rows of one sample, and those of
  /// them that wait for each other.
  int64_t unitOperations = 0, unitDepth = 0;
  /// What a step reads of saved arrays and emits.
  int64_t bytes = 0;
};

/// What a pass has of a machine.
struct HostMachine {
  int64_t threads = 1;
  /// Numbers in a vector register.
  int64_t lanes = 16;
};

/// The groups of `samples` samples that vectors of samples hold, each of which one thread works on.
int64_t getNumGroups(int64_t samples);

/// The most cycles that the sequential pass takes at `steps` time steps and `samples` samples.
double getMaxSequentialCycles(const std::vector<HostChain> &chains, int64_t steps, int64_t samples,
                              HostMachine machine);

/// The most that it takes where vectors hold hidden units of one sample.
double getMaxUnitCycles(const std::vector<HostChain> &chains, int64_t steps, int64_t samples,
                        HostMachine machine);

/// Whether a thread computes several samples over units together because matrices leave the
/// first-level cache: in registers of 8 numbers or more, which hold a sum of all of them.
bool doSamplesShareMatrices(const std::vector<HostChain> &chains, HostMachine machine);

/// The least cycles that `plan`, chunks, takes on any machine where vectors hold chunks.
double getMinChunkCycles(const std::vector<HostChain> &chains, Plan plan, int64_t steps,
                         int64_t samples, HostMachine machine);

/// Whether chunks in lanes may win on one thread and one long sample. Programs hold no scan that
/// does not even do so there.
bool mayChunksWin(const std::vector<HostChain> &chains);

/// The least cycles that `plan` takes where a link applied to a cotangent takes what
/// getMostSequentialCycles() says. If that is no less, neither is the time of the plan on a machine
/// where links take less.
double getMinCycles(const std::vector<HostChain> &chains, Plan plan, int64_t steps, int64_t samples,
                    HostMachine machine);

} // namespace bppsa::cost

#endif // BPPSA_COSTMODEL_MACHINES_HOSTCOST_H
