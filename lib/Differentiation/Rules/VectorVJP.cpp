//===- VectorVJP.cpp - VJPs of vector ops ---------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ElementwiseVJP.h"
#include "bppsa/Support/Refusal.h"

using namespace mlir;
using namespace mlir::vector;
using namespace bppsa;

namespace {
struct BroadcastVJP : VJPOpInterface::ExternalModel<BroadcastVJP, BroadcastOp> {
  LogicalResult buildVJP(Operation *op, OpBuilder &builder, ValueRange resultCotangents,
                         ArrayRef<bool> needed, MutableArrayRef<Value> operandCotangents) const {
    auto broadcast = cast<BroadcastOp>(op);
    if (isa<VectorType>(broadcast.getSourceType()) ||
        broadcast.getResultVectorType().getRank() != 1)
      return refuseOp(op, "has a differentiation rule from a scalar to a vector of rank 1 only, "
                          "found ")
             << broadcast.getSourceType() << " to " << broadcast.getResultVectorType();
    operandCotangents[0] =
        ReductionOp::create(builder, op->getLoc(), CombiningKind::ADD, resultCotangents[0]);
    return success();
  }
};
} // namespace

static Value extractVJP(ExtractStridedSliceOp op, unsigned, Value g, OpBuilder &b) {
  Value zeros = createFloat(b, op.getLoc(), op.getSource().getType(), 0);
  return InsertStridedSliceOp::create(b, op.getLoc(), zeros.getType(), g, zeros, op.getOffsets(),
                                      op.getStrides());
}

static Value insertVJP(InsertStridedSliceOp op, unsigned operand, Value g, OpBuilder &b) {
  VectorType source = op.getSourceVectorType();
  if (operand == 1) {
    Value zeros = createFloat(b, op.getLoc(), source, 0);
    return InsertStridedSliceOp::create(b, op.getLoc(), g.getType(), zeros, g, op.getOffsets(),
                                        op.getStrides());
  }
  return ExtractStridedSliceOp::create(b, op.getLoc(), source, g, op.getOffsets(),
                                       b.getI64ArrayAttr(source.getShape()), op.getStrides());
}

void bppsa::registerVectorVJP(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, VectorDialect *) {
    BroadcastOp::attachInterface<BroadcastVJP>(*context);
    ExtractStridedSliceOp::attachInterface<ElementwiseVJP<ExtractStridedSliceOp, extractVJP>>(
        *context);
    InsertStridedSliceOp::attachInterface<ElementwiseVJP<InsertStridedSliceOp, insertVJP>>(
        *context);
  });
}
