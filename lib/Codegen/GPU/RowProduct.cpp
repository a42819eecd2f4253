//===- RowProduct.cpp - a matrix row times a vector -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "RowProduct.h"
#include "bppsa/Dialect/BPPSA/Analysis/BodyPlan.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace bppsa;

/// The assembler hoists few loads above multiplications, so a thread prefetches vector elements
/// before the first one. The constants are registers in total, per argument (element, address,
/// stride), and elements.
static constexpr int64_t kMaxRegisters = 216, kRegistersOfArgument = 6, kMaxReadAhead = 96;

int64_t bppsa::countReadAhead(int64_t registers, int64_t numArguments) {
  return std::min(kMaxRegisters - registers - kRegistersOfArgument * numArguments, kMaxReadAhead);
}

Value bppsa::loadMatrixEntry(OpBuilder &builder, Location loc, MatVecOp product, Value array,
                             Value row, Value column) {
  if (product.getTransposed())
    std::swap(row, column);
  return memref::LoadOp::create(builder, loc, array, ValueRange{row, column});
}

RowProduct::RowProduct(MatVecOp product, Value array, int64_t parts)
    : product(product), loc(product.getLoc()), array(array),
      numRows(getNumRows(product.getResult())), numColumns(getNumRows(product.getVector())),
      layout(numColumns, parts) {}

SmallVector<Value> RowProduct::loadEntries(OpBuilder &builder, Value row, Value part) const {
  Value own = minIndex(builder, loc, row, getIndex(builder, loc, numRows - 1));
  SmallVector<Value> entries;
  for (int64_t i = 0, e = getNumColumns(); i < e; ++i) {
    Value column = layout.getElement(builder, loc, part, i).index;
    entries.push_back(loadMatrixEntry(builder, loc, product, array, own, column));
  }
  return entries;
}

Value RowProduct::loadFactor(OpBuilder &builder, const Place &vector, Value part, int64_t i) const {
  BlockCyclicLayout::Element column = layout.getElement(builder, loc, part, i);
  Value factor = vector.load(builder, loc, column.index);
  if (!column.exists)
    return factor;
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(factor.getType()));
  return arith::SelectOp::create(builder, loc, column.exists, factor, zero);
}

void RowProduct::accumulate(OpBuilder &builder, ArrayRef<Value> entries,
                            function_ref<Value(int64_t)> getFactor,
                            MutableArrayRef<Value> partials) const {
  for (auto [i, entry] : llvm::enumerate(entries)) {
    Value factor = getFactor(i);
    Value &partial = partials[i % kNumPartials];
    partial = math::FmaOp::create(builder, loc, entry, factor, partial);
  }
}

Value RowProduct::accumulateFromMemory(OpBuilder &builder, const Place &vector, Value row,
                                       Value sum) const {
  Value columns = getIndex(builder, loc, numColumns);
  Value own = minIndex(builder, loc, row, getIndex(builder, loc, numRows - 1));
  auto addColumn = [&](OpBuilder &nested, Value column, ValueRange running) {
    Value entry = loadMatrixEntry(nested, loc, product, array, own, column);
    Value factor = vector.load(nested, loc, column);
    return SmallVector<Value>{math::FmaOp::create(nested, loc, entry, factor, running[0])};
  };
  return emitFold(builder, loc, getIndex(builder, loc, 0), columns, sum, addColumn).front();
}
