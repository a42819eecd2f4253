//===- StreamCotangents.cpp - orders cotangents for pipelining ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Orders cotangents by the stages that they depend on, so that each is sent as soon as it is ready.
// Otherwise waits propagate through all stages.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Analysis/Dependences.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSASchedule.h"
#include "bppsa/Dialect/BPPSA/Transforms/BackwardOrder/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <map>

namespace bppsa {
#define GEN_PASS_DEF_STREAMCOTANGENTS
#include "bppsa/Dialect/BPPSA/Transforms/BackwardOrder/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static std::optional<int64_t> getStage(Operation *op) {
  auto stage = attrs::Stage::of(op);
  return stage ? std::optional<int64_t>(stage.getInt()) : std::nullopt;
}

namespace {
class CotangentOrder {
public:
  explicit CotangentOrder(Block &block);

  bool hasStages() const { return isStaged; }
  Operation *findFixed() const;
  void apply();

private:
  void findReach(Operation *op);
  void findNeed(Operation *op);

  Block &block;
  bool isStaged = false;
  SmallVector<Operation *> backward;
  DenseMap<Operation *, int64_t> reach;
  /// Operations used by another stage, or without a stage.
  DenseSet<Operation *> needed;
};
} // namespace

CotangentOrder::CotangentOrder(Block &block) : block(block) {
  bool isBackward = false;
  for (Operation &op : block.without_terminator()) {
    findReach(&op);
    isStaged |= getStage(&op).has_value();
    if (isBackward)
      backward.push_back(&op);
    if (auto mark = dyn_cast<MarkPhaseOp>(op))
      isBackward = mark.getPhase() == 1;
  }
  llvm::for_each(llvm::reverse(backward), [&](Operation *op) { findNeed(op); });
}

void CotangentOrder::findReach(Operation *op) {
  int64_t last = getStage(op).value_or(0);
  for (Value operand : getUsedValues(op))
    if (Operation *made = operand.getDefiningOp())
      last = std::max(last, reach.lookup(made));
  reach[op] = last;
}

void CotangentOrder::findNeed(Operation *op) {
  std::optional<int64_t> stage = getStage(op);
  bool isNeeded = !stage || llvm::any_of(op->getUsers(), [&](Operation *user) {
    user = block.findAncestorOpInBlock(*user);
    return needed.contains(user) || (user != block.getTerminator() && getStage(user) != stage);
  });
  if (isNeeded)
    needed.insert(op);
}

Operation *CotangentOrder::findFixed() const {
  auto *found = llvm::find_if(backward, [](Operation *op) { return !isMemoryEffectFree(op); });
  return found == backward.end() ? nullptr : *found;
}

/// These keys keep dependences: operands never depend on later stages than users, and are needed if
/// their users are.
void CotangentOrder::apply() {
  std::map<std::pair<int64_t, bool>, SmallVector<Operation *>> groups;
  for (Operation *op : backward)
    groups[{reach.lookup(op), !needed.contains(op)}].push_back(op);
  for (auto &[key, ops] : groups)
    for (Operation *op : ops)
      op->moveBefore(block.getTerminator());
}

namespace {
struct StreamCotangents : public bppsa::impl::StreamCotangentsBase<StreamCotangents> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!function.getBody().hasOneBlock())
      return markAllAnalysesPreserved();
    CotangentOrder order(function.front());
    if (!order.hasStages())
      return markAllAnalysesPreserved();
    if (Operation *fixed = order.findFixed()) {
      fixed->emitOpError("of a backward pass in stages has side effects; modules that are stages "
                         "need operations without any");
      return signalPassFailure();
    }
    order.apply();
  }
};
} // namespace
