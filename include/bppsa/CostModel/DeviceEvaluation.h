//===- DeviceEvaluation.h - predicted times of plans on a GPU ---*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COSTMODEL_DEVICEEVALUATION_H
#define BPPSA_COSTMODEL_DEVICEEVALUATION_H

#include "bppsa/CostModel/Machines/DeviceCost.h"
#include "llvm/ADT/ArrayRef.h"

namespace bppsa {

/// What the cost model of docs/Explanation/GPUCosts.md predicts for a chain with the shipped
/// constants. Times are microseconds.
struct DeviceEvaluation {
  struct PlanTime {
    std::string plan;
    double time;
  };
  /// At one batch: the least number of steps from which `chunked` is always faster, up to the
  /// longest of `lengths`; 0 where there is none.
  struct Crossover {
    int64_t batch, length;
  };

  std::string constants;
  cost::ChainCost chain;
  int64_t length, batch;
  /// At `length` and `batch`.
  std::vector<PlanTime> plans;
  std::vector<int64_t> lengths, batches;
  /// Times of `sequential` divided by those of `chunked`: a row for each batch, a column for each
  /// length.
  std::vector<std::vector<double>> ratios;
  std::vector<Crossover> crossovers;
};

/// Predicts `plans`, `sequential` and `chunked` for a chain of `length` steps and `batch` samples.
/// Plans that no kernel has are left out.
DeviceEvaluation evaluateOnDevice(const cost::ChainCost &chain, llvm::ArrayRef<std::string> plans,
                                  int64_t length, int64_t batch);

} // namespace bppsa

#endif // BPPSA_COSTMODEL_DEVICEEVALUATION_H
