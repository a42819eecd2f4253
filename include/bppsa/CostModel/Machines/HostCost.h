//===- HostCost.h - CPU cost of a backward pass -----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The bounds of docs/Explanation/CPUCosts.md, in cycles of a core. They rule out scans that cannot
// win; they do not predict times.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COSTMODEL_MACHINES_HOSTCOST_H
#define BPPSA_COSTMODEL_MACHINES_HOSTCOST_H

#include "bppsa/CostModel/Machines/DeviceCost.h"

namespace bppsa::cost {

/// Operation counts of a link for one sample; a multiply-add counts as one.
struct HostChain {
  /// Total rows of all states, and columns of a transition's matrix: 1 for diagonals.
  int64_t rows = 1, columns = 1;
  /// True if transitions also have an offset.
  bool hasOffset = false;
  /// Operations of the whole link, and per column of a transition.
  int64_t linkOperations = 0, columnOperations = 0;
  /// Operations on the longest dependence path of the link.
  int64_t depth = 0;
  /// Vector operations of the link if a vector holds all rows of one sample, and those on the
  /// longest dependence path.
  int64_t unitOperations = 0, unitDepth = 0;
  /// Bytes that a step reads from saved arrays and emits.
  int64_t bytes = 0;
};

struct HostMachine {
  int64_t threads = 1;
  /// Elements per vector register.
  int64_t lanes = 16;
};

/// Returns the number of vectors of samples for `samples` samples; one thread works on each.
int64_t getNumGroups(int64_t samples);

/// Returns an upper bound on the cycles of the sequential pass.
double getMaxSequentialCycles(const std::vector<HostChain> &chains, int64_t steps, int64_t samples,
                              HostMachine machine);

/// Same, if vectors hold hidden units of one sample.
double getMaxUnitCycles(const std::vector<HostChain> &chains, int64_t steps, int64_t samples,
                        HostMachine machine);

/// Returns true if a thread of a pass over units processes several samples together because the
/// matrices exceed the first-level cache. Requires registers of 8 or more elements.
bool sharesMatricesAcrossSamples(const std::vector<HostChain> &chains, HostMachine machine);

/// Returns a lower bound on the cycles of the chunked `plan` if vectors hold chunks.
double getMinChunkCycles(const std::vector<HostChain> &chains, Plan plan, int64_t steps,
                         int64_t samples, HostMachine machine);

/// Returns true if chunks in lanes may win for one thread and one long sample. Programs contain no
/// scan that cannot win in this case.
bool canChunkedScanWin(const std::vector<HostChain> &chains);

/// Returns a lower bound on the cycles of `plan` if links take the time of
/// getMaxSequentialCycles(). If it is not below that time, the plan does not win with faster links
/// either.
double getMinCycles(const std::vector<HostChain> &chains, Plan plan, int64_t steps, int64_t samples,
                    HostMachine machine);

} // namespace bppsa::cost

#endif // BPPSA_COSTMODEL_MACHINES_HOSTCOST_H
