//===- OutlineKernels.cpp - one function for each kernel ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The functions of one program share most of their loops: the forward pass
// alone stands in six of them. This pass moves every bufferized operation that
// becomes a loop nest into a function of its own. Equal ones are then merged by upstream's
// duplicate-function-elimination, and code generation sees each kernel once. What is left of a
// function allocates and calls, which is the same for every instruction set.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/Dialect/BPPSA/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"

namespace bppsa {
#define GEN_PASS_DEF_OUTLINEKERNELS
#include "bppsa/Dialect/BPPSA/Transforms/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// Whether `op` is a bufferized loop, leaf, change of layout or graph operation.
static bool isBufferized(Operation &op) {
  return op.getNumResults() == 0 &&
         isa<RecurrenceOp, ChainOp, ScanOp, OuterSumOp, StepSumOp, PackLanesOp, UnpackLanesOp,
             SparseApplyOp, SparseComposeOp, SparseOuterSumOp, linalg::LinalgOp, memref::CopyOp>(
             op);
}

/// Whether `op` is a loop that writes its results to memory, such as a scatter.
static bool isLoop(Operation &op) {
  return op.getNumResults() == 0 && isa<LoopLikeOpInterface>(op);
}

/// Values that `op` and its regions use: constants and others.
static void collectInputs(Operation *op, SetVector<Value> &constants, SetVector<Value> &others) {
  SetVector<Value> used(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), used);
  for (Value value : used)
    (matchPattern(value, m_Constant()) ? constants : others).insert(value);
}

/// A private function at the end of `module` that is never inlined: inlining would
/// undo what this pass is for.
static func::FuncOp createKernel(OpBuilder &builder, ModuleOp module, Location loc,
                                 const Twine &name, FunctionType type) {
  builder.setInsertionPointToEnd(module.getBody());
  auto kernel = func::FuncOp::create(builder, loc, name.str(), type);
  kernel.setPrivate();
  kernel->setAttr("passthrough", builder.getStrArrayAttr({"noinline"}));
  return kernel;
}

/// Replaces `op` by a call of a new kernel that holds it.
static void outline(Operation *op, ModuleOp module, unsigned number) {
  SetVector<Value> constants, others;
  collectInputs(op, constants, others);
  OpBuilder builder(op);
  Location loc = op->getLoc();
  std::string name = (op->getName().stripDialect() + "_kernel_" + Twine(number)).str();
  func::CallOp::create(builder, loc, name, TypeRange(), others.getArrayRef());

  auto type = builder.getFunctionType(TypeRange(ValueRange(others.getArrayRef())), TypeRange());
  func::FuncOp kernel = createKernel(builder, module, loc, name, type);
  builder.setInsertionPointToStart(kernel.addEntryBlock());
  IRMapping mapping;
  mapping.map(others.getArrayRef(), kernel.getArguments());
  for (Value constant : constants)
    builder.clone(*constant.getDefiningOp(), mapping);
  builder.clone(*op, mapping);
  func::ReturnOp::create(builder, loc);
  op->erase();
}

/// Whether `function` is loops of its own rather than a program of kernels.
static bool isLoops(func::FuncOp function) {
  auto ops = function.getOps();
  return function.getNumResults() == 0 && llvm::none_of(ops, isBufferized) &&
         llvm::any_of(ops, [](Operation &op) { return isa<LoopLikeOpInterface>(op); });
}

/// Moves the body of `function` into a new kernel that `function` calls.
static void outlineBody(func::FuncOp function, ModuleOp module) {
  OpBuilder builder(function);
  Location loc = function.getLoc();
  func::FuncOp kernel = createKernel(builder, module, loc, function.getName() + "_kernel",
                                     function.getFunctionType());
  kernel.getBody().takeBody(function.getBody());
  builder.setInsertionPointToStart(function.addEntryBlock());
  func::CallOp::create(builder, loc, kernel, function.getArguments());
  func::ReturnOp::create(builder, loc);
}

namespace {
struct OutlineKernelsPass : bppsa::impl::OutlineKernelsBase<OutlineKernelsPass> {
  void runOnOperation() override {
    SmallVector<Operation *> kernels;
    SmallVector<func::FuncOp> loops;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!function.isPrivate() && isLoops(function)) {
        loops.push_back(function);
        continue;
      }
      for (Operation &op : function.getOps())
        if (isBufferized(op) || isLoop(op))
          kernels.push_back(&op);
    }
    for (auto [number, op] : llvm::enumerate(kernels))
      outline(op, getOperation(), number);
    for (func::FuncOp function : loops)
      outlineBody(function, getOperation());
  }
};
} // namespace
