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

static Value toReal(OpBuilder &builder, Location loc, Value size) {
  Value whole = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), size);
  return arith::SIToFPOp::create(builder, loc, builder.getF64Type(), whole);
}

static Value scale(OpBuilder &builder, Location loc, Value real, double factor) {
  return arith::MulFOp::create(
      builder, loc, real, arith::ConstantOp::create(builder, loc, builder.getF64FloatAttr(factor)));
}

static Value roundDown(OpBuilder &builder, Location loc, Value real) {
  Value whole = arith::FPToSIOp::create(builder, loc, builder.getI64Type(), real);
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), whole);
}

static Value clampChunk(OpBuilder &builder, Location loc, Value chosen) {
  chosen =
      arith::MaxUIOp::create(builder, loc, chosen, getIndex(builder, loc, cost::shortestChunk));
  return arith::MinUIOp::create(builder, loc, chosen, getIndex(builder, loc, cost::longestChunk));
}

Value bppsa::emitChunkSteps(OpBuilder &builder, Location loc, Value numSteps) {
  Value half = scale(builder, loc, toReal(builder, loc, numSteps), 0.5);
  Value root = math::SqrtOp::create(builder, loc, half);
  return clampChunk(builder, loc, roundDown(builder, loc, root));
}

Value bppsa::emitChunkSteps(OpBuilder &builder, Location loc, cost::ChunkRule rule, Value numSteps,
                            Value numSamples) {
  Value steps = toReal(builder, loc, numSteps), samples = toReal(builder, loc, numSamples);
  Value few = math::SqrtOp::create(builder, loc, scale(builder, loc, steps, rule.ofSteps));
  Value positions = arith::MulFOp::create(builder, loc, steps, samples);
  Value many = scale(builder, loc, positions, rule.ofWork);
  Value longer = arith::MaxUIOp::create(builder, loc, roundDown(builder, loc, few),
                                        roundDown(builder, loc, many));
  return clampChunk(builder, loc, longer);
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
