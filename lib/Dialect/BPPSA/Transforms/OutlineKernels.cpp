//===- OutlineKernels.cpp - one function for each kernel ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The functions of one program share most of their loops: the forward pass
// alone stands in six of them. This pass moves every bufferized loop into a
// function of its own. Equal ones are then merged by upstream's
// duplicate-function-elimination, and code generation sees each kernel once.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/Dialect/BPPSA/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace bppsa {
#define GEN_PASS_DEF_OUTLINEKERNELS
#include "bppsa/Dialect/BPPSA/Transforms/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// Whether `op` is a bufferized loop, leaf or change of layout.
static bool isKernel(Operation *op) {
  return isa<RecurrenceOp, ChainOp, ScanOp, OuterSumOp, StepSumOp, PackLanesOp, UnpackLanesOp>(
             op) &&
         op->getNumResults() == 0;
}

/// Replaces `op` by a call of a new private function that holds it.
static void outline(Operation *op, ModuleOp module, unsigned number) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  std::string name = (op->getName().stripDialect() + "_kernel_" + Twine(number)).str();
  func::CallOp::create(builder, loc, name, TypeRange(), op->getOperands());

  builder.setInsertionPointToEnd(module.getBody());
  auto type = builder.getFunctionType(op->getOperandTypes(), TypeRange());
  auto kernel = func::FuncOp::create(builder, loc, name, type);
  kernel.setPrivate();
  builder.setInsertionPointToStart(kernel.addEntryBlock());
  func::ReturnOp::create(builder, loc);
  op->setOperands(kernel.getArguments());
  op->moveBefore(kernel.getBody().front().getTerminator());
}

namespace {
struct OutlineKernelsPass : bppsa::impl::OutlineKernelsBase<OutlineKernelsPass> {
  void runOnOperation() override {
    SmallVector<Operation *> kernels;
    getOperation().walk([&](Operation *op) {
      if (isKernel(op))
        kernels.push_back(op);
    });
    for (auto [number, op] : llvm::enumerate(kernels))
      outline(op, getOperation(), number);
  }
};
} // namespace
