//===- BufferizableOpInterfaceImpl.cpp - bufferization models -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/Jacobian/Transforms/BufferizableOpInterfaceImpl.h"
#include "bppsa/Dialect/BPPSA/Transforms/Buffers/AllocatingModel.h"
#include "bppsa/Dialect/Jacobian/IR/Jacobian.h"

using namespace mlir;
using namespace bppsa;
using namespace bppsa::jacobian;

void jacobian::registerBufferizableOpInterfaceExternalModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, JacobianDialect *) {
    SparseApplyOp::attachInterface<AllocatingModel<SparseApplyOp>>(*context);
    SparseComposeOp::attachInterface<AllocatingModel<SparseComposeOp>>(*context);
    SparseOuterSumOp::attachInterface<AllocatingModel<SparseOuterSumOp>>(*context);
  });
}
