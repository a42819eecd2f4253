//===- BPPSAVJP.cpp - differentiation rules of the body ops ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../Loops/RecurrenceVJP.h"
#include "ElementwiseVJP.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSAExchange.h"
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
/// The matrix is the same for every step and sample: the rule of the time loop
/// collects its cotangent as a sum of outer products.
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

/// The losses of all ranks depend on what it makes.
struct RankMeanVJP : VJPOpInterface::ExternalModel<RankMeanVJP, RankMeanOp> {
  LogicalResult buildVJP(Operation *op, OpBuilder &builder, ValueRange resultCotangents,
                         ArrayRef<bool> needed, MutableArrayRef<Value> operandCotangents) const {
    if (needed[0])
      operandCotangents[0] =
          RankMeanOp::create(builder, op->getLoc(), op->getResultTypes(), resultCotangents.front(),
                             /*destination=*/Value(),
                             /*transposed=*/!cast<RankMeanOp>(op).getTransposed())
              .getResult();
    return success();
  }
};

/// What the rank before has sent depends on its parameters: its cotangent goes there.
struct ShardEnterVJP : VJPOpInterface::ExternalModel<ShardEnterVJP, ShardEnterOp> {
  LogicalResult buildVJP(Operation *op, OpBuilder &builder, ValueRange resultCotangents,
                         ArrayRef<bool> needed, MutableArrayRef<Value> operandCotangents) const {
    auto enter = cast<ShardEnterOp>(op);
    operandCotangents[0] =
        ShardEnterOp::create(builder, op->getLoc(), op->getResultTypes(), resultCotangents.front(),
                             /*destination=*/Value(), enter.getReverse(), /*transposed=*/true,
                             enter.getChannel())
            .getResult();
    return success();
  }
};

/// The losses of the ranks behind depend on the state. They enter the objective with a factor of
/// one, which is therefore the cotangent of the result.
struct ShardLeaveVJP : VJPOpInterface::ExternalModel<ShardLeaveVJP, ShardLeaveOp> {
  LogicalResult buildVJP(Operation *op, OpBuilder &builder, ValueRange resultCotangents,
                         ArrayRef<bool> needed, MutableArrayRef<Value> operandCotangents) const {
    auto leave = cast<ShardLeaveOp>(op);
    operandCotangents[0] =
        ShardLeaveOp::create(builder, op->getLoc(), leave.getOperand().getType(),
                             leave.getOperand(), /*destination=*/Value(), leave.getReverse(),
                             /*transposed=*/true, leave.getChannel())
            .getResult();
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
    ShardEnterOp::attachInterface<ShardEnterVJP>(*context);
    ShardLeaveOp::attachInterface<ShardLeaveVJP>(*context);
    MatVecOp::attachInterface<MatVecVJP>(*context);
    RankMeanOp::attachInterface<RankMeanVJP>(*context);
    RecurrenceOp::attachInterface<RecurrenceVJP>(*context);
    SigmoidOp::attachInterface<ElementwiseVJP<SigmoidOp, sigmoidVJP>>(*context);
  });
}
