//===- TimeLoops.cpp - recurrences and chains to loops on tensors ---------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "BatchedBody.h"
#include "Patterns.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace bppsa;

//===----------------------------------------------------------------------===//
// Loops and slices of sequences
//===----------------------------------------------------------------------===//

namespace {
/// Writes the code of one time loop over `steps` steps of `batch` samples.
struct LoopBuilder {
  OpBuilder &builder;
  Location loc;
  OpFoldResult steps, batch;

  LoopBuilder(OpBuilder &builder, Location loc, Value sequence)
      : builder(builder), loc(loc), steps(tensor::getMixedSize(builder, loc, sequence, 0)),
        batch(tensor::getMixedSize(builder, loc, sequence, 1)) {}

  OpFoldResult index(int64_t value) { return builder.getIndexAttr(value); }
  SmallVector<OpFoldResult> ones() { return {index(1), index(1), index(1)}; }

  /// The type `[B, N]` of the state in `array`, whose last dimension is N.
  RankedTensorType getStateType(Value array) {
    auto type = cast<RankedTensorType>(array.getType());
    int64_t samples = getConstantIntValue(batch).value_or(ShapedType::kDynamic);
    return RankedTensorType::get({samples, type.getShape().back()}, type.getElementType());
  }
  Value castState(Value state) { return castTo(builder, loc, state, getStateType(state)); }

  /// The slice `[B, N]` of `sequence` at `step`.
  Value read(Value sequence, Value step) {
    RankedTensorType type = getStateType(sequence);
    SmallVector<OpFoldResult> offsets = {step, index(0), index(0)};
    SmallVector<OpFoldResult> sizes = {index(1), batch, index(type.getDimSize(1))};
    return tensor::ExtractSliceOp::create(builder, loc, type, sequence, offsets, sizes, ones());
  }
  /// `sequence` with `slice` at `step`.
  Value write(Value slice, Value sequence, OpFoldResult step) {
    SmallVector<OpFoldResult> offsets = {step, index(0), index(0)};
    SmallVector<OpFoldResult> sizes = {index(1), batch, index(getStateType(slice).getDimSize(1))};
    return tensor::InsertSliceOp::create(builder, loc, slice, sequence, offsets, sizes, ones());
  }
  /// An uninitialised array of `numSlots` slots for body values of `type`.
  Value createSequence(Type type, OpFoldResult numSlots) {
    auto vector = cast<VectorType>(type);
    SmallVector<OpFoldResult> sizes = {numSlots, batch, index(vector.getDimSize(0))};
    return tensor::EmptyOp::create(builder, loc, sizes, vector.getElementType());
  }

  /// A loop over all steps, from the last to the first where it runs
  /// `backward`; `body` maps the step and the carried values to the next ones.
  SmallVector<Value> createLoop(bool backward, ValueRange carried,
                                function_ref<SmallVector<Value>(Value, ValueRange)> body) {
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    Value count = getValueOrCreateConstantIndexOp(builder, loc, steps);
    auto loop =
        scf::ForOp::create(builder, loc, zero, count, one, carried,
                           [&](OpBuilder &, Location, Value iteration, ValueRange arguments) {
                             Value step = iteration;
                             if (backward) {
                               Value last = arith::SubIOp::create(builder, loc, count, one);
                               step = arith::SubIOp::create(builder, loc, last, iteration);
                             }
                             scf::YieldOp::create(builder, loc, body(step, arguments));
                           });
    return SmallVector<Value>(loop.getResults());
  }
};
} // namespace

/// Replaces `op` by `values`, casted to its result types.
static void replaceWithCasts(ConversionPatternRewriter &rewriter, Operation *op,
                             ValueRange values) {
  SmallVector<Value> casted;
  for (auto [value, type] : llvm::zip_equal(values, op->getResultTypes()))
    casted.push_back(castTo(rewriter, op->getLoc(), value, type));
  rewriter.replaceOp(op, casted);
}

//===----------------------------------------------------------------------===//
// Recurrences and chains
//===----------------------------------------------------------------------===//

namespace {
struct ConvertRecurrence : OpConversionPattern<RecurrenceOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(RecurrenceOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (op.getLanes())
      return failure();
    Block &body = op.getBody().front();
    LoopBuilder b(rewriter, op.getLoc(), adaptor.getSequences().front());
    size_t numSequences = op.getSequences().size(), numStates = op.getInitial().size();
    Value count = getValueOrCreateConstantIndexOp(rewriter, b.loc, b.steps);
    OpFoldResult numSlots = affine::makeComposedFoldedAffineApply(
        rewriter, b.loc, rewriter.getAffineDimExpr(0) + 1, {b.steps});
    OpFoldResult firstSlot = op.getReverse() ? OpFoldResult(count) : b.index(0);

    // Carried: the states, then trajectories and outputs.
    SmallVector<Value> carried;
    for (Value state : adaptor.getInitial())
      carried.push_back(b.castState(state));
    for (auto [k, value] : llvm::enumerate(body.getTerminator()->getOperands())) {
      bool isState = k < numStates;
      Value array = b.createSequence(value.getType(), isState ? numSlots : b.steps);
      carried.push_back(isState ? b.write(carried[k], array, firstSlot) : array);
    }
    auto runStep = [&](Value step, ValueRange arguments) {
      BatchedBody batched(rewriter, b.loc, b.batch);
      for (auto [argument, sequence] : llvm::zip(body.getArguments(), adaptor.getSequences()))
        batched.map(argument, b.read(sequence, step));
      for (size_t k = 0; k < numStates; ++k)
        batched.map(body.getArgument(numSequences + k), arguments[k]);
      for (auto [argument, capture] : llvm::zip_equal(
               body.getArguments().drop_front(numSequences + numStates), adaptor.getCaptures()))
        batched.map(argument, capture);
      SmallVector<Value> yielded = batched.convert(body);
      Value one = arith::ConstantIndexOp::create(rewriter, b.loc, 1);
      Value next = op.getReverse() ? step : arith::AddIOp::create(rewriter, b.loc, step, one);
      SmallVector<Value> results(yielded.begin(), yielded.begin() + numStates);
      for (auto [k, value] : llvm::enumerate(yielded))
        results.push_back(b.write(value, arguments[numStates + k], k < numStates ? next : step));
      return results;
    };
    SmallVector<Value> results = b.createLoop(op.getReverse(), carried, runStep);
    replaceWithCasts(rewriter, op, ArrayRef(results).drop_front(numStates));
    return success();
  }
};

struct ConvertChain : OpConversionPattern<ChainOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(ChainOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (op.getLanes())
      return failure();
    Block &body = op.getBody().front();
    LoopBuilder b(rewriter, op.getLoc(), adaptor.getSaved().front());
    size_t numSaved = op.getSaved().size(), numStates = op.getSeeds().size();

    // Carried: the cotangents, then the emitted sequences.
    SmallVector<Value> carried;
    for (Value seed : adaptor.getSeeds())
      carried.push_back(b.castState(seed));
    for (Value value : body.getTerminator()->getOperands().drop_front(numStates))
      carried.push_back(b.createSequence(value.getType(), b.steps));
    auto runStep = [&](Value step, ValueRange arguments) {
      BatchedBody batched(rewriter, b.loc, b.batch);
      for (auto [argument, saved] : llvm::zip(body.getArguments(), adaptor.getSaved()))
        batched.map(argument, b.read(saved, step));
      SmallVector<Value> entering(arguments.take_front(numStates));
      for (auto [sequence, state] : llvm::zip(adaptor.getInjected(), op.getInjectInto()))
        entering[state] = addTensors(rewriter, b.loc, entering[state], b.read(sequence, step));
      for (size_t k = 0; k < numStates; ++k)
        batched.map(body.getArgument(numSaved + k), entering[k]);
      for (auto [argument, capture] : llvm::zip_equal(
               body.getArguments().drop_front(numSaved + numStates), adaptor.getCaptures()))
        batched.map(argument, capture);
      SmallVector<Value> results = batched.convert(body);
      for (size_t k = numStates; k < results.size(); ++k)
        results[k] = b.write(results[k], arguments[k], step);
      return results;
    };
    replaceWithCasts(rewriter, op, b.createLoop(!op.getReverse(), carried, runStep));
    return success();
  }

private:
  /// `lhs + rhs`, elementwise, on arrays `[B, N]`.
  static Value addTensors(OpBuilder &builder, Location loc, Value lhs, Value rhs) {
    SmallVector<AffineMap> maps(3, builder.getMultiDimIdentityMap(2));
    SmallVector<utils::IteratorType> iterators(2, utils::IteratorType::parallel);
    auto type = cast<RankedTensorType>(lhs.getType());
    Value empty = tensor::EmptyOp::create(builder, loc, tensor::getMixedSizes(builder, loc, lhs),
                                          type.getElementType());
    return linalg::GenericOp::create(
               builder, loc, type, ValueRange{lhs, rhs}, empty, maps, iterators,
               [](OpBuilder &nested, Location nestedLoc, ValueRange x) {
                 Value sum = arith::AddFOp::create(nested, nestedLoc, x[0], x[1]);
                 linalg::YieldOp::create(nested, nestedLoc, sum);
               })
        .getResult(0);
  }
};

//===----------------------------------------------------------------------===//
// Jacobians
//===----------------------------------------------------------------------===//

/// Applies the link to every unit cotangent, one column after the other.
struct ConvertLinearize : OpConversionPattern<LinearizeOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(LinearizeOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(getTypeConverter()->convertType(op.getResult().getType()));
    OpFoldResult batch = adaptor.getSaved().empty()
                             ? OpFoldResult(rewriter.getIndexAttr(1))
                             : tensor::getMixedSize(rewriter, loc, adaptor.getSaved().front(), 0);
    OpFoldResult size = rewriter.getIndexAttr(type.getShape().back());
    Value empty =
        tensor::EmptyOp::create(rewriter, loc, ArrayRef{batch, size, size}, type.getElementType());
    Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
    Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
    Value count = getValueOrCreateConstantIndexOp(rewriter, loc, size);
    auto loop = scf::ForOp::create(
        rewriter, loc, zero, count, one, empty,
        [&](OpBuilder &, Location, Value column, ValueRange jacobian) {
          Value entries = computeColumn(op, adaptor, rewriter, batch, column);
          scf::YieldOp::create(
              rewriter, loc,
              insertColumn(rewriter, loc, entries, jacobian.front(), column, batch, size));
        });
    Value result = loop.getResult(0);
    if (type.getRank() == 2)
      result = tensor::CollapseShapeOp::create(rewriter, loc, result,
                                               SmallVector<ReassociationIndices>{{0, 1}, {2}});
    rewriter.replaceOp(op, castTo(rewriter, loc, result, type));
    return success();
  }

private:
  /// The column `[B, N]` of the Jacobian.
  static Value computeColumn(LinearizeOp op, OpAdaptor adaptor, OpBuilder &builder,
                             OpFoldResult batch, Value column) {
    Location loc = op.getLoc();
    Block &body = op.getBody().front();
    BatchedBody batched(builder, loc, batch);
    ArrayRef<BlockArgument> arguments = body.getArguments();
    for (Value saved : adaptor.getSaved()) {
      batched.map(arguments.front(), saved);
      arguments = arguments.drop_front();
    }
    int64_t offset = 0;
    for (int64_t size : op.getStates()) {
      Type elementType = getElementTypeOrSelf(arguments.front().getType());
      batched.map(arguments.front(), createUnit(builder, loc, size, elementType, column, offset));
      arguments = arguments.drop_front();
      offset += size;
    }
    for (auto [argument, capture] : llvm::zip_equal(arguments, adaptor.getCaptures()))
      batched.map(argument, capture);
    SmallVector<Value> yielded = batched.convert(body);
    if (yielded.size() == 1)
      return yielded.front();
    return tensor::ConcatOp::create(builder, loc, /*dim=*/1, yielded);
  }

  /// The part of the unit vector number `column` that begins at `offset`.
  static Value createUnit(OpBuilder &builder, Location loc, int64_t size, Type elementType,
                          Value column, int64_t offset) {
    Value empty = tensor::EmptyOp::create(builder, loc, ArrayRef<int64_t>{size}, elementType);
    auto generic = linalg::GenericOp::create(
        builder, loc, empty.getType(), ValueRange(), empty,
        ArrayRef{builder.getMultiDimIdentityMap(1)}, ArrayRef{utils::IteratorType::parallel},
        [&](OpBuilder &nested, Location nestedLoc, ValueRange) {
          Value row = linalg::IndexOp::create(nested, nestedLoc, 0);
          Value first = arith::ConstantIndexOp::create(nested, nestedLoc, offset);
          Value number = arith::AddIOp::create(nested, nestedLoc, row, first);
          Value isOne =
              arith::CmpIOp::create(nested, nestedLoc, arith::CmpIPredicate::eq, number, column);
          Value one =
              arith::ConstantOp::create(nested, nestedLoc, nested.getFloatAttr(elementType, 1));
          Value zero =
              arith::ConstantOp::create(nested, nestedLoc, nested.getFloatAttr(elementType, 0));
          Value entry = arith::SelectOp::create(nested, nestedLoc, isOne, one, zero);
          linalg::YieldOp::create(nested, nestedLoc, entry);
        });
    return generic.getResult(0);
  }

  static Value insertColumn(OpBuilder &builder, Location loc, Value entries, Value jacobian,
                            Value column, OpFoldResult batch, OpFoldResult size) {
    OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
    return tensor::InsertSliceOp::create(
        builder, loc, entries, jacobian, ArrayRef<OpFoldResult>{zero, zero, column},
        ArrayRef<OpFoldResult>{batch, size, one}, ArrayRef<OpFoldResult>{one, one, one});
  }
};
} // namespace

void bppsa::populateTimeLoopPatterns(RewritePatternSet &patterns, const TypeConverter &converter) {
  patterns.add<ConvertRecurrence, ConvertChain, ConvertLinearize>(converter, patterns.getContext());
}
