//===- BPPSAToVector.cpp - packed loops to vectors ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "BPPSAToVector.h"
#include "../Bodies/ExchangeCalls.h"
#include "../Bodies/PhaseCalls.h"
#include "Sums/TimeBlocks.h"
#include "bppsa/Conversion/Passes.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

namespace bppsa {
#define GEN_PASS_DEF_CONVERTBPPSATOVECTOR
#include "bppsa/Conversion/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

void bppsa::emitParallel(OpBuilder &builder, Location loc, Value count,
                         function_ref<void(OpBuilder &, Value)> body) {
  // One block of an array is already in the loop over all blocks.
  if (matchPattern(count, m_One()))
    return body(builder, getIndex(builder, loc, 0));
  scf::ParallelOp::create(
      builder, loc, ValueRange{getIndex(builder, loc, 0)}, ValueRange{count},
      ValueRange{getIndex(builder, loc, 1)},
      [&](OpBuilder &nested, Location, ValueRange ivs) { body(nested, ivs[0]); });
}

void bppsa::emitParallel(OpBuilder &builder, Location loc, Value first, Value second,
                         function_ref<void(OpBuilder &, Value, Value)> body) {
  Value count = arith::MulIOp::create(builder, loc, first, second);
  emitParallel(builder, loc, count, [&](OpBuilder &nested, Value i) {
    Value quotient = arith::DivUIOp::create(nested, loc, i, second);
    Value remainder = arith::RemUIOp::create(nested, loc, i, second);
    body(nested, quotient, remainder);
  });
}

void bppsa::emitCopy(OpBuilder &builder, Location loc, const Rows &from, const Rows &to,
                     int64_t count) {
  emitTiles(builder, loc, from, 0, count, [&](OpBuilder &nested, const Tile &tile) {
    to.store(nested, loc, from.load(nested, loc, tile), tile.first);
  });
}

void bppsa::emitZeroRows(OpBuilder &builder, Location loc, const Rows &rows, int64_t count) {
  Type element = rows.getRowType().getElementType();
  emitTiles(builder, loc, rows, 0, count, [&](OpBuilder &nested, const Tile &tile) {
    auto zeros = nested.getZeroAttr(VectorType::get(tile.width, element));
    rows.store(nested, loc, arith::ConstantOp::create(nested, loc, zeros), tile.first);
  });
}

static LogicalResult verifyReady(Operation *op) {
  if (op->getNumResults() != 0)
    return op->emitOpError("works on tensors; run bppsa-bufferize first");
  auto packable = dyn_cast<PackableOpInterface>(op);
  if (packable && !packable.getLanes())
    return op->emitOpError("has no lanes; run bppsa-pack-batch first");
  if (isa<FactoredTransitionOp, ComposeTransitionsOp>(op) && packable.getLanes() == 1)
    return op->emitOpError("has one lane; a scan needs samples or chunks in lanes, use the plan "
                           "'linear' or 'chunked'");
  return verifyNoSums(op);
}

/// Drops the lane dimension from the packed operands of `op` if lanes hold units. `op` must be
/// erased before verification.
static void dropLanes(PackableOpInterface op) {
  OpBuilder builder(op);
  for (OpOperand *operand : op.getPackedOperands()) {
    int64_t rank = cast<MemRefType>(operand->get().getType()).getRank();
    SmallVector<ReassociationIndices> groups;
    for (int64_t dim = 0; dim + 1 < rank; ++dim)
      groups.push_back({dim});
    groups.back().push_back(rank - 1);
    operand->set(memref::CollapseShapeOp::create(builder, op.getLoc(), operand->get(), groups));
  }
}

/// Lowers `chain` together with its sums, and erases the sums.
static LogicalResult lowerWithSums(ChainOp chain, const LaneOptions &options) {
  SmallVector<Operation *> sums = findSumsOf(chain);
  LogicalResult lowered = lowerChain(chain, sums, options);
  for (Operation *sum : sums)
    sum->erase();
  return lowered;
}

static LogicalResult lowerOp(Operation *op, const LaneOptions &options) {
  if (isa<ReduceSumsOp>(op))
    return op->emitOpError(
        "adds partial sums, which only scans for GPUs support; do not run bppsa-fuse-gradients");
  if (failed(verifyReady(op)))
    return failure();
  LogicalResult lowered = success();
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](RecurrenceOp loop) { lowered = lowerRecurrence(loop, options); })
      .Case([&](ChainOp loop) { lowered = lowerWithSums(loop, options); })
      .Case([&](TransitionOp run) { lowered = lowerTransition(run, options); })
      .Case([](FactoredTransitionOp link) { lowerFactoredTransition(link); })
      .Case([&](ComposeTransitionsOp product) { lowerComposeTransitions(product, options); })
      .Case([&](ApplyTransitionOp product) { lowerApplyTransition(product, options); })
      .Case([&](OuterSumOp sum) { lowerOuterSum(sum, options); })
      .Case([&](StepSumOp sum) { lowerStepSum(sum, options); })
      .Case([&](AddToSumsOp sum) { lowerAddToSums(sum, options); })
      .Case([](FinishSumsOp sum) { lowerFinishSums(sum); })
      .Case([](PackLanesOp pack) { lowerPackLanes(pack); })
      .Case([](UnpackLanesOp unpack) { lowerUnpackLanes(unpack); })
      .Case([](PackChunksOp pack) { lowerPackChunks(pack); })
      .Case([](UnpackChunksOp unpack) { lowerUnpackChunks(unpack); })
      .Case([](jacobian::SparseApplyOp apply) { lowerSparseApply(apply); })
      .Case([](jacobian::SparseComposeOp compose) { lowerSparseCompose(compose); })
      .Case([](jacobian::SparseOuterSumOp sum) { lowerSparseOuterSum(sum); });
  return lowered;
}

/// Lowered loops handle the direction.
static void inlineDirections(ModuleOp module) {
  SmallVector<ReverseIfOp> directions;
  module.walk([&](ReverseIfOp either) { directions.push_back(either); });
  for (ReverseIfOp either : directions) {
    Block &body = either.getBody().front();
    either->getBlock()->getOperations().splice(either->getIterator(), body.getOperations());
    either.erase();
  }
}

namespace {
struct ConvertBPPSAToVector : public bppsa::impl::ConvertBPPSAToVectorBase<ConvertBPPSAToVector> {
  using ConvertBPPSAToVectorBase::ConvertBPPSAToVectorBase;

  void runOnOperation() override {
    LaneOptions options;
    options.registers = registers;
    SmallVector<Operation *> ops;
    DenseSet<Operation *> withChains;
    getOperation().walk([&](ChainOp chain) { withChains.insert_range(findSumsOf(chain)); });
    getOperation().walk([&](Operation *op) {
      if (withChains.contains(op))
        return;
      if (op->hasTrait<KernelTrait>())
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      if (auto packable = dyn_cast<PackableOpInterface>(op)) {
        options.lanes = packable.getLanes().value_or(options.lanes);
        if (options.lanes == 1)
          dropLanes(packable);
      }
      if (failed(lowerOp(op, options)))
        return signalPassFailure();
      op->erase();
    }
    inlineDirections(getOperation());
    // Some calls copy arrays.
    if (failed(lowerExchangeCalls(getOperation())))
      return signalPassFailure();
    lowerCopies(getOperation());
    lowerPhaseMarks(getOperation());
  }
};
} // namespace
