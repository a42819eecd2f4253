//===- RowBlocks.cpp - parallel blocks of rows ----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "RowBlocks.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace bppsa;

/// Default rows of a block, and rows if samples fill lanes.
static constexpr int64_t kRowsOfBlock = 8, kLanes = 16;

static int64_t countElements(ValueRange captures) {
  int64_t elements = 0;
  for (Value capture : captures)
    elements += cast<ShapedType>(capture.getType()).getNumElements();
  return elements;
}

int64_t bppsa::getRowsOfBlock(Block &body, ValueRange captures) {
  int64_t inLanes = 0;
  for (auto nested : body.getOps<RecurrenceOp>())
    if (!nested.isGraphForm() && !nested.getInitial().empty() &&
        cast<ShapedType>(nested.getInitial()[0].getType()).getDimSize(0) == 1)
      inLanes += countElements(nested.getCaptures());
  for (auto nested : body.getOps<ChainOp>())
    if (!nested.isGraphForm() && !nested.getSeeds().empty() &&
        cast<ShapedType>(nested.getSeeds()[0].getType()).getDimSize(0) == 1)
      inLanes += countElements(nested.getCaptures());
  return 2 * inLanes > countElements(captures) ? kLanes : kRowsOfBlock;
}

namespace {
struct Window {
  SmallVector<OpFoldResult> offsets, sizes, strides;
};
} // namespace

static Window getRowWindow(OpBuilder &builder, Location loc, Value array, int64_t rowAxis,
                           const RowBlock &block) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, array);
  SmallVector<OpFoldResult> offsets(sizes.size(), builder.getIndexAttr(0)),
      strides(sizes.size(), builder.getIndexAttr(1));
  offsets[rowAxis] = block.firstRow;
  sizes[rowAxis] = block.rows;
  return {offsets, sizes, strides};
}

static Window getSumWindow(OpBuilder &builder, RankedTensorType sum, OpFoldResult number) {
  SmallVector<OpFoldResult> sizes = {builder.getIndexAttr(1)};
  llvm::append_range(sizes, getAsIndexOpFoldResult(builder.getContext(), sum.getShape()));
  SmallVector<OpFoldResult> offsets(sizes.size(), builder.getIndexAttr(0)),
      strides(sizes.size(), builder.getIndexAttr(1));
  offsets[0] = number;
  return {offsets, sizes, strides};
}

Value bppsa::createZeros(OpBuilder &builder, Location loc, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  Value empty = tensor::EmptyOp::create(builder, loc, tensor.getShape(), tensor.getElementType());
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(tensor.getElementType()));
  return linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
}

/// Sums over the first dimension, in order.
static Value addBlocks(OpBuilder &builder, Location loc, Value sums) {
  auto type = cast<RankedTensorType>(sums.getType());
  Value zeros = createZeros(builder, loc, type.clone(type.getShape().drop_front()));
  AffineMap all = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::parallel);
  iterators.front() = utils::IteratorType::reduction;
  auto add = [](OpBuilder &nested, Location loc, ValueRange in) {
    Value sum = arith::AddFOp::create(nested, loc, in[0], in[1]);
    linalg::YieldOp::create(nested, loc, sum);
  };
  return linalg::GenericOp::create(builder, loc, zeros.getType(), sums, zeros,
                                   ArrayRef{all, all.dropResult(0)}, iterators, add)
      .getResult(0);
}

static RowBlock getBlock(OpBuilder &builder, Location loc, Value number, OpFoldResult rows,
                         int64_t rowsOfBlock) {
  AffineExpr d0 = builder.getAffineDimExpr(0), s0 = builder.getAffineSymbolExpr(0);
  RowBlock block;
  block.firstRow = affine::makeComposedFoldedAffineApply(
      builder, loc, AffineMap::get(1, 0, d0 * rowsOfBlock), {number});
  AffineMap least = AffineMap::get(1, 1, {s0 - d0, builder.getAffineConstantExpr(rowsOfBlock)},
                                   builder.getContext());
  block.rows = affine::makeComposedFoldedAffineMin(builder, loc, least, {block.firstRow, rows});
  return block;
}

SmallVector<Value>
bppsa::createRowBlocks(OpBuilder &builder, Location loc, OpFoldResult rows, int64_t rowsOfBlock,
                       ArrayRef<WrittenByRows> arrays, TypeRange sumTypes,
                       function_ref<SmallVector<Value>(const RowBlock &)> emitBlock) {
  AffineMap count = AffineMap::get(1, 0, builder.getAffineDimExpr(0).ceilDiv(rowsOfBlock));
  OpFoldResult numBlocks = affine::makeComposedFoldedAffineApply(builder, loc, count, {rows});
  SmallVector<Value> shared;
  for (const WrittenByRows &written : arrays)
    shared.push_back(written.array);
  for (Type sum : sumTypes) {
    auto type = cast<RankedTensorType>(sum);
    SmallVector<OpFoldResult> sizes = getSumWindow(builder, type, numBlocks).sizes;
    sizes[0] = numBlocks;
    shared.push_back(tensor::EmptyOp::create(builder, loc, sizes, type.getElementType()));
  }
  auto loop = scf::ForallOp::create(builder, loc, ArrayRef<OpFoldResult>{numBlocks}, shared,
                                    /*mapping=*/std::nullopt);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(loop.getTerminator());
    Value number = loop.getInductionVars().front();
    RowBlock block = getBlock(builder, loc, number, rows, rowsOfBlock);
    block.loop = cast<LoopLikeOpInterface>(loop.getOperation());
    SmallVector<Window> windows;
    auto [written, sums] = std::pair(loop.getRegionIterArgs().take_front(arrays.size()),
                                     loop.getRegionIterArgs().drop_front(arrays.size()));
    for (auto [array, source] : llvm::zip_equal(written, arrays)) {
      windows.push_back(getRowWindow(builder, loc, array, source.rowAxis, block));
      const auto &[offsets, sizes, strides] = windows.back();
      block.arrays.push_back(
          tensor::ExtractSliceOp::create(builder, loc, array, offsets, sizes, strides));
    }
    for (auto [array, sumType] : llvm::zip_equal(sums, sumTypes)) {
      auto type = cast<RankedTensorType>(sumType);
      windows.push_back(getSumWindow(builder, type, number));
      const auto &[offsets, sizes, strides] = windows.back();
      Value sum =
          tensor::ExtractSliceOp::create(builder, loc, type, array, offsets, sizes, strides);
      Value zero =
          arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type.getElementType()));
      block.arrays.push_back(linalg::FillOp::create(builder, loc, zero, sum).getResult(0));
    }
    SmallVector<Value> results = emitBlock(block);
    builder.setInsertionPointToEnd(loop.getTerminator().getBody());
    for (auto [result, array, window] : llvm::zip_equal(results, loop.getRegionIterArgs(), windows))
      tensor::ParallelInsertSliceOp::create(builder, loc, result, array, window.offsets,
                                            window.sizes, window.strides);
  }
  SmallVector<Value> results(loop.getResults());
  for (Value &sums : MutableArrayRef(results).drop_front(arrays.size()))
    sums = addBlocks(builder, loc, sums);
  return results;
}
