//===- PlanEvaluator.h - adds up the costs of a schedule --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_COSTMODEL_PLANEVALUATOR_H
#define BPPSA_LIB_COSTMODEL_PLANEVALUATOR_H

#include "bppsa/CostModel/PlanEvaluation.h"
#include <map>

namespace bppsa {

/// What is known of a value of the schedule.
struct ValueCost {
  MatrixStructure structure;
  /// Whether this is a link that is applied as code.
  bool isRegion = false;
  /// The value whose memory this one shares.
  int64_t storage = -1;
  /// The level after which the memory is free.
  int64_t lastRead = -1;
  /// When it is known at the earliest.
  int64_t finish = 0;
};

class PlanEvaluator {
public:
  PlanEvaluator(const LinkChain &chain, const ScanSchedule &schedule, bool storesLinks,
                const EvaluationOptions &options);

  PlanEvaluation run();

private:
  /// An operation of a level with its costs for one sample.
  struct Cost {
    LevelCost::Group::Kind kind;
    int64_t first, second, out;
    int64_t flops;
    /// All samples have the same operands.
    bool shared;
    int64_t bytes;
  };

  bool hasStoredRegions() const { return chain.region && storesLinks; }
  /// Columns that a link that is code is applied to, to make its map; a diagonal is
  /// one column.
  int64_t getNumColumns() const {
    const MatrixStructure &link = chain.links.front();
    return (link.isDiagonal() ? 1 : link.getCols()) + chain.hasInjected;
  }
  /// Bytes of a value for the whole batch.
  int64_t getNumBytes(int64_t value) const;
  /// The structure of a cotangent of which nothing is known.
  MatrixStructure getCotangent(int64_t size) const {
    return MatrixStructure::getDense(chain.links.front().getStructure().getContext(), size, 1);
  }
  Cost getCost(ScanOperation op);
  Cost getRegionCost(ScanOperation op) const;
  void findLastReads();
  int64_t getLinkMatrixFlops() const;
  void linearize();
  void execute(const ScanLevel &level);
  void emit();
  void beginLevel(LevelCost::Phase phase);
  void add(const Cost &cost);
  void finishLevel();

  const LinkChain &chain;
  const ScanSchedule &schedule;
  bool storesLinks;
  const EvaluationOptions &options;
  PlanEvaluation result;
  std::vector<ValueCost> values;
  /// Links that are code and that some product applies to what enters them.
  std::vector<bool> emitsWhereApplied;
  LevelCost level;
  /// FLOPs and number of the independent tasks of the level.
  std::map<int64_t, int64_t> tasks;
  /// Values written by the level, and all that are in memory.
  int64_t levelNumber = 0;
  int64_t liveBytes = 0;
  std::vector<std::vector<int64_t>> readLast;
};

} // namespace bppsa

#endif // BPPSA_LIB_COSTMODEL_PLANEVALUATOR_H
