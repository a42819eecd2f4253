//===- ResidualBlock.cpp - memory block of residuals ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ResidualBlock.h"
#include "bppsa/Support/IndexArithmetic.h"
#include "bppsa/Support/RuntimeCalls.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace bppsa;

/// Bytes of a scalar in the block.
static constexpr int64_t kScalarBytes = 8;

/// See ObjectInterface.h.
static constexpr StringLiteral kReportSize = "bppsa_rt_residuals";

static int64_t getNumberArea(const ResidualCut &cut) {
  return llvm::alignTo(cut.numbers.size() * kScalarBytes, kResidualAlignment);
}

static Value roundUp(OpBuilder &builder, Location loc, MemRefType type, Value bytes) {
  if (getFixedBytes(type) % kResidualAlignment == 0)
    return bytes;
  Value raised = addIndex(builder, loc, bytes, kResidualAlignment - 1);
  return builder.createOrFold<arith::AndIOp>(loc, raised,
                                             getIndex(builder, loc, -kResidualAlignment));
}

FailureOr<Value> bppsa::emitBlockSize(OpBuilder &builder, Location loc, const ResidualCut &cut,
                                      SizeFormulas &formulas) {
  Value sum = getIndex(builder, loc, getNumberArea(cut));
  for (memref::AllocOp array : cut.arrays) {
    Value bytes = formulas.emitBytes(array);
    if (!bytes)
      return array.emitOpError("is kept for the backward part and has a size that nothing bounds");
    sum = builder.createOrFold<arith::AddIOp>(loc, sum,
                                              roundUp(builder, loc, array.getType(), bytes));
  }
  return sum;
}

void bppsa::fillWithZeros(OpBuilder &builder, Value array) {
  Location loc = array.getLoc();
  Type type = cast<MemRefType>(array.getType()).getElementType();
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  linalg::FillOp::create(builder, loc, zero, array);
}

ResidualBlock::ResidualBlock(OpBuilder &builder, Value bytes, const ResidualCut &cut)
    : builder(builder), loc(bytes.getLoc()), bytes(bytes),
      offset(getIndex(builder, loc, getNumberArea(cut))), isBound(!cut.numbers.empty()) {
  Value end = getIndex(builder, loc, cut.numbers.size() * kScalarBytes);
  if (end != offset)
    gaps.push_back({end, offset});
}

Value ResidualBlock::takeArray(memref::AllocOp allocation, ValueRange sizes) {
  MemRefType type = allocation.getType();
  Value view = memref::ViewOp::create(builder, loc, type, bytes, offset, sizes);
  Value used = emitByteCount(builder, loc, type, sizes);
  Value end = builder.createOrFold<arith::AddIOp>(loc, offset, used);
  offset = builder.createOrFold<arith::AddIOp>(loc, offset, roundUp(builder, loc, type, used));
  if (getFixedBytes(type) % kResidualAlignment != 0)
    gaps.push_back({end, offset});
  return view;
}

Value ResidualBlock::getNumber(size_t i, Type type) {
  Value place = getIndex(builder, loc, i * kScalarBytes);
  return memref::ViewOp::create(builder, loc, MemRefType::get({}, type), bytes, place,
                                ValueRange());
}

void ResidualBlock::clearGaps() {
  for (const Gap &gap : gaps) {
    OpFoldResult size = builder.createOrFold<arith::SubIOp>(loc, gap.end, gap.start);
    OpFoldResult step = builder.getIndexAttr(1);
    fillWithZeros(builder, memref::SubViewOp::create(
                               builder, loc, bytes, ArrayRef<OpFoldResult>(gap.start), size, step));
  }
}

void ResidualBlock::reportSize(ModuleOp module) {
  if (!isBound)
    return;
  emitRuntimeCall(builder, loc, module, kReportSize, Value(offset));
}
