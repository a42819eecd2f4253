//===- BufferizableOpInterfaceImpl.cpp - bufferization models -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/Dist/Transforms/BufferizableOpInterfaceImpl.h"
#include "bppsa/Dialect/BPPSA/Transforms/Buffers/AllocatingModel.h"
#include "bppsa/Dialect/Dist/IR/Dist.h"

using namespace mlir;
using namespace bppsa;
using namespace bppsa::dist;

void dist::registerBufferizableOpInterfaceExternalModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, DistDialect *) {
    RankMeanOp::attachInterface<AllocatingModel<RankMeanOp>>(*context);
    StageSendOp::attachInterface<AllocatingModel<StageSendOp>>(*context);
    StageReceiveOp::attachInterface<AllocatingModel<StageReceiveOp>>(*context);
    ShardEnterOp::attachInterface<AllocatingModel<ShardEnterOp>>(*context);
    ShardLeaveOp::attachInterface<AllocatingModel<ShardLeaveOp>>(*context);
    ShardScanOp::attachInterface<AllocatingModel<ShardScanOp>>(*context);
  });
}
