//===- PackBatch.cpp - packs samples into lanes ---------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Analysis/SymbolicSizes.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h"
#include "bppsa/Dialect/Dist/IR/Dist.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "bppsa-pack-batch"

namespace bppsa {
#define GEN_PASS_DEF_PACKBATCH
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// `type` is `[T, B, N]` or `[B, N]`.
static RankedTensorType getPackedType(Type type, int64_t lanes) {
  auto plain = cast<RankedTensorType>(type);
  int64_t rank = plain.getRank(), batch = plain.getDimSize(rank - 2);
  SmallVector<int64_t> shape = {ShapedType::isDynamic(batch) ? batch : (batch + lanes - 1) / lanes};
  if (rank == 3)
    shape.push_back(plain.getDimSize(0));
  shape.append({plain.getDimSize(rank - 1), lanes});
  return RankedTensorType::get(shape, plain.getElementType());
}

//===----------------------------------------------------------------------===//
// Packing of loops and sums
//===----------------------------------------------------------------------===//

/// Loops may erase the arrays that they write, so sizes are not read from them.
static Value getBatch(OpBuilder &builder, Location loc, Value array) {
  int64_t batchDim = cast<RankedTensorType>(array.getType()).getRank() - 2;
  if (auto unpack = array.getDefiningOp<UnpackLanesOp>())
    return unpack.getBatch();
  if (auto slice = array.getDefiningOp<tensor::ExtractSliceOp>())
    if (slice.getSourceType().getRank() == slice.getType().getRank())
      return getValueOrCreateConstantIndexOp(builder, loc, slice.getMixedSizes()[batchDim]);
  return builder.createOrFold<tensor::DimOp>(loc, array, batchDim);
}

static int64_t getWidth(Operation *op) {
  return cast<CPUMappingAttr>(attrs::Mapping::of(op)).getSamples();
}

namespace {
class Packer {
public:
  explicit Packer(OpBuilder &builder) : builder(builder) {}

  void pack(Operation *op) {
    int64_t lanes = getWidth(op);
    if (!cast<CPUMappingAttr>(attrs::Mapping::of(op)).holds(LaneContents::Chunks))
      attrs::Mapping::remove(op);
    builder.setInsertionPoint(op);
    Value batch;
    for (OpOperand &operand : getPackedOperands(op)) {
      Value plain = operand.get();
      if (!batch)
        batch = getBatch(builder, op->getLoc(), plain);
      operand.set(packInto(plain, lanes));
    }
    cast<PackableOpInterface>(op).setPackedInto(lanes);
    if (auto sum = dyn_cast<OuterSumOp>(op))
      return sum.getBatchMutable().assign(batch);
    if (auto sum = dyn_cast<StepSumOp>(op))
      return sum.getBatchMutable().assign(batch);
    builder.setInsertionPointAfter(op);
    for (Value result : op->getResults()) {
      Type plain = result.getType();
      result.setType(getPackedType(plain, lanes));
      auto unpacked = UnpackLanesOp::create(builder, op->getLoc(), plain, result, batch, Value(),
                                            builder.getI64IntegerAttr(lanes));
      result.replaceAllUsesExcept(unpacked.getResult(), unpacked);
    }
  }

  /// Columns of a transition are packed like steps.
  void pack(TransitionOp op) {
    Location loc = op.getLoc();
    int64_t lanes = getWidth(op);
    attrs::Mapping::remove(op);
    builder.setInsertionPoint(op);
    Value batch = getBatch(builder, loc, op.getSaved().front());
    for (MutableOperandRange range : {op.getSavedMutable(), op.getInjectedMutable()})
      for (OpOperand &operand : range)
        operand.set(packInto(operand.get(), lanes));
    Value plain = op.getDestination();
    auto type = cast<RankedTensorType>(plain.getType());
    ArrayRef<int64_t> shape = type.getShape();
    auto columns = RankedTensorType::get({shape[1], shape[0], shape[2]}, type.getElementType());
    RankedTensorType packed = getPackedType(columns, lanes);
    SmallVector<OpFoldResult> sizes = {
        tensor::getMixedSize(builder, loc, op.getSaved().front(), 0)};
    for (int64_t size : packed.getShape().drop_front())
      sizes.push_back(builder.getIndexAttr(size));
    op.getDestinationMutable().assign(
        tensor::EmptyOp::create(builder, loc, sizes, type.getElementType()));
    op.setPackedInto(lanes);
    op.getResult().setType(packed);
    builder.setInsertionPointAfter(op);
    auto unpacked = UnpackLanesOp::create(builder, loc, columns, op.getResult(), batch, Value(),
                                          builder.getI64IntegerAttr(lanes));
    auto byBatch = linalg::TransposeOp::create(builder, loc, unpacked.getResult(), plain,
                                               ArrayRef<int64_t>{1, 0, 2});
    op.getResult().replaceAllUsesExcept(byBatch->getResult(0), unpacked);
  }

private:
  Value packInto(Value plain, int64_t lanes) {
    return PackLanesOp::create(builder, plain.getLoc(), getPackedType(plain.getType(), lanes),
                               plain, Value(), builder.getI64IntegerAttr(lanes))
        .getResult();
  }

  static MutableArrayRef<OpOperand> getPackedOperands(Operation *op) {
    size_t numCaptures = 0;
    if (auto loop = dyn_cast<RecurrenceOp>(op))
      numCaptures = loop.getCaptures().size();
    else if (auto loop = dyn_cast<ChainOp>(op))
      numCaptures = loop.getCaptures().size();
    return op->getOpOperands().drop_back(numCaptures);
  }

  OpBuilder &builder;
};
} // namespace

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {
/// Lanes beyond the last sample need not be zero, because lanes are independent and sums over
/// samples ignore them.
struct CancelPack : OpRewritePattern<PackLanesOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(PackLanesOp op, PatternRewriter &rewriter) const override {
    auto unpack = op.getSource().getDefiningOp<UnpackLanesOp>();
    if (!unpack || unpack.getLanes() != op.getLanes() || op.getNumResults() != 1 ||
        unpack.getSource().getType() != op.getResult().getType())
      return rewriter.notifyMatchFailure(op,
                                         "source is not an array with the same number of lanes");
    rewriter.replaceOp(op, unpack.getSource());
    return success();
  }
};

struct SliceBeforeUnpack : OpRewritePattern<tensor::ExtractSliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::ExtractSliceOp op,
                                PatternRewriter &rewriter) const override {
    auto unpack = op.getSource().getDefiningOp<UnpackLanesOp>();
    RankedTensorType source = op.getSourceType(), result = op.getType();
    if (!unpack || source.getRank() != 3 || result.getRank() < 2 || !op.hasUnitStride())
      return rewriter.notifyMatchFailure(op, "not a slice of an unpacked sequence");
    SmallVector<OpFoldResult> offsets = op.getMixedOffsets(), sizes = op.getMixedSizes();
    bool dropsTime = result.getRank() == 2;
    if (!isConstantIntValue(offsets[1], 0) || result.isDynamicDim(result.getRank() - 1) ||
        !isConstantIntValue(sizes[2], result.getShape().back()) ||
        !SymbolicSizes().areEqual(sizes[1], unpack.getBatch(), op.getContext()))
      return rewriter.notifyMatchFailure(op, "takes part of the samples");
    if (dropsTime && !op.getDroppedDims().test(0))
      return rewriter.notifyMatchFailure(op, "drops another dimension than time");
    if (source.isDynamicDim(1) != result.isDynamicDim(dropsTime ? 0 : 1))
      return rewriter.notifyMatchFailure(op, "has a static number of samples, unlike the array");

    Location loc = op.getLoc();
    auto packed = cast<RankedTensorType>(unpack.getSource().getType());
    OpFoldResult zero = rewriter.getIndexAttr(0);
    OpFoldResult numBlocks = tensor::getMixedSize(rewriter, loc, unpack.getSource(), 0);
    SmallVector<OpFoldResult> packedSizes = {numBlocks, sizes[0], sizes[2],
                                             rewriter.getIndexAttr(packed.getDimSize(3))};
    SmallVector<OpFoldResult> strides(4, rewriter.getIndexAttr(1));
    SmallVector<int64_t> shape = {packed.getDimSize(0)};
    if (!dropsTime)
      shape.push_back(result.getDimSize(0));
    shape.append({result.getShape().back(), packed.getDimSize(3)});
    auto slice = tensor::ExtractSliceOp::create(
        rewriter, loc, RankedTensorType::get(shape, packed.getElementType()), unpack.getSource(),
        ArrayRef<OpFoldResult>{zero, offsets[0], offsets[2], zero}, packedSizes, strides);
    rewriter.replaceOpWithNewOp<UnpackLanesOp>(op, result, slice, unpack.getBatch(), Value(),
                                               unpack.getLanesAttr());
    return success();
  }
};

/// Lanes beyond the last sample receive arbitrary results.
struct ElementwiseBeforeUnpack : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op, PatternRewriter &rewriter) const override {
    SmallVector<UnpackLanesOp> unpacked;
    for (OpOperand *input : op.getDpsInputOperands())
      if (auto unpack = input->get().getDefiningOp<UnpackLanesOp>())
        unpacked.push_back(unpack);
    if (unpacked.empty() || unpacked.size() != op.getInputs().size() || !isElementwise(op))
      return rewriter.notifyMatchFailure(op, "not elementwise on unpacked arrays only");
    auto type = cast<RankedTensorType>(unpacked.front().getSource().getType());
    if (!llvm::all_of(unpacked, [&](UnpackLanesOp unpack) {
          return unpack.getSource().getType() == type && unpack.getNumResults() == 1;
        }))
      return rewriter.notifyMatchFailure(op, "arrays have other lanes");
    SmallVector<Value> inputs = llvm::map_to_vector(
        unpacked, [](UnpackLanesOp unpack) { return Value(unpack.getSource()); });
    Location loc = op.getLoc();
    Value init = tensor::EmptyOp::create(
        rewriter, loc, tensor::getMixedSizes(rewriter, loc, inputs[0]), type.getElementType());
    SmallVector<AffineMap> maps(inputs.size() + 1, rewriter.getMultiDimIdentityMap(type.getRank()));
    SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::parallel);
    auto packed = linalg::GenericOp::create(rewriter, loc, type, inputs, init, maps, iterators);
    rewriter.inlineRegionBefore(op.getRegion(), packed.getRegion(), packed.getRegion().end());
    rewriter.replaceOpWithNewOp<UnpackLanesOp>(op, op.getResultTypes(), packed.getResult(0),
                                               unpacked.front().getBatch(), Value(),
                                               unpacked.front().getLanesAttr());
    return success();
  }

private:
  /// Element types must be equal, and elements must correspond by position.
  static bool isElementwise(linalg::GenericOp op) {
    return op.getNumResults() == 1 && op.getNumParallelLoops() == op.getNumLoops() &&
           llvm::all_of(op.getIndexingMapsArray(),
                        [](AffineMap map) { return map.isIdentity(); }) &&
           op.getResultTypes().front() == op.getInputs().front().getType() &&
           op.getBody()->getOps<linalg::IndexOp>().empty() &&
           op.getRegionOutputArgs().front().use_empty();
  }
};

/// Packs operands of a feature concatenation separately if some are packed.
struct PackBeforeConcat : OpRewritePattern<PackLanesOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(PackLanesOp op, PatternRewriter &rewriter) const override {
    auto concat = op.getSource().getDefiningOp<tensor::ConcatOp>();
    if (!concat || op.getNumResults() != 1 ||
        static_cast<int64_t>(concat.getDim()) + 1 != concat.getRank())
      return rewriter.notifyMatchFailure(op, "does not pack concatenated features");
    auto isPacked = [&](Value part) {
      auto unpack = part.getDefiningOp<UnpackLanesOp>();
      return unpack && unpack.getLanes() == op.getLanes();
    };
    if (llvm::none_of(concat.getInputs(), isPacked) ||
        !llvm::all_of(concat->getUsers(), llvm::IsaPred<PackLanesOp>))
      return rewriter.notifyMatchFailure(op, "somebody reads the plain array, or wrote all of it");
    SmallVector<Value> parts;
    for (Value part : concat.getInputs())
      parts.push_back(PackLanesOp::create(rewriter, op.getLoc(),
                                          getPackedType(part.getType(), op.getLanes()), part,
                                          Value(), op.getLanesAttr())
                          .getResult());
    // [B, N] becomes [B / 16, N, 16], [T, B, N] becomes [B / 16, T, N, 16].
    rewriter.replaceOpWithNewOp<tensor::ConcatOp>(op, op.getResult().getType(), concat.getDim(),
                                                  parts);
    return success();
  }
};

/// Fails with a diagnostic if `op` should be packed but cannot.
FailureOr<bool> needsPacking(Operation *op) {
  if (isa<RecurrenceOp, ChainOp>(op) && isGraphBody(op->getRegion(0).front()))
    return op->emitOpError("has a graph as its body; run bppsa-lower-graph-bodies first");
  if (failed(verifyNoSums(op)))
    return failure();
  if (!CPUMappingAttr::canMap(op) || cast<PackableOpInterface>(op).getLanes())
    return false;
  if (llvm::any_of(op->getOperandTypes(), llvm::IsaPred<BaseMemRefType>))
    return op->emitOpError("must be on tensors to be packed; run bppsa-pack-batch before "
                           "bppsa-bufferize");
  if (!isa_and_nonnull<CPUMappingAttr>(attrs::Mapping::of(op)))
    return op->emitOpError("has no mapping to a CPU; run bppsa-choose-cpu-mapping first");
  return true;
}

/// Reading a size must not keep an unpacked array alive. The upstream pattern would take sizes of
/// `linalg` results written by windows from operands other than the destination.
struct SizeOfResult : public OpRewritePattern<tensor::DimOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::DimOp op, PatternRewriter &rewriter) const override {
    auto result = dyn_cast<OpResult>(op.getSource());
    std::optional<int64_t> dim = op.getConstantIndex();
    if (!result || !dim ||
        !(isa_and_nonnull<BPPSADialect, dist::DistDialect, jacobian::JacobianDialect>(
              result.getOwner()->getDialect()) ||
          isa<tensor::ConcatOp>(result.getOwner())))
      return failure();
    FailureOr<OpFoldResult> size =
        reifyDimOfResult(rewriter, result.getOwner(), result.getResultNumber(), *dim);
    if (failed(size))
      return failure();
    rewriter.replaceOp(op, getValueOrCreateConstantIndexOp(rewriter, op.getLoc(), *size));
    return success();
  }
};

struct PackBatch : public bppsa::impl::PackBatchBase<PackBatch> {
  using PackBatchBase::PackBatchBase;

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    WalkResult found = getOperation().walk([&](Operation *op) {
      FailureOr<bool> packs = needsPacking(op);
      if (succeeded(packs) && *packs)
        ops.push_back(op);
      return failed(packs) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (found.wasInterrupted())
      return signalPassFailure();
    OpBuilder builder(&getContext());
    Packer packer(builder);
    for (Operation *op : ops) {
      LDBG() << op->getName() << " at " << op->getLoc() << " gets " << getWidth(op) << " lanes";
      if (auto run = dyn_cast<TransitionOp>(op))
        packer.pack(run);
      else
        packer.pack(op);
    }
    RewritePatternSet patterns(&getContext());
    patterns.add<CancelPack, SliceBeforeUnpack, ElementwiseBeforeUnpack, PackBeforeConcat,
                 SizeOfResult>(&getContext());
    tensor::DimOp::getCanonicalizationPatterns(patterns, &getContext());
    tensor::ExtractSliceOp::getCanonicalizationPatterns(patterns, &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
