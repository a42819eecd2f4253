//===- LowerLargeSums.cpp - large outer sums as matrix products -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Running sums in all lanes are larger than the result by the number of lanes. Once they exceed the
// second-level cache, a matrix product over blocks, steps and lanes is faster.
//
//===----------------------------------------------------------------------===//

#include "LargeSums.h"
#include "bppsa/Codegen/CPU/Kernels/Passes.h"
#include "bppsa/Dialect/BPPSA/Analysis/RunningSums.h"
#include "bppsa/Dialect/BPPSA/IR/ProductMapping.h"
#include "bppsa/Support/IndexArithmetic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace bppsa {
#define GEN_PASS_DEF_LOWERLARGESUMS
#include "bppsa/Codegen/CPU/Kernels/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

namespace {
/// Batch blocks [first, first + count) of packed sequences, and the number of their lanes with
/// samples.
struct BatchBlocks {
  OpFoldResult first, count, lanes;
};
} // namespace

static Value emitView(OpBuilder &builder, Location loc, Value sequence, const BatchBlocks &blocks) {
  auto type = cast<MemRefType>(sequence.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0)),
      strides(type.getRank(), builder.getIndexAttr(1)),
      sizes = memref::getMixedSizes(builder, loc, sequence);
  offsets.front() = blocks.first;
  sizes.front() = blocks.count;
  sizes.back() = blocks.lanes;
  return memref::SubViewOp::create(builder, loc, sequence, offsets, sizes, strides);
}

static void emitProducts(OpBuilder &builder, Location loc, Value lhs, Value rhs, Value result) {
  enum Loop : unsigned { Row, Col, Block, Step, Lane, NumLoops };
  auto getMap = [&](ArrayRef<unsigned> loops) {
    return AffineMap::getMultiDimMapWithTargets(NumLoops, loops, builder.getContext());
  };
  AffineMap maps[] = {getMap({Block, Step, Row, Lane}), getMap({Block, Step, Col, Lane}),
                      getMap({Row, Col})};
  constexpr auto parallel = utils::IteratorType::parallel;
  constexpr auto reduction = utils::IteratorType::reduction;
  auto product = linalg::GenericOp::create(
      builder, loc, TypeRange(), ValueRange{lhs, rhs}, result, maps,
      {parallel, parallel, reduction, reduction, reduction},
      [](OpBuilder &nested, Location at, ValueRange values) {
        Value term = arith::MulFOp::create(nested, at, values[0], values[1]);
        linalg::YieldOp::create(nested, at,
                                arith::AddFOp::create(nested, at, values[2], term).getResult());
      });
  // Columns are contiguous in the result.
  setProductForm(product, ProductForm::PackedRhs);
}

void bppsa::emitZeros(OpBuilder &builder, Location loc, Value array) {
  auto zero = builder.getZeroAttr(getElementTypeOrSelf(array.getType()));
  linalg::FillOp::create(builder, loc, arith::ConstantOp::create(builder, loc, zero).getResult(),
                         array);
}

void bppsa::addProducts(OpBuilder &builder, OuterSumOp sum, Value lhs, Value rhs) {
  Location loc = sum.getLoc();
  Value result = sum.getDestination();
  auto add = [&](const BatchBlocks &blocks) {
    emitProducts(builder, loc, emitView(builder, loc, lhs, blocks),
                 emitView(builder, loc, rhs, blocks), result);
  };
  if (!sum.getBatch())
    return emitProducts(builder, loc, lhs, rhs, result);
  Value lanes = getIndex(builder, loc, *sum.getLanes());
  Value whole = arith::DivUIOp::create(builder, loc, sum.getBatch(), lanes);
  Value rest = arith::RemUIOp::create(builder, loc, sum.getBatch(), lanes);
  Value last = addIndex(builder, loc, getDim(builder, loc, lhs, 0), -1);
  add({builder.getIndexAttr(0), whole, builder.getIndexAttr(*sum.getLanes())});
  // If the batch is a multiple of the lanes, this product is empty.
  add({last, builder.getIndexAttr(1), rest});
}

bool bppsa::isLargeSum(OuterSumOp sum, int64_t minBytes) {
  return sum->getNumResults() == 0 && sum.getLanes().value_or(1) > 1 && !isInTimeBlocks(sum) &&
         getRunningSumBytes(sum) >= minBytes;
}

namespace {
struct LowerLargeSums : public bppsa::impl::LowerLargeSumsBase<LowerLargeSums> {
  using LowerLargeSumsBase::LowerLargeSumsBase;

  void runOnOperation() override {
    SmallVector<OuterSumOp> sums;
    getOperation().walk([&](OuterSumOp sum) {
      if (isLargeSum(sum, minBytes))
        sums.push_back(sum);
    });
    for (OuterSumOp sum : sums) {
      OpBuilder builder(sum);
      emitZeros(builder, sum.getLoc(), sum.getDestination());
      addProducts(builder, sum, sum.getLhs(), sum.getRhs());
      sum.erase();
    }
  }
};
} // namespace
