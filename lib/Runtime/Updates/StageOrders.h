//===- StageOrders.h - Orders of the stages of a pipeline -----------------------===//
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

/// Throws UsageError where `options` ask for a schedule that the stages of `model` cannot run.
void requirePlacement(const Model &model, const PipelineOptions &options);

/// The orders in which ranks run the operations of their stages. The first rank makes them, by what
/// operations take, and tells the others. Ranks make the same calls.
class StageOrders {
public:
  StageOrders(Ranks &ranks, const Model &model, const PipelineOptions &options);

  /// The operations of this rank in an update of `count` microbatches. Throws Error where no order
  /// keeps to the memory limit.
  const std::vector<schedule::PipelineOp> &of(int64_t count);
  /// How many operations at their beginning may run before the last update is validated, as
  /// schedule::countLeadingForward() says.
  size_t ahead(int64_t count) { return find(count).ahead; }

  /// Whether orders follow from what operations take, and are to be made again when that is known.
  bool wantsTimes() const;
  /// Makes new orders by the times of the stages, in seconds, from here on.
  void setTimes(const std::vector<schedule::StageCost> &times);

  /// What the schedule of `count` microbatches is, and what it is predicted to take; one line.
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
  /// Nothing for the one with the shortest span.
  std::optional<schedule::ScheduleKind> kind;
  std::vector<schedule::StageCost> costs;
  bool areMeasured = false;
  std::map<int64_t, Orders> orders;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_UPDATES_STAGEORDERS_H
