//===- LowerFactoredTransition.cpp - transitions from factors -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../BPPSAToVector.h"
#include "AffineMaps.h"

using namespace mlir;
using namespace bppsa;

namespace {
class FactoredEntries {
public:
  FactoredEntries(FactoredTransitionOp op, Value block, const AffineMapRows &map)
      : op(op), loc(op.getLoc()), block(block), map(map) {}

  void emit(OpBuilder &builder);

private:
  /// Returns the terms of state block (`row`, `col`), with a matrix or diagonal.
  SmallVector<TermAttr> getTerms(int64_t row, int64_t col, bool withMatrix);
  /// Returns null if the scale is one.
  Value loadScale(OpBuilder &builder, int64_t number, Value index);
  Value emitSum(OpBuilder &builder, ArrayRef<TermAttr> terms, ArrayRef<Value> rights, Value row,
                Value col);
  void emitBlock(OpBuilder &builder, int64_t row, int64_t col);
  void emitDiagonals(OpBuilder &builder, int64_t row, int64_t col);
  void emitOffset(OpBuilder &builder);
  /// The column begins at the first row of state `row`.
  Rows getColumn(OpBuilder &builder, int64_t state, Value col, int64_t row) {
    Value column = addIndex(builder, loc, col, op.getStateOffset(state));
    return map.getColumn(column).dropFront(op.getStateOffset(row));
  }
  Value getZero(OpBuilder &builder) {
    VectorType type = map.getColumn(block).getRowType();
    return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  }
  void emitForState(OpBuilder &builder, int64_t state,
                    function_ref<void(OpBuilder &, Value)> body) {
    emitFor(builder, loc, getIndex(builder, loc, 0), getIndex(builder, loc, op.getStates()[state]),
            1, body);
  }

  FactoredTransitionOp op;
  Location loc;
  Value block;
  AffineMapRows map;
};
} // namespace

/// Null means one.
static Value multiply(OpBuilder &builder, Location loc, Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return arith::MulFOp::create(builder, loc, lhs, rhs);
}

SmallVector<TermAttr> FactoredEntries::getTerms(int64_t row, int64_t col, bool withMatrix) {
  return llvm::filter_to_vector(op.getTerms().getAsRange<TermAttr>(), [&](TermAttr term) {
    return term.getRow() == row && term.getCol() == col && (term.getMatrix() >= 0) == withMatrix;
  });
}

Value FactoredEntries::loadScale(OpBuilder &builder, int64_t number, Value index) {
  if (number < 0)
    return {};
  return Rows(op.getScales()[number], {block}).load(builder, loc, index);
}

Value FactoredEntries::emitSum(OpBuilder &builder, ArrayRef<TermAttr> terms, ArrayRef<Value> rights,
                               Value row, Value col) {
  VectorType type = map.getColumn(block).getRowType();
  Value sum;
  for (auto [term, right] : llvm::zip_equal(terms, rights)) {
    Value indices[] = {row, col};
    if (term.getTransposed())
      std::swap(indices[0], indices[1]);
    Value entry = memref::LoadOp::create(builder, loc, op.getMatrices()[term.getMatrix()], indices);
    Value lanes = vector::BroadcastOp::create(builder, loc, type, entry);
    Value scaled = multiply(builder, loc, lanes, right);
    Value left = loadScale(builder, term.getLeft(), row);
    if (sum && left)
      sum = vector::FMAOp::create(builder, loc, scaled, left, sum);
    else if (sum)
      sum = arith::AddFOp::create(builder, loc, sum, scaled);
    else
      sum = multiply(builder, loc, scaled, left);
  }
  return sum ? sum : getZero(builder);
}

void FactoredEntries::emitBlock(OpBuilder &builder, int64_t row, int64_t col) {
  SmallVector<TermAttr> terms = getTerms(row, col, /*withMatrix=*/true);
  emitForState(builder, col, [&](OpBuilder &inColumn, Value column) {
    SmallVector<Value> rights = llvm::map_to_vector(
        terms, [&](TermAttr term) { return loadScale(inColumn, term.getRight(), column); });
    Rows entries = getColumn(inColumn, col, column, row);
    emitForState(inColumn, row, [&](OpBuilder &nested, Value index) {
      entries.store(nested, loc, emitSum(nested, terms, rights, index, column), index);
    });
  });
  emitDiagonals(builder, row, col);
}

void FactoredEntries::emitDiagonals(OpBuilder &builder, int64_t row, int64_t col) {
  SmallVector<TermAttr> terms = getTerms(row, col, /*withMatrix=*/false);
  if (terms.empty())
    return;
  emitForState(builder, col, [&](OpBuilder &nested, Value index) {
    Rows entries = getColumn(nested, col, index, row);
    Value sum = entries.load(nested, loc, index);
    for (TermAttr term : terms) {
      Value scale = multiply(nested, loc, loadScale(nested, term.getLeft(), index),
                             loadScale(nested, term.getRight(), index));
      if (!scale)
        scale = arith::ConstantOp::create(nested, loc,
                                          nested.getOneAttr(cast<VectorType>(sum.getType())));
      sum = arith::AddFOp::create(nested, loc, sum, scale);
    }
    entries.store(nested, loc, sum, index);
  });
}

void FactoredEntries::emitOffset(OpBuilder &builder) {
  Rows offset = map.getOffset(builder, loc);
  emitZeroRows(builder, loc, offset, map.size);
  for (auto [injected, state] : llvm::zip_equal(op.getInjected(), op.getInjectInto()))
    emitForState(
        builder, state, [&, injected = injected, state = state](OpBuilder &inColumn, Value column) {
          Value factor = Rows(injected, {block}).load(inColumn, loc, column);
          Rows entries = getColumn(inColumn, state, column, /*row=*/0);
          emitFor(inColumn, loc, getIndex(inColumn, loc, 0), getIndex(inColumn, loc, map.size), 1,
                  [&](OpBuilder &nested, Value row) {
                    Value sum = vector::FMAOp::create(nested, loc, entries.load(nested, loc, row),
                                                      factor, offset.load(nested, loc, row));
                    offset.store(nested, loc, sum, row);
                  });
        });
}

void FactoredEntries::emit(OpBuilder &builder) {
  int64_t numStates = op.getStates().size();
  for (int64_t col = 0; col < numStates; ++col)
    for (int64_t row = 0; row < numStates; ++row)
      emitBlock(builder, row, col);
  if (map.hasOffset)
    emitOffset(builder);
}

void bppsa::lowerFactoredTransition(FactoredTransitionOp op) {
  Location loc = op.getLoc();
  OpBuilder builder(op);
  int64_t size = op.getNumValues();
  AffineMapLayout layout = {size, /*hasOffset=*/!op.getInjected().empty(), /*isDiagonal=*/false};
  emitParallel(builder, loc, getDim(builder, loc, op.getDestination(), 0),
               [&](OpBuilder &nested, Value block) {
                 AffineMapRows map(layout, op.getDestination(), {block});
                 FactoredEntries(op, block, map).emit(nested);
               });
}
