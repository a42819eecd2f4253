//===- ScanSizes.cpp - sizes of scans that the run time computes ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ScanSizes.h"
#include "IndexArithmetic.h"
#include "bppsa/Cost/DeviceShapes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace bppsa;

Value bppsa::emitChunkSteps(OpBuilder &builder, Location loc, Value numSteps) {
  Value steps = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), numSteps);
  Value real = arith::SIToFPOp::create(builder, loc, builder.getF64Type(), steps);
  Value half = arith::ConstantOp::create(builder, loc, builder.getF64FloatAttr(0.5));
  Value root = math::SqrtOp::create(builder, loc, arith::MulFOp::create(builder, loc, real, half));
  Value whole = arith::FPToSIOp::create(builder, loc, builder.getI64Type(), root);
  Value chosen = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), whole);
  chosen =
      arith::MaxUIOp::create(builder, loc, chosen, getIndex(builder, loc, cost::shortestChunk));
  return arith::MinUIOp::create(builder, loc, chosen, getIndex(builder, loc, cost::longestChunk));
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
