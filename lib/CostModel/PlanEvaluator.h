//===- PlanEvaluator.h - sum the costs of a schedule ------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_COSTMODEL_PLANEVALUATOR_H
#define BPPSA_LIB_COSTMODEL_PLANEVALUATOR_H

#include "bppsa/CostModel/PlanEvaluation.h"
#include <map>

namespace bppsa {

struct ValueCost {
  MatrixStructure structure;
  /// True if the value is a link that is applied as code.
  bool isRegion = false;
  /// The value with which this one shares memory.
  int64_t storage = -1;
  /// The level after which the memory is free.
  int64_t lastRead = -1;
  int64_t finish = 0;
};

class PlanEvaluator {
public:
  PlanEvaluator(const LinkChain &chain, const ScanSchedule &schedule, bool storesLinks,
                const EvaluationOptions &options);

  PlanEvaluation run();

private:
  struct Cost {
    LevelCost::Group::Kind kind;
    int64_t first, second, out;
    int64_t flops;
    /// True if all samples have the same operands.
    bool shared;
    int64_t bytes;
  };

  bool hasStoredRegions() const { return chain.region && storesLinks; }
  /// Returns the number of columns to which a region link is applied to form its transition; a
  /// diagonal is one column.
  int64_t getNumColumns() const {
    const MatrixStructure &link = chain.links.front();
    return (link.isDiagonal() ? 1 : link.getCols()) + chain.hasInjected;
  }
  int64_t getNumBytes(int64_t value) const;
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
  /// By region link: whether a product applies it to the cotangent that enters it.
  std::vector<bool> isEmittedByProduct;
  LevelCost level;
  /// Number of independent tasks of the level, by their FLOPs.
  std::map<int64_t, int64_t> tasks;
  int64_t levelNumber = 0;
  int64_t liveBytes = 0;
  std::vector<std::vector<int64_t>> readLast;
};

} // namespace bppsa

#endif // BPPSA_LIB_COSTMODEL_PLANEVALUATOR_H
