//===- DropStepDims.cpp - drops unit dimensions of steps ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "StepAnchors.h"
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h"
#include "bppsa/Dialect/BPPSA/Utils/UnitDims.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace bppsa {
#define GEN_PASS_DEF_DROPSTEPDIMS
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static bool hasLeadingUnitDim(linalg::GenericOp generic) {
  auto type = dyn_cast<RankedTensorType>(generic.getResult(0).getType());
  return type && type.getRank() >= 3 && type.getDimSize(0) == 1;
}

namespace {
struct DropStepDims : bppsa::impl::DropStepDimsBase<DropStepDims> {
  using DropStepDimsBase::DropStepDimsBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isDeclaration() || !function.getBody().hasOneBlock())
      return;
    while (dropAll(function.front()))
      foldReshapes(function);
  }

private:
  bool dropAll(Block &block) {
    IRRewriter rewriter(&getContext());
    bool dropped = false;
    for (ArrayRef<Operation *> ops : groupEqualOps(block, hasLeadingUnitDim)) {
      if (ops.size() < minSteps)
        continue;
      for (Operation *op : ops)
        dropped |= dropUnitDim(rewriter, cast<linalg::GenericOp>(op), 0);
    }
    return dropped;
  }
};
} // namespace
