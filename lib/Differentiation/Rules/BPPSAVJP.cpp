//===- BPPSAVJP.cpp - VJPs of bppsa ops -----------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../Loops/RecurrenceVJP.h"
#include "ElementwiseVJP.h"
#include "bppsa/Support/Refusal.h"

using namespace mlir;
using namespace bppsa;

static Value sigmoidVJP(SigmoidOp op, unsigned, Value g, OpBuilder &b) {
  Location loc = op.getLoc();
  Value one = createFloat(b, loc, op.getType(), 1);
  Value complement = arith::SubFOp::create(b, loc, one, op.getResult());
  Value slope = arith::MulFOp::create(b, loc, op.getResult(), complement);
  return arith::MulFOp::create(b, loc, g, slope);
}

namespace {
/// The rule of the time loop accumulates the cotangent of the matrix.
struct MatVecVJP : VJPOpInterface::ExternalModel<MatVecVJP, MatVecOp> {
  LogicalResult buildVJP(Operation *op, OpBuilder &builder, ValueRange resultCotangents,
                         ArrayRef<bool> needed, MutableArrayRef<Value> operandCotangents) const {
    auto product = cast<MatVecOp>(op);
    Value g = resultCotangents.front();
    if (needed[0])
      return refuseOp(op, "needs a captured matrix to be differentiated, found a computed one");
    if (needed[1])
      operandCotangents[1] = MatVecOp::create(
          builder, op->getLoc(), product.getVector().getType(), product.getMatrix(), g,
          /*addend=*/Value(), /*transposed=*/!product.getTransposed());
    if (product.getAddend() && needed[2])
      operandCotangents[2] = g;
    return success();
  }
};

struct RecurrenceVJP : VJPOpInterface::ExternalModel<RecurrenceVJP, RecurrenceOp> {
  LogicalResult buildVJP(Operation *op, OpBuilder &builder, ValueRange resultCotangents,
                         ArrayRef<bool> needed, MutableArrayRef<Value> operandCotangents) const {
    return differentiateRecurrence(cast<RecurrenceOp>(op), builder, resultCotangents, needed,
                                   operandCotangents);
  }
};
} // namespace

void bppsa::registerBPPSAVJP(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, BPPSADialect *) {
    MatVecOp::attachInterface<MatVecVJP>(*context);
    RecurrenceOp::attachInterface<RecurrenceVJP>(*context);
    SigmoidOp::attachInterface<ElementwiseVJP<SigmoidOp, sigmoidVJP>>(*context);
  });
}
