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

/// GPU times in microseconds, predicted with shipped constants.
struct DeviceEvaluation {
  struct PlanTime {
    std::string plan;
    double time;
  };
  /// The smallest number of steps from which `chunked` is always faster, up to the longest of
  /// `lengths`, at one batch size; 0 if there is none.
  struct Crossover {
    int64_t batch, length;
  };

  std::string constants;
  cost::ChainCost chain;
  int64_t length, batch;
  /// Times at `length` and `batch`.
  std::vector<PlanTime> plans;
  std::vector<int64_t> lengths, batches;
  /// Time of `sequential` divided by `chunked`: one row per batch size, one column per length.
  std::vector<std::vector<double>> ratios;
  std::vector<Crossover> crossovers;
};

/// Predicts `plans`, `sequential` and `chunked`; omits plans without a kernel.
DeviceEvaluation evaluateOnDevice(const cost::ChainCost &chain, llvm::ArrayRef<std::string> plans,
                                  int64_t length, int64_t batch);

} // namespace bppsa

#endif // BPPSA_COSTMODEL_DEVICEEVALUATION_H
