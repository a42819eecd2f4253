//===- PipelineTimes.h - Measured times of pipeline stages ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_UPDATES_PIPELINETIMES_H
#define BPPSA_LIB_RUNTIME_UPDATES_PIPELINETIMES_H

#include "bppsa/Runtime/Distributed/Ranks.h"
#include "bppsa/Runtime/Model.h"
#include "bppsa/Simulator/Pipeline.h"

#include <map>

namespace bppsa::runtime {

/// Measures the operations of stages during training. Uses medians to ignore outliers.
class PipelineTimes {
public:
  PipelineTimes(Ranks &ranks, const Model &model) : ranks(ranks), model(model) {}

  /// Records `seconds` of an operation on a full microbatch, excluding waiting.
  void add(schedule::PipelineOp op, double seconds);
  /// Records the bytes that a microbatch sends from one stage to another.
  void noteBytes(int from, int to, uint64_t bytes) { sent[{from, to}] = bytes; }

  /// Ends an update of `count` microbatches. Returns whether there are enough measurements; all
  /// ranks get the same result.
  bool endUpdate(int64_t count);
  /// Returns the times of all stages, and of the transfer to the next stage, in seconds.
  /// Collective.
  std::vector<schedule::StageCost> gather();

private:
  std::vector<double> timeHops();
  double pingPong(int stage, uint64_t forward, uint64_t back);

  Ranks &ranks;
  const Model &model;
  /// Keyed by stage and operation.
  std::map<std::pair<int, schedule::OpKind>, std::vector<double>> seconds;
  std::map<std::pair<int, int>, uint64_t> sent;
  int64_t updates = 0, microbatches = 0;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_UPDATES_PIPELINETIMES_H
