//===- SumOfProducts.cpp - convolutions, products and cotangents ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SumOfProducts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace bppsa;

bool bppsa::isSumOfProducts(linalg::GenericOp op) {
  if (!op.hasPureBufferSemantics() || op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1)
    return false;
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    if (!type || !type.getElementType().isF32())
      return false;
  }
  // Windows are read at sums of loops, so this is more than linalg.contract.
  return llvm::hasNItems(op.getBody()->without_terminator(), 2) &&
         linalg::detail::isContractionBody(*op.getBody(), [](Operation *term, Operation *sum) {
           return isa<arith::MulFOp>(term) && isa<arith::AddFOp>(sum);
         });
}
