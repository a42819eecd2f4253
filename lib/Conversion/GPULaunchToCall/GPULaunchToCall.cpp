//===- GPULaunchToCall.cpp - launches to calls ----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Conversion/Passes.h"
#include "bppsa/Support/RuntimeCalls.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

namespace bppsa {
#define GEN_PASS_DEF_CONVERTGPULAUNCHTOCALL
#include "bppsa/Conversion/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static bool isFlat(gpu::LaunchFuncOp op) {
  gpu::KernelDim3 grid = op.getGridSizeOperandValues(), block = op.getBlockSizeOperandValues();
  return llvm::all_of(ArrayRef<Value>{grid.y, grid.z, block.y, block.z},
                      [](Value size) { return matchPattern(size, m_One()); });
}

/// Threads wait for other blocks with acquire loads in a loop.
static bool waitsForBlocks(gpu::GPUFuncOp kernel) {
  WalkResult result = kernel.walk([](LLVM::LoadOp load) {
    return load.getOrdering() == LLVM::AtomicOrdering::acquire ? WalkResult::interrupt()
                                                               : WalkResult::advance();
  });
  return result.wasInterrupted();
}

static LogicalResult convert(gpu::LaunchFuncOp op, ModuleOp module) {
  if (!isFlat(op))
    return op.emitOpError("has a grid or block of more than one dimension");
  OpBuilder builder(op);
  auto kernel = module.lookupSymbol<gpu::GPUFuncOp>(op.getKernel());
  StringRef prefix =
      kernel && waitsForBlocks(kernel) ? "bppsa_launch_cooperative_" : "bppsa_launch_";
  std::string name = (prefix + op.getKernelName().getValue()).str();
  SmallVector<Value> operands = {op.getGridSizeX(), op.getBlockSizeX()};
  llvm::append_range(operands, op.getKernelOperands());
  emitRuntimeCall(builder, op.getLoc(), module, name, operands);
  op.erase();
  return success();
}

namespace {
struct ConvertGPULaunchToCall
    : public bppsa::impl::ConvertGPULaunchToCallBase<ConvertGPULaunchToCall> {
  void runOnOperation() override {
    SmallVector<gpu::LaunchFuncOp> launches;
    getOperation().walk([&](gpu::LaunchFuncOp op) { launches.push_back(op); });
    for (gpu::LaunchFuncOp op : launches)
      if (failed(convert(op, getOperation())))
        return signalPassFailure();
  }
};
} // namespace
