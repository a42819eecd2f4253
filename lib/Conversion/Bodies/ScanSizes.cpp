//===- ScanSizes.cpp - sizes of scans that the run time computes ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ScanSizes.h"
#include "IndexArithmetic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace bppsa;

/// Bounds of a chunk length chosen at run time. Long products of Jacobians can
/// overflow or vanish where the chain itself does neither.
static constexpr int64_t kShortestChunk = 8, kLongestChunk = 64;

Value bppsa::emitChunkSteps(OpBuilder &builder, Location loc, Value numSteps) {
  Value steps = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), numSteps);
  Value real = arith::SIToFPOp::create(builder, loc, builder.getF64Type(), steps);
  Value half = arith::ConstantOp::create(builder, loc, builder.getF64FloatAttr(0.5));
  Value root = math::SqrtOp::create(builder, loc, arith::MulFOp::create(builder, loc, real, half));
  Value whole = arith::FPToSIOp::create(builder, loc, builder.getI64Type(), root);
  Value chosen = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), whole);
  chosen = arith::MaxUIOp::create(builder, loc, chosen, getIndex(builder, loc, kShortestChunk));
  return arith::MinUIOp::create(builder, loc, chosen, getIndex(builder, loc, kLongestChunk));
}

Value bppsa::emitNumLevels(OpBuilder &builder, Location loc, Value numSteps, int64_t mostLevels) {
  Value count = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), numSteps);
  Value zeros = math::CountLeadingZerosOp::create(builder, loc, count);
  Value top = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(63));
  Value log = arith::SubIOp::create(builder, loc, top, zeros);
  Value whole = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), log);
  if (mostLevels < 0)
    return whole;
  return arith::MinUIOp::create(builder, loc, whole, getIndex(builder, loc, mostLevels));
}
