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

/// Measures stage operations during training and uses medians.
class PipelineTimes {
public:
  PipelineTimes(Ranks &ranks, const Model &model) : ranks(ranks), model(model) {}

  /// Records the time of a full microbatch, excluding waiting.
  void add(schedule::PipelineOp op, double seconds);
  void noteBytes(int from, int to, uint64_t bytes) { sent[{from, to}] = bytes; }

  /// Returns true if there are enough measurements; all ranks get the same result.
  bool endUpdate(int64_t count);
  /// Returns the times of all stages and transfers in seconds. Collective.
  std::vector<schedule::StageCost> gather();

private:
  std::vector<double> timeHops();
  double pingPong(int stage, uint64_t forward, uint64_t back);

  Ranks &ranks;
  const Model &model;
  std::map<std::pair<int, schedule::OpKind>, std::vector<double>> seconds;
  std::map<std::pair<int, int>, uint64_t> sent;
  int64_t updates = 0, microbatches = 0;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_UPDATES_PIPELINETIMES_H
