//===- SumOfProducts.cpp - detect sums of products ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SumOfProducts.h"
#include "bppsa/Dialect/BPPSA/IR/ProductMapping.h"

using namespace mlir;
using namespace bppsa;

bool bppsa::isSumOfProducts(linalg::GenericOp op) {
  auto isInMemory = [](Value value) {
    auto type = dyn_cast<MemRefType>(value.getType());
    return type && type.getElementType().isF32();
  };
  // Windows are indexed by sums of loops, which linalg.contract does not support.
  return addsProducts(op) && llvm::all_of(op->getOperands(), isInMemory) &&
         llvm::hasNItems(op.getBody()->without_terminator(), 2);
}
