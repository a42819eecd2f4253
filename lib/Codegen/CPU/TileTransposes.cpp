//===- TileTransposes.cpp - tile transpositions in memory -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "VectorBodies.h"
#include "bppsa/Codegen/CPU/Passes.h"
#include "bppsa/Support/TransposeVectors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace bppsa {
#define GEN_PASS_DEF_TILETRANSPOSES
#include "bppsa/Codegen/CPU/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

namespace {
/// Emits the loops of one transposition: `result[j, i] = matrix[i, j]`.
class TransposeLoops {
public:
  TransposeLoops(linalg::TransposeOp op, int64_t tileRows)
      : builder(op), loc(op.getLoc()), matrix(op.getInput()), result(op.getInit()),
        tileRows(tileRows) {}

  void emit();

private:
  using Body = llvm::function_ref<void(Value row, Value column)>;

  Value getIndex(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value).getResult();
  }
  Value getWhole(Value count, int64_t step);
  void emitLoops(Value firstRow, Value endRow, int64_t rowStep, Value firstColumn, Value endColumn,
                 int64_t columnStep, Body body);
  void emitTile(Value row, Value column);
  void emitElement(Value row, Value column);

  OpBuilder builder;
  Location loc;
  Value matrix, result;
  int64_t tileRows;
};
} // namespace

Value TransposeLoops::getWhole(Value count, int64_t step) {
  Value rest = arith::RemUIOp::create(builder, loc, count, getIndex(step));
  return arith::SubIOp::create(builder, loc, count, rest);
}

void TransposeLoops::emitLoops(Value firstRow, Value endRow, int64_t rowStep, Value firstColumn,
                               Value endColumn, int64_t columnStep, Body body) {
  Value byRows = getIndex(rowStep), byColumns = getIndex(columnStep);
  auto rows = scf::ForOp::create(builder, loc, firstRow, endRow, byRows);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(rows.getBody());
  auto columns = scf::ForOp::create(builder, loc, firstColumn, endColumn, byColumns);
  builder.setInsertionPointToStart(columns.getBody());
  body(rows.getInductionVar(), columns.getInductionVar());
}

void TransposeLoops::emitTile(Value row, Value column) {
  auto type =
      VectorType::get(kTransposedColumns, cast<MemRefType>(matrix.getType()).getElementType());
  auto add = [&](Value index, int64_t offset) {
    return arith::AddIOp::create(builder, loc, index, getIndex(offset)).getResult();
  };
  SmallVector<Value> rows;
  for (int64_t i = 0; i < tileRows; ++i)
    rows.push_back(
        vector::LoadOp::create(builder, loc, type, matrix, ValueRange{add(row, i), column}));
  for (auto [j, transposed] : llvm::enumerate(transposeRowsOfFour(builder, loc, rows)))
    vector::StoreOp::create(builder, loc, transposed, result, ValueRange{add(column, j), row});
}

void TransposeLoops::emitElement(Value row, Value column) {
  Value element = memref::LoadOp::create(builder, loc, matrix, ValueRange{row, column});
  memref::StoreOp::create(builder, loc, element, result, ValueRange{column, row});
}

void TransposeLoops::emit() {
  Value zero = getIndex(0);
  Value numRows = memref::DimOp::create(builder, loc, matrix, 0);
  Value numColumns = memref::DimOp::create(builder, loc, matrix, 1);
  Value wholeRows = getWhole(numRows, tileRows);
  Value wholeColumns = getWhole(numColumns, kTransposedColumns);
  auto emitElements = [&](Value row, Value column) { emitElement(row, column); };
  emitLoops(zero, wholeRows, tileRows, zero, wholeColumns, kTransposedColumns,
            [&](Value row, Value column) { emitTile(row, column); });
  emitLoops(wholeRows, numRows, 1, zero, numColumns, 1, emitElements);
  emitLoops(zero, wholeRows, 1, wholeColumns, numColumns, 1, emitElements);
}

static bool hasContiguousRows(Value value) {
  auto type = dyn_cast<MemRefType>(value.getType());
  if (!type || type.getRank() != 2 || !type.getElementType().isF32())
    return false;
  int64_t offset;
  SmallVector<int64_t> strides;
  return succeeded(type.getStridesAndOffset(strides, offset)) && strides.back() == 1;
}

static bool holdsTile(Value value, int64_t tileRows) {
  auto holds = [](int64_t extent, int64_t part) {
    return ShapedType::isDynamic(extent) || extent >= part;
  };
  auto type = cast<MemRefType>(value.getType());
  return holds(type.getDimSize(0), tileRows) && holds(type.getDimSize(1), kTransposedColumns);
}

namespace {
struct TileTransposes : public bppsa::impl::TileTransposesBase<TileTransposes> {
  using TileTransposesBase::TileTransposesBase;

  void runOnOperation() override {
    int64_t tileRows = getLanes(registers);
    SmallVector<linalg::TransposeOp> ops;
    getOperation().walk([&](linalg::TransposeOp op) {
      if (hasContiguousRows(op.getInput()) && hasContiguousRows(op.getInit()) &&
          op.getPermutation() == ArrayRef<int64_t>{1, 0} && holdsTile(op.getInput(), tileRows))
        ops.push_back(op);
    });
    for (linalg::TransposeOp op : ops) {
      TransposeLoops(op, tileRows).emit();
      op.erase();
    }
  }
};
} // namespace
