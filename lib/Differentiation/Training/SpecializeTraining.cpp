//===- SpecializeTraining.cpp - training and inference modes --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Only training steps drop elements, update running statistics and exchange means. The dropout mask
// is a hash of (seed, stream, element index), so the backward pass recomputes it.
//
//===----------------------------------------------------------------------===//

#include "../TensorBuilders.h"
#include "Objective.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSASchedule.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Dialect/BPPSA/IR/Entry.h"
#include "bppsa/Dialect/Dist/IR/Dist.h"
#include "bppsa/Differentiation/Differentiation.h"
#include "bppsa/Differentiation/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/MapVector.h"

namespace bppsa {
#define GEN_PASS_DEF_SPECIALIZETRAINING
#include "bppsa/Differentiation/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static Value getI64(OpBuilder &builder, Location loc, uint64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI64IntegerAttr(static_cast<int64_t>(value)));
}

/// The finalizer of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
/// OOPSLA 2014).
static Value emitMix(OpBuilder &builder, Location loc, Value bits) {
  auto xorShift = [&](uint64_t shift) {
    Value shifted = arith::ShRUIOp::create(builder, loc, bits, getI64(builder, loc, shift));
    bits = arith::XOrIOp::create(builder, loc, bits, shifted);
  };
  auto multiply = [&](uint64_t factor) {
    bits = arith::MulIOp::create(builder, loc, bits, getI64(builder, loc, factor));
  };
  xorShift(30);
  multiply(0xbf58476d1ce4e5b9u);
  xorShift(27);
  multiply(0x94d049bb133111ebu);
  xorShift(31);
  return bits;
}

static Value emitLinearIndex(OpBuilder &builder, Location loc, ValueRange sizes) {
  Value position = arith::ConstantIndexOp::create(builder, loc, 0);
  for (auto [i, size] : llvm::enumerate(sizes)) {
    Value scaled = arith::MulIOp::create(builder, loc, position, size);
    position =
        arith::AddIOp::create(builder, loc, scaled, linalg::IndexOp::create(builder, loc, i));
  }
  return arith::IndexCastOp::create(builder, loc, builder.getI64Type(), position);
}

/// Keeps an element by comparing 40 random bits with the ratio.
static Value emitKeep(OpBuilder &builder, Location loc, Value key, Value position, double ratio) {
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15u;
  constexpr unsigned kBits = 40;
  Value step = arith::MulIOp::create(builder, loc, position, getI64(builder, loc, kGolden));
  Value bits = emitMix(builder, loc, arith::AddIOp::create(builder, loc, key, step));
  Value high = arith::ShRUIOp::create(builder, loc, bits, getI64(builder, loc, 64 - kBits));
  auto threshold = static_cast<uint64_t>(ratio * static_cast<double>(uint64_t(1) << kBits));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge, high,
                               getI64(builder, loc, threshold));
}

static void dropElements(DropoutOp op, Value seedTensor) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getType());
  Value seed = tensor::ExtractOp::create(builder, loc, seedTensor, ValueRange());
  Value stream = getI64(builder, loc, op.getStream());
  Value key = emitMix(builder, loc,
                      arith::XOrIOp::create(builder, loc, seed, emitMix(builder, loc, stream)));
  SmallVector<Value> sizes;
  for (int64_t i = 0; i < type.getRank(); ++i)
    sizes.push_back(tensor::DimOp::create(builder, loc, op.getInput(), i));
  SmallVector<OpFoldResult> mixedSizes = tensor::getMixedSizes(builder, loc, op.getInput());
  Value empty = tensor::EmptyOp::create(builder, loc, mixedSizes, type.getElementType());

  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::parallel);
  double ratio = op.getRatio().convertToDouble();
  auto generic = linalg::GenericOp::create(
      builder, loc, TypeRange(type), ValueRange(op.getInput()), ValueRange(empty),
      ArrayRef<AffineMap>{identity, identity}, iterators,
      [&](OpBuilder &body, Location bodyLoc, ValueRange arguments) {
        Value position = emitLinearIndex(body, bodyLoc, sizes);
        Value keep = emitKeep(body, bodyLoc, key, position, ratio);
        Type element = type.getElementType();
        Value scale = arith::ConstantOp::create(body, bodyLoc,
                                                body.getFloatAttr(element, 1.0 / (1.0 - ratio)));
        Value zero = arith::ConstantOp::create(body, bodyLoc, body.getFloatAttr(element, 0.0));
        Value scaled = arith::MulFOp::create(body, bodyLoc, arguments[0], scale);
        Value kept = arith::SelectOp::create(body, bodyLoc, keep, scaled, zero);
        linalg::YieldOp::create(body, bodyLoc, kept);
      });
  op.replaceAllUsesWith(generic.getResult(0));
  op.erase();
}

static Value createNextStatistic(RunningStatisticOp op, Value running) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(running.getType());
  Value empty = tensor::EmptyOp::create(builder, loc, tensor::getMixedSizes(builder, loc, running),
                                        type.getElementType());
  SmallVector<AffineMap> maps(3, builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::parallel);
  double momentum = op.getMomentum().convertToDouble();
  auto generic = linalg::GenericOp::create(
      builder, loc, TypeRange(type), ValueRange{running, op.getBatch()}, ValueRange(empty), maps,
      iterators, [&](OpBuilder &body, Location, ValueRange arguments) {
        auto scale = [&](Value value, double factor) -> Value {
          auto attribute = body.getFloatAttr(type.getElementType(), factor);
          return arith::MulFOp::create(body, loc, value,
                                       arith::ConstantOp::create(body, loc, attribute));
        };
        Value sum = arith::AddFOp::create(body, loc, scale(arguments[0], momentum),
                                          scale(arguments[1], 1 - momentum));
        linalg::YieldOp::create(body, loc, sum);
      });
  return generic.getResult(0);
}

static void useBatchStatistics(func::FuncOp training) {
  // A layer that is called several times updates its statistics once per call, in sequence.
  llvm::MapVector<BlockArgument, Value> updated;
  training.walk([&](RunningStatisticOp op) {
    auto argument = dyn_cast<BlockArgument>(op.getRunning());
    if (!argument || !attrs::Statistic::ofArgument(training, argument.getArgNumber()))
      return;
    Value &running = updated.try_emplace(argument, argument).first->second;
    running = createNextStatistic(op, running);
    op.replaceAllUsesWith(ValueRange{op.getBatch(), running});
    op.erase();
  });
  for (auto [argument, value] : updated)
    appendResult(
        training, value,
        attrs::Updated::make(attrs::Parameter::ofArgument(training, argument.getArgNumber())));
}

static void weighObjective(func::FuncOp training) {
  Operation *terminator = training.front().getTerminator();
  OpBuilder builder(terminator);
  appendObjective(training,
                  createRankWeighted(builder, terminator->getLoc(), terminator->getOperand(0)));
}

static LogicalResult specializeRankMeans(ModuleOp module, func::FuncOp training) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(training.front())))
    if (isOpTriviallyDead(&op) || (isa<dist::RankMeanOp>(op) && op.use_empty()))
      op.erase();
  module.walk([&](dist::RankMeanOp op) {
    if (op->getParentOfType<func::FuncOp>() == training)
      return;
    op.getResult().replaceAllUsesWith(op.getOperand());
    op.erase();
  });
  if (training.front().getOps<dist::RankMeanOp>().empty())
    return success();
  if (!hasLoss(training))
    return training.emitError() << "with dist.rank_mean, needs a first result of type "
                                   "tensor<f32>, the loss; run bppsa-add-loss";
  weighObjective(training);
  return success();
}

namespace {
struct SpecializeTrainingPass : bppsa::impl::SpecializeTrainingBase<SpecializeTrainingPass> {
  using SpecializeTrainingBase::SpecializeTrainingBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto loss = module.lookupSymbol<func::FuncOp>(function);
    if (!loss || loss.isExternal()) {
      module.emitError() << "no function '" << function << "' to specialise; run bppsa-add-loss";
      return signalPassFailure();
    }
    func::FuncOp training = copyWithoutEntry(loss, result);
    specializeDropout(training);
    useBatchStatistics(training);
    if (failed(specializeRankMeans(module, training)))
      return signalPassFailure();
    module.walk([](DropoutOp op) {
      op.replaceAllUsesWith(op.getInput());
      op.erase();
    });
    module.walk([](RunningStatisticOp op) {
      op.replaceAllUsesWith(ValueRange{op.getRunning(), op.getRunning()});
      op.erase();
    });
  }

  void specializeDropout(func::FuncOp training) {
    SmallVector<DropoutOp> dropouts;
    training.walk([&](DropoutOp op) { dropouts.push_back(op); });
    if (dropouts.empty())
      return;
    Builder builder(training.getContext());
    auto seedType = RankedTensorType::get({}, builder.getI64Type());
    NamedAttribute role = attrs::Seed::make(builder.getUnitAttr());
    unsigned index = training.getNumArguments();
    if (failed(training.insertArgument(index, seedType, builder.getDictionaryAttr(role),
                                       training.getLoc())))
      return signalPassFailure();
    for (DropoutOp op : dropouts)
      dropElements(op, training.getArgument(index));
  }
};
} // namespace
