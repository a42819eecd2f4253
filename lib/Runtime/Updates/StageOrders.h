//===- StageOrders.h - Schedules of pipeline stages -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_UPDATES_STAGEORDERS_H
#define BPPSA_LIB_RUNTIME_UPDATES_STAGEORDERS_H

#include "bppsa/Runtime/Distributed/Ranks.h"
#include "bppsa/Runtime/Model.h"
#include "bppsa/Runtime/Updates/PipelineOptions.h"
#include "bppsa/Simulator/PipelineSchedules.h"

#include <map>

namespace bppsa::runtime {

/// Throws UsageError for a schedule that the stages cannot run.
void requirePlacement(const Model &model, const PipelineOptions &options);

/// Orders in which ranks run operations. Rank 0 computes and broadcasts them, so all calls are
/// collective.
class StageOrders {
public:
  StageOrders(Ranks &ranks, const Model &model, const PipelineOptions &options);

  /// Returns this rank's operations for `count` microbatches. Throws Error if no order satisfies
  /// the memory limit.
  const std::vector<schedule::PipelineOp> &of(int64_t count);
  /// Returns the number of leading operations that may run before the last update is validated.
  size_t ahead(int64_t count) { return find(count).ahead; }

  /// Returns true if operation times are still to be measured.
  bool wantsTimes() const;
  void setTimes(const std::vector<schedule::StageCost> &times);

  std::string describe(int64_t count);

private:
  struct Orders {
    std::vector<schedule::PipelineOp> own;
    size_t ahead;
    std::string description;
  };

  Orders &find(int64_t count);
  schedule::ScheduledPipeline choose(const schedule::Pipeline &pipeline) const;

  Ranks &ranks;
  const Model &model;
  const PipelineOptions options;
  /// If empty, the schedule with the shortest span is selected.
  std::optional<schedule::ScheduleKind> kind;
  std::vector<schedule::StageCost> costs;
  bool areMeasured = false;
  std::map<int64_t, Orders> orders;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_UPDATES_STAGEORDERS_H
