//===- ScanLinks.cpp - scans lists of links -------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "LinkForms.h"
#include "bppsa/CostModel/ChainExtraction.h"
#include "bppsa/Dialect/BPPSA/IR/Entry.h"
#include "bppsa/Dialect/BPPSA/Transforms/Scan/Passes.h"
#include "bppsa/Support/Refusal.h"
#include "mlir/IR/Remarks.h"

namespace bppsa {
#define GEN_PASS_DEF_SCANLINKS
#include "bppsa/Dialect/BPPSA/Transforms/Scan/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static void expandList(ArrayRef<jacobian::ApplyOp> list, const ScanSchedule &schedule) {
  jacobian::ApplyOp front = list.front();
  OpBuilder builder(front);
  Location loc = front.getLoc();
  auto cotangentType = cast<RankedTensorType>(front.getCotangent().getType());
  std::vector<Value> values(schedule.getNumValues());
  values[0] = front.getCotangent();
  for (auto [i, apply] : llvm::enumerate(list))
    values[i + 1] = jacobian::ApplyOp(apply).getJacobian();
  for (const ScanLevel &level : schedule.getLevels())
    for (ScanOperation op : level.operations) {
      Value left = values[op.left];
      if (op.kind == ScanOperation::Kind::Copy) {
        values[op.out] = left;
        continue;
      }
      Value right = values[op.right];
      auto second = cast<jacobian::MatrixType>(right.getType());
      if (op.kind == ScanOperation::Kind::Compose) {
        jacobian::MatrixType type =
            jacobian::MatrixType::compose(cast<jacobian::MatrixType>(left.getType()), second);
        values[op.out] = jacobian::ComposeOp::create(builder, loc, type, left, right);
      } else {
        auto type = RankedTensorType::get({cotangentType.getDimSize(0), second.getRows()},
                                          cotangentType.getElementType());
        values[op.out] = jacobian::ApplyOp::create(builder, loc, type, right, left);
      }
    }
  for (auto [i, apply] : llvm::enumerate(list)) {
    bool isLast = i + 1 == list.size();
    int64_t value = isLast ? schedule.getInitial() : schedule.getEntering(i + 2);
    jacobian::ApplyOp(apply).getResult().replaceAllUsesWith(values[value]);
  }
  for (jacobian::ApplyOp apply : llvm::reverse(list))
    apply.erase();
}

/// All Jacobians of a part are defined before it.
static SmallVector<ArrayRef<jacobian::ApplyOp>> cutWhereReady(ArrayRef<jacobian::ApplyOp> list) {
  SmallVector<ArrayRef<jacobian::ApplyOp>> parts;
  while (!list.empty()) {
    jacobian::ApplyOp front = list.front();
    auto isReady = [&](jacobian::ApplyOp apply) {
      Operation *link = apply.getJacobian().getDefiningOp();
      return apply->getBlock() == front->getBlock() &&
             (!link || link->getBlock() != front->getBlock() || link->isBeforeInBlock(front));
    };
    size_t length = llvm::find_if_not(list, isReady) - list.begin();
    parts.push_back(list.take_front(length));
    list = list.drop_front(length);
  }
  return parts;
}

/// Chooses about the square root of `numLinks`, for as many chunks as links per chunk.
static PlanAttr chooseChunkSize(PlanAttr plan, size_t numLinks) {
  if (plan.getAlgorithm() != ScanAlgorithm::Chunked || plan.getSize() > 0)
    return plan;
  int64_t size = 1;
  while (size * size < int64_t(numLinks))
    ++size;
  return PlanAttr::get(plan.getContext(), ScanAlgorithm::Chunked, size);
}

/// Chooses the plan among `linear`, `hybrid:1`, ... with the shortest makespan and Jacobians of at
/// most `limit` bytes (0: no limit).
static PlanAttr choosePlan(MLIRContext *context, const LinkChain &chain,
                           const EvaluationOptions &options, int64_t limit) {
  PlanAttr best = PlanAttr::get(context, ScanAlgorithm::Linear, 0);
  std::optional<int64_t> bestTime;
  for (int64_t levels = 0; (int64_t(1) << levels) <= int64_t(chain.links.size()); ++levels) {
    PlanAttr plan = PlanAttr::get(context, ScanAlgorithm::Hybrid, levels);
    std::optional<PlanEvaluation> costs = evaluatePlan(chain, plan, options);
    // More levels only need more memory.
    if (!costs || (levels > 0 && limit > 0 && costs->linkBytes + costs->peakBytes > limit))
      break;
    int64_t time = costs->makespans.front().flops;
    if (bestTime && time >= *bestTime)
      continue;
    bestTime = time;
    if (levels > 0)
      best = plan;
  }
  return best;
}

namespace {
struct ScanLinksPass : public bppsa::impl::ScanLinksBase<ScanLinksPass> {
  using ScanLinksBase::ScanLinksBase;

  void runOnOperation() override {
    PlanAttr wanted = PlanAttr::fromString(&getContext(), algorithm);
    if (!wanted && algorithm != "auto" && algorithm != "none") {
      refuse(getOperation()) << "'" << algorithm
                             << "' is not a plan; use auto, none, linear, blelloch, hybrid:L or "
                                "chunked:C with whole L >= 0 and C >= 1";
      return signalPassFailure();
    }
    for (auto parent : getOperation().getOps<func::FuncOp>()) {
      EntryAttr entry = attrs::Entry::of(parent);
      if (!variant.empty() && !(entry && entry.isOf(variant)))
        continue;
      if (algorithm == "none") {
        parent.walk(inlineRule);
        continue;
      }
      std::vector<SmallVector<jacobian::ApplyOp>> lists = findLinkLists<jacobian::ApplyOp>(parent);
      for (ArrayRef<jacobian::LinkOp> links : findLinkLists<jacobian::LinkOp>(parent))
        lists.push_back(applyJacobians(links, denseJacobians));
      for (ArrayRef<jacobian::ApplyOp> list : lists)
        for (ArrayRef<jacobian::ApplyOp> part : cutWhereReady(list))
          scan(part, wanted);
    }
  }

private:
  /// If `plan` is null, chooses one.
  void scan(ArrayRef<jacobian::ApplyOp> list, PlanAttr plan);
};
} // namespace

void ScanLinksPass::scan(ArrayRef<jacobian::ApplyOp> list, PlanAttr plan) {
  jacobian::ApplyOp front = list.front(), last = list.back();
  if (!plan) {
    EvaluationOptions evaluation;
    evaluation.workers = {workers};
    evaluation.stepOverhead = stepOverhead;
    evaluation.maxOperations = 0;
    plan = choosePlan(&getContext(), getLinkChain(list, {/*length=*/0, batch}), evaluation,
                      memoryLimit);
  }
  plan = chooseChunkSize(plan, list.size());
  ScanSchedule schedule =
      *ScanSchedule::get(plan, list.size(), /*withInitial=*/!last.getResult().use_empty());
  auto options = remark::RemarkOpts::name("ScanLinks")
                     .category("scan")
                     .function(front->getParentOfType<func::FuncOp>().getName());
  remark::passed(front.getLoc(), options)
      << remark::add("{0} scan of {1} links: {2} compose, {3} apply, depth {4}", plan.toString(),
                     list.size(), schedule.count(ScanOperation::Kind::Compose),
                     schedule.count(ScanOperation::Kind::Apply), schedule.getDepth());
  expandList(list, schedule);
}
