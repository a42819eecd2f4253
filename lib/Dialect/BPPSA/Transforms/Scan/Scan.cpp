//===- Scan.cpp - plans of cotangent chains -------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Assigns a plan to each chain and reports its cost.
//
//===----------------------------------------------------------------------===//

#include "ChainArrays.h"
#include "bppsa/Dialect/BPPSA/Analysis/ScanSchedule.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/Dialect/BPPSA/IR/Entry.h"
#include "bppsa/Dialect/BPPSA/Transforms/Scan/Passes.h"
#include "bppsa/Support/Refusal.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace bppsa {
#define GEN_PASS_DEF_SCAN
#include "bppsa/Dialect/BPPSA/Transforms/Scan/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// For example "2 states of 40 values".
static std::string describeStates(ChainOp chain) {
  size_t count = chain.getSeeds().size();
  int64_t values = 0;
  for (BlockArgument argument :
       chain.getBody().getArguments().slice(chain.getSaved().size(), count))
    values += cast<ShapedType>(argument.getType()).getNumElements();
  return std::to_string(count) + (count == 1 ? " state of " : " states of ") +
         std::to_string(values) + " values";
}

static void emitRemark(ChainOp chain, PlanAttr plan, StringRef function) {
  auto options = remark::RemarkOpts::name("Scan").category("scan").function(function);
  std::string states = describeStates(chain);
  if (plan.isSequential()) {
    remark::missed(chain.getLoc(), options)
        << remark::add("chain of {0} stays sequential: the plan is {1}", states, plan.toString())
        << remark::suggest("use blelloch, hybrid:L or chunked:C");
    return;
  }
  int64_t steps = getNumSteps(chain);
  if (steps == 0 || steps == 1) {
    remark::missed(chain.getLoc(), options)
        << remark::add("chain of {0} stays sequential: it has {1} steps", states, steps);
    return;
  }
  std::optional<ScanSchedule> schedule;
  if (!ShapedType::isDynamic(steps))
    schedule = ScanSchedule::get(plan, steps, /*withInitial=*/true);
  if (!schedule) {
    remark::passed(chain.getLoc(), options)
        << remark::add("chain of {0} scanned by {1}; work and depth are known at run time", states,
                       plan.toString());
    return;
  }
  remark::passed(chain.getLoc(), options)
      << remark::add("chain of {0} and {1} steps scanned by {2}: {3} compose, {4} apply, depth {5} "
                     "instead of {1}",
                     states, steps, plan.toString(), schedule->count(ScanOperation::Kind::Compose),
                     schedule->count(ScanOperation::Kind::Apply), schedule->getDepth());
}

/// `auto` is a chunked scan with a chunk size chosen at run time, the cheapest on both targets.
/// Returns null for unknown names.
static PlanAttr resolvePlan(MLIRContext *context, StringRef algorithm) {
  return PlanAttr::fromString(context, algorithm == "auto" ? "chunked" : algorithm);
}

/// Fails with a diagnostic if `plan` is impossible. `auto` skips links in graph form, which have no
/// transitions, and leaves `isScanned` false.
static LogicalResult checkPlan(ChainOp chain, PlanAttr plan, StringRef algorithm, bool &isScanned) {
  // A nested chain already has many parallel rows.
  bool isNested = chain->getParentOfType<RecurrenceOp>() || chain->getParentOfType<ChainOp>();
  isScanned = !chain.isGraphForm() && !isNested;
  if (!chain.isGraphForm() || plan.isSequential() || algorithm == "auto")
    return success();
  return refuse(chain) << "a loop has " << describeStates(chain)
                       << " and a graph as its body, for which the only plan is 'linear', found '"
                       << plan.toString() << "'; use --backward=sequential";
}

namespace {
struct ScanPass : public bppsa::impl::ScanBase<ScanPass> {
  using ScanBase::ScanBase;

  void runOnOperation() override {
    PlanAttr plan = resolvePlan(&getContext(), algorithm);
    if (!plan) {
      refuse(getOperation())
          << "unknown scan plan '" << algorithm
          << "'; use auto, linear, blelloch, hybrid:L or chunked:C with whole L >= 0 and C >= 1";
      return signalPassFailure();
    }
    auto isWanted = [&](EntryAttr entry) { return entry.isOf(variant); };
    if (!variant.empty() && findEntries(getOperation(), isWanted).empty()) {
      refuse(getOperation()) << "needs a function of the variant '" << variant
                             << "' to scan, found none; run bppsa-differentiate";
      return signalPassFailure();
    }
    SmallVector<ChainOp> chains;
    getOperation().walk([&](ChainOp chain) { chains.push_back(chain); });
    for (ChainOp chain : chains) {
      auto parent = chain->getParentOfType<FunctionOpInterface>();
      StringRef name = parent ? parent.getName() : StringRef();
      EntryAttr entry = parent ? attrs::Entry::of(parent) : nullptr;
      if (!variant.empty() && !(entry && isWanted(entry)))
        continue;
      bool isScanned = false;
      if (failed(checkPlan(chain, plan, algorithm, isScanned)))
        return signalPassFailure();
      if (!isScanned)
        continue;
      emitRemark(chain, plan, name);
      chain.setPlanAttr(plan);
    }
  }
};
} // namespace
