//===- DeviceEvaluation.cpp - predicted times of plans on a GPU -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/CostModel/DeviceEvaluation.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace bppsa;

/// Number of tested lengths per factor of two in the crossover search.
static constexpr int64_t kLengthsOfOctave = 16;

static double predictFor(const DeviceEvaluation &result, llvm::StringRef plan, int64_t length,
                         int64_t batch) {
  return cost::predict({result.chain}, *cost::parsePlan(plan.str()), length, batch,
                       cost::shippedH200());
}

static double getRatio(const DeviceEvaluation &result, int64_t length, int64_t batch) {
  return predictFor(result, "", length, batch) / predictFor(result, "chunked", length, batch);
}

static int64_t findCrossover(const DeviceEvaluation &result, int64_t batch) {
  int64_t found = 0, last = result.lengths.back();
  for (int64_t i = 0;; ++i) {
    auto length = static_cast<int64_t>(
        std::llround(last * std::exp2(-static_cast<double>(i) / kLengthsOfOctave)));
    if (length < 1 || getRatio(result, length, batch) <= 1)
      return found;
    found = length;
  }
}

DeviceEvaluation bppsa::evaluateOnDevice(const cost::ChainCost &chain,
                                         llvm::ArrayRef<std::string> plans, int64_t length,
                                         int64_t batch) {
  DeviceEvaluation result;
  result.constants = cost::shippedH200().name;
  result.chain = chain;
  result.length = length;
  result.batch = batch;
  result.lengths = {16, 64, 256, 1024, 4096, 16384, 65536};
  result.batches = {1, 4, 16, 64, 256, 1024};
  std::vector<std::string> all = {"sequential", "chunked"};
  for (const std::string &plan : plans)
    if (plan != "linear" && !llvm::is_contained(all, plan))
      all.push_back(plan);
  for (const std::string &plan : all)
    if (std::string text = plan == "sequential" ? "" : plan; cost::parsePlan(text))
      result.plans.push_back({plan, predictFor(result, text, length, batch)});
  for (int64_t rowBatch : result.batches) {
    std::vector<double> &row = result.ratios.emplace_back();
    for (int64_t rowLength : result.lengths)
      row.push_back(getRatio(result, rowLength, rowBatch));
    result.crossovers.push_back({rowBatch, findCrossover(result, rowBatch)});
  }
  return result;
}
