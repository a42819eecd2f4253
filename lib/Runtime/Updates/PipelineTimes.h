//===- PipelineTimes.h - What stages of a pipeline take -------------------------===//
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

/// Measures the operations of stages while they train: medians, so that a processor that was busy
/// once does not count.
class PipelineTimes {
public:
  PipelineTimes(Ranks &ranks, const Model &model) : ranks(ranks), model(model) {}

  /// An operation on a whole microbatch took `seconds`, without waiting for others.
  void add(schedule::PipelineOp op, double seconds);
  /// A microbatch sent so many bytes from one stage to another one.
  void noteBytes(int from, int to, uint64_t bytes) { sent[{from, to}] = bytes; }

  /// Ends an update of `count` microbatches. Returns whether enough was measured, on all ranks
  /// alike.
  bool endUpdate(int64_t count);
  /// The times of all stages in seconds, and from a stage to the next one. All ranks call it.
  std::vector<schedule::StageCost> gather();

private:
  std::vector<double> timeHops();
  double pingPong(int stage, uint64_t forward, uint64_t back);

  Ranks &ranks;
  const Model &model;
  /// By stage and kind.
  std::map<std::pair<int, schedule::OpKind>, std::vector<double>> seconds;
  std::map<std::pair<int, int>, uint64_t> sent;
  int64_t updates = 0, microbatches = 0;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_UPDATES_PIPELINETIMES_H
