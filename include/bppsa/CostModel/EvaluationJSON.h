//===- EvaluationJSON.h - print plan evaluations as JSON --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COSTMODEL_EVALUATIONJSON_H
#define BPPSA_COSTMODEL_EVALUATIONJSON_H

#include "bppsa/CostModel/DeviceEvaluation.h"
#include "bppsa/CostModel/LayerGraph.h"
#include "bppsa/CostModel/PlanEvaluation.h"
#include "llvm/Support/raw_ostream.h"

namespace bppsa {

struct ChainEvaluation {
  LinkChain chain;
  std::vector<PlanEvaluation> plans = {};
  std::optional<LayerGraph> graph = std::nullopt;
  std::optional<StepDescription> step = std::nullopt;
  std::optional<DeviceEvaluation> device = std::nullopt;
};

/// docs/Explanation/PlanEvaluator.md describes the format.
void writeEvaluations(llvm::ArrayRef<ChainEvaluation> evaluations, const EvaluationOptions &options,
                      llvm::raw_ostream &os);

/// Returns the first plan with the shortest makespan for `workers` workers, or null.
const PlanEvaluation *findFastest(llvm::ArrayRef<PlanEvaluation> plans, int64_t workers);

} // namespace bppsa

#endif // BPPSA_COSTMODEL_EVALUATIONJSON_H
