//===- DistVJP.cpp - differentiation rules of exchanges -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ElementwiseVJP.h"
#include "bppsa/Dialect/Dist/IR/Dist.h"

using namespace mlir;
using namespace bppsa;
using namespace bppsa::dist;

namespace {
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
} // namespace

void bppsa::registerDistVJP(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, DistDialect *) {
    RankMeanOp::attachInterface<RankMeanVJP>(*context);
    ShardEnterOp::attachInterface<ShardEnterVJP>(*context);
    ShardLeaveOp::attachInterface<ShardLeaveVJP>(*context);
  });
}
