//===- CutStages.cpp - cuts a function into pipeline stages ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Each stage is one function that runs its forward operations, pauses, and runs its backward
// operations. Operations without a stage are cloned into every stage that uses them.
//
//===----------------------------------------------------------------------===//

#include "bppsa/CostModel/OperationFlops.h"
#include "bppsa/Dialect/BPPSA/Analysis/Dependences.h"
#include "bppsa/Dialect/BPPSA/Analysis/StatisticUpdates.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSASchedule.h"
#include "bppsa/Dialect/BPPSA/IR/Entry.h"
#include "bppsa/Dialect/Dist/IR/Dist.h"
#include "bppsa/Dialect/Dist/Transforms/Passes.h"
#include "bppsa/Support/Refusal.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/MapVector.h"

namespace bppsa {
#define GEN_PASS_DEF_CUTSTAGES
#include "bppsa/Dialect/Dist/Transforms/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static std::optional<int64_t> getStage(Value value) {
  Operation *op = value.getDefiningOp();
  auto stage = op ? attrs::Stage::of(op) : nullptr;
  return stage ? std::optional<int64_t>(stage.getInt()) : std::nullopt;
}

/// Rewrites tensor.dim in terms of function arguments where possible.
static void resolveSizes(func::FuncOp function) {
  SmallVector<Operation *> sizes;
  function.walk([&](tensor::DimOp op) { sizes.push_back(op); });
  RewritePatternSet patterns(function.getContext());
  memref::populateResolveRankedShapedTypeResultDimsPatterns(patterns);
  GreedyRewriteConfig config;
  config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
  static_cast<void>(applyOpPatternsGreedily(sizes, std::move(patterns), config));
}

namespace {
struct Transfer {
  /// Placeholder in the uncut function; carries the dynamic sizes of the value.
  dist::StageReceiveOp receive;
  llvm::MapVector<int64_t, int64_t> channels;
};

class Transfers {
public:
  explicit Transfers(func::FuncOp whole) : whole(whole) {}

  LogicalResult find();
  const Transfer *get(Value value) const {
    auto found = transfers.find(value);
    return found == transfers.end() ? nullptr : &found->second;
  }

private:
  LogicalResult checkOrder(Operation *op, int64_t stage, Value operand, bool isBackward);
  LogicalResult findUses(Operation *op, int64_t stage, bool isBackward);
  LogicalResult addReceives();

  func::FuncOp whole;
  llvm::MapVector<Value, Transfer> transfers;
  llvm::DenseSet<Operation *> backward;
  int64_t numChannels = 0;
};

class StageBuilder {
public:
  StageBuilder(func::FuncOp whole, const Transfers &transfers, int64_t stage, int64_t numStages)
      : whole(whole), transfers(transfers), stage(stage), numStages(numStages),
        builder(whole.getContext()) {}

  func::FuncOp build();

private:
  Value get(Value value);
  void clone(Operation &op);
  void send(Operation &op);
  void count(Operation &op);
  void addReturn(func::FuncOp function);

  func::FuncOp whole;
  const Transfers &transfers;
  int64_t stage, numStages;
  OpBuilder builder;
  IRMapping mapping;
  /// FLOPs of forward operations, cotangents and parameter gradients.
  std::array<double, 3> flops = {};
  bool isBackward = false;
};
} // namespace

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

/// Cotangents go to earlier stages, other values to later ones. Otherwise stages would wait for
/// each other.
LogicalResult Transfers::checkOrder(Operation *op, int64_t stage, Value operand, bool isBackward) {
  int64_t other = *getStage(operand);
  bool isOfBackward = backward.contains(operand.getDefiningOp());
  if (isBackward ? !isOfBackward || other >= stage : other <= stage)
    return success();
  return refuseOp(op) << "of stage " << stage << " needs a value of stage " << other << ", "
                      << (isBackward ? "which cotangents reach later"
                                     : "which activations reach later")
                      << "; put them into one stage";
}

LogicalResult Transfers::findUses(Operation *op, int64_t stage, bool isBackward) {
  SmallVector<Operation *> worklist = {op};
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!worklist.empty()) {
    Operation *next = worklist.pop_back_val();
    for (Value operand : getUsedValues(next)) {
      std::optional<int64_t> other = getStage(operand);
      Operation *made = operand.getDefiningOp();
      if (!other && made && seen.insert(made).second) {
        if (!isMemoryEffectFree(made))
          return refuseOp(made, "of no stage has side effects; it needs a stage");
        worklist.push_back(made);
      }
      if (!other || *other == stage)
        continue;
      if (failed(checkOrder(op, stage, operand, isBackward)))
        return failure();
      if (!isa<RankedTensorType>(operand.getType()))
        return refuseOp(made) << "makes a value of type " << operand.getType() << " that stage "
                              << stage << " also needs; stages can exchange only tensors";
      Transfer &transfer = transfers[operand];
      if (transfer.channels.try_emplace(stage, numChannels).second)
        ++numChannels;
    }
  }
  return success();
}

LogicalResult Transfers::addReceives() {
  for (auto &[value, transfer] : transfers) {
    OpBuilder builder(whole.getContext());
    builder.setInsertionPointAfterValue(value);
    SmallVector<Value> sizes;
    auto type = cast<RankedTensorType>(value.getType());
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (type.isDynamicDim(dim))
        sizes.push_back(tensor::DimOp::create(builder, value.getLoc(), value, dim));
    transfer.receive = dist::StageReceiveOp::create(builder, value.getLoc(), type, sizes, Value(),
                                                    *getStage(value), /*channel=*/0);
  }
  resolveSizes(whole);
  for (auto &[value, transfer] : transfers) {
    SmallVector<Value> worklist = llvm::to_vector<4>(transfer.receive.getSizes());
    while (!worklist.empty()) {
      Value size = worklist.pop_back_val();
      if (getStage(size))
        return value.getDefiningOp()->emitOpError(
            "has sizes that depend on values computed in a stage; stages can exchange only arrays "
            "whose sizes follow from the sizes of arguments");
      if (Operation *made = size.getDefiningOp())
        llvm::append_range(worklist, getUsedValues(made));
    }
  }
  return success();
}

LogicalResult Transfers::find() {
  resolveSizes(whole);
  bool isBackward = false;
  for (Operation &op : whole.front().without_terminator()) {
    if (auto mark = dyn_cast<MarkPhaseOp>(op))
      isBackward = mark.getPhase() == 1;
    if (isBackward)
      backward.insert(&op);
    if (auto stage = attrs::Stage::of(&op))
      if (failed(findUses(&op, stage.getInt(), isBackward)))
        return failure();
  }
  return addReceives();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

Value StageBuilder::get(Value value) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  std::optional<int64_t> other = getStage(value);
  if (!other) {
    clone(*op);
    return mapping.lookup(value);
  }
  const Transfer *transfer = transfers.get(value);
  dist::StageReceiveOp receive = transfer->receive;
  SmallVector<Value> sizes;
  for (Value size : receive.getSizes())
    sizes.push_back(get(size));
  auto made = dist::StageReceiveOp::create(builder, value.getLoc(), value.getType(), sizes, Value(),
                                           *other, transfer->channels.find(stage)->second);
  mapping.map(value, made.getResult());
  return made.getResult();
}

void StageBuilder::clone(Operation &op) {
  for (Value used : getUsedValues(&op))
    get(used);
  attrs::Stage::remove(builder.clone(op, mapping));
}

void StageBuilder::send(Operation &op) {
  for (Value result : op.getResults())
    if (const Transfer *transfer = transfers.get(result))
      for (auto [other, channel] : transfer->channels)
        dist::StageSendOp::create(builder, op.getLoc(), mapping.lookup(result), other, channel);
}

void StageBuilder::count(Operation &op) {
  if (auto mark = dyn_cast<MarkPhaseOp>(op))
    isBackward = mark.getPhase() == 1;
  auto part = attrs::BackwardPart::of(&op);
  bool isWeight = part && part.getRole() == BackwardRole::Parameter;
  flops[!isBackward ? 0 : isWeight ? 2 : 1] += countStepFlops(&op);
}

/// The last stage also returns results that belong to no stage.
void StageBuilder::addReturn(func::FuncOp function) {
  Operation *returned = whole.front().getTerminator();
  SmallVector<Value> results;
  SmallVector<DictionaryAttr> attributes;
  for (auto [i, value] : llvm::enumerate(returned->getOperands()))
    if (getStage(value).value_or(numStages - 1) == stage) {
      results.push_back(get(value));
      attributes.push_back(whole.getResultAttrDict(i));
    }
  func::ReturnOp::create(builder, returned->getLoc(), results);
  function.setType(builder.getFunctionType(whole.getArgumentTypes(), TypeRange(results)));
  function.setAllResultAttrs(attributes);
}

func::FuncOp StageBuilder::build() {
  builder.setInsertionPoint(whole);
  auto function = cast<func::FuncOp>(builder.cloneWithoutRegions(*whole));
  Block &block = function.getBody().emplaceBlock();
  for (BlockArgument argument : whole.getArguments())
    mapping.map(argument, block.addArgument(argument.getType(), argument.getLoc()));
  builder.setInsertionPointToEnd(&block);
  for (Operation &op : whole.front().without_terminator()) {
    auto own = attrs::Stage::of(&op);
    if (isa<MarkPhaseOp>(op) || (own && own.getInt() == stage)) {
      count(op);
      clone(op);
      send(op);
    }
  }
  addReturn(function);
  SetVector<Operation *> updates = findStatisticUpdates(function);
  for (Operation *op : llvm::reverse(updates))
    op->moveBefore(block.getTerminator());
  attrs::StageWork::set(function, builder.getDenseF64ArrayAttr(flops));
  return function;
}

namespace {
struct CutStages : public bppsa::impl::CutStagesBase<CutStages> {
  using CutStagesBase::CutStagesBase;

  void runOnOperation() override {
    FailureOr<SmallVector<func::FuncOp>> steps = requireEntries(getOperation(), EntryRole::Step);
    if (failed(steps))
      return signalPassFailure();
    for (func::FuncOp function : *steps)
      if (failed(cut(function)))
        return signalPassFailure();
  }

private:
  LogicalResult cut(func::FuncOp function) {
    OpBuilder builder(function);
    builder.setInsertionPointAfter(function);
    auto whole = cast<func::FuncOp>(builder.clone(*function));
    function.walk([](Operation *op) { attrs::Stage::remove(op); });
    Transfers transfers(whole);
    if (failed(transfers.find()))
      return failure();
    EntryAttr entry = attrs::Entry::of(function);
    for (int64_t stage = 0; stage < stages; ++stage)
      setEntry(StageBuilder(whole, transfers, stage, stages).build(), entry.withStage(stage));
    whole.erase();
    return success();
  }
};
} // namespace
