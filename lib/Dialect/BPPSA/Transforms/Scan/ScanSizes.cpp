//===- ScanSizes.cpp - sizes of scans at run time -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Transforms/Scan/ScanSizes.h"
#include "bppsa/CostModel/Machines/DeviceShapes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace bppsa;

namespace {
/// Emits the arithmetic of rules that are evaluated at run time.
struct RuntimeArithmetic {
  using Size = Value;

  OpBuilder &builder;
  Location loc;

  Value toReal(Value size) {
    Value whole = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), size);
    return arith::SIToFPOp::create(builder, loc, builder.getF64Type(), whole);
  }
  Value sqrt(Value real) { return math::SqrtOp::create(builder, loc, real); }
  Value scale(Value real, double factor) {
    Value constant = arith::ConstantOp::create(builder, loc, builder.getF64FloatAttr(factor));
    return multiply(real, constant);
  }
  Value multiply(Value lhs, Value rhs) { return arith::MulFOp::create(builder, loc, lhs, rhs); }
  Value roundDown(Value real) {
    Value whole = arith::FPToSIOp::create(builder, loc, builder.getI64Type(), real);
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), whole);
  }
  Value larger(Value lhs, Value rhs) { return arith::MaxUIOp::create(builder, loc, lhs, rhs); }
  Value clamp(Value size, int64_t least, int64_t most) {
    size = larger(size, arith::ConstantIndexOp::create(builder, loc, least));
    return arith::MinUIOp::create(builder, loc, size,
                                  arith::ConstantIndexOp::create(builder, loc, most));
  }
};
} // namespace

Value bppsa::emitChunkSteps(OpBuilder &builder, Location loc, cost::ChunkRule rule, Value numSteps,
                            Value numSamples) {
  return rule.applyIn(RuntimeArithmetic{builder, loc}, numSteps, numSamples);
}

Value bppsa::emitChunksPerRun(OpBuilder &builder, Location loc, Value numChunks, Value numSamples,
                              int64_t numElements) {
  Value most = arith::ConstantIndexOp::create(builder, loc, cost::countMaxPartialSums(numElements));
  Value parts = builder.createOrFold<arith::MulIOp>(loc, numChunks, numSamples);
  Value chunks = builder.createOrFold<arith::CeilDivUIOp>(loc, parts, most);
  return builder.createOrFold<arith::MaxUIOp>(loc, chunks,
                                              arith::ConstantIndexOp::create(builder, loc, 1));
}

Value bppsa::emitNumLevels(OpBuilder &builder, Location loc, Value numSteps, int64_t maxLevels) {
  Value count = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), numSteps);
  Value zeros = math::CountLeadingZerosOp::create(builder, loc, count);
  Value top = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(63));
  Value log = arith::SubIOp::create(builder, loc, top, zeros);
  Value whole = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), log);
  if (maxLevels < 0)
    return whole;
  return arith::MinUIOp::create(builder, loc, whole,
                                arith::ConstantIndexOp::create(builder, loc, maxLevels));
}
