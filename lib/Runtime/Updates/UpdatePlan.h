//===- UpdatePlan.h - The actions of an update ----------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// An update is a list of actions, which UpdateExecutor plans and then performs one after the other.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_UPDATES_UPDATEPLAN_H
#define BPPSA_LIB_RUNTIME_UPDATES_UPDATEPLAN_H

#include "bppsa/Schedule/Pipeline.h"

#include <vector>

namespace bppsa::runtime {

struct Action {
  enum class Kind {
    /// Computes a whole step on the microbatch.
    Step,
    /// Runs the part `part` of a step that pauses, with the messages that it sends and receives.
    Part,
    /// Waits for the outcome of the last update. If it is taken back, the actions before this one
    /// are repeated.
    Validate,
    /// Combines gradients and losses of the microbatches, and of all ranks.
    Combine,
    /// Updates the parameters, or lets updates follow where steps need them.
    Update
  };
  Kind kind;
  schedule::PipelineOp part = {schedule::OpKind::F, 0, 0};
};
using UpdatePlan = std::vector<Action>;

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_UPDATES_UPDATEPLAN_H
