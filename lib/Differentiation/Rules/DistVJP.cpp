//===- DistVJP.cpp - VJPs of exchanges between ranks ----------------------===//
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
/// The losses of all ranks depend on the result, so the cotangents of all ranks are combined.
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

/// A value received from the previous rank depends on the parameters of that rank, so its cotangent
/// is sent there.
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

/// The losses of later ranks depend on the state with weight one.
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
