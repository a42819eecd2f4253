//===- BGPUToGPU.cpp - block-level kernels to launches --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../../Codegen/GPU/Launch.h"
#include "ThreadEmitter.h"
#include "bppsa/Conversion/Passes.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Transforms/RegionUtils.h"

namespace bppsa {
#define GEN_PASS_DEF_CONVERTBGPUTOGPU
#include "bppsa/Conversion/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// A thread holds only one element of a tile, so bodies must not read tiles.
static bool readsTilesInBodies(Operation &op) {
  if (!isa<tensor::GenerateOp, bgpu::ForEachOp>(op))
    return false;
  WalkResult result = op.getRegion(0).walk([](Operation *inner) {
    return getTile(inner) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

static LogicalResult verifyDistributable(Block &block) {
  for (Operation &op : block) {
    if (readsTilesInBodies(op))
      return op.emitOpError("has a tile in its body, in which each thread has a single element; "
                            "pass tiles with bgpu.put and bgpu.get");
    if (auto array = dyn_cast<memref::AllocOp>(op);
        array && isShared(array) && !array.getType().hasStaticShape())
      return op.emitOpError("needs a static shape in shared memory");
    if (isa<bgpu::ReduceOp, bgpu::ShareOp>(op))
      return op.emitOpError("needs shared memory; run bgpu-allocate-shared first");
    if (isa<bgpu::FetchOp>(op))
      return op.emitOpError("needs copies; run bgpu-stage-copies first");
    if (isa<scf::ForOp, scf::IfOp>(op)) {
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          if (failed(verifyDistributable(inner)))
            return failure();
      continue;
    }
    auto constant = dyn_cast<arith::ConstantOp>(op);
    bool isTileOp =
        isa<bgpu::GetOp, bgpu::PutOp, bgpu::ForEachOp, bgpu::ReduceAcrossOp, bgpu::ReduceScatterOp,
            bgpu::MmaOp, bgpu::AccumulateOp, tensor::GenerateOp, scf::YieldOp>(op) ||
        (constant ? isa<SplatElementsAttr>(constant.getValue())
                  : OpTrait::hasElementwiseMappableTraits(&op));
    if (getTile(&op) ? !isTileOp : op.getNumRegions() != 0)
      return op.emitOpError("cannot be distributed to threads in a kernel; move the computation of "
                            "one element into tensor.generate or bgpu.for_each");
  }
  return success();
}

static LogicalResult sinkTiles(bgpu::KernelOp kernel) {
  auto builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  SetVector<Value> above;
  getUsedValuesDefinedAbove(kernel.getBody(), above);
  for (Value value : above) {
    if (!isa<RankedTensorType>(value.getType()))
      continue;
    auto constant = value.getDefiningOp<arith::ConstantOp>();
    if (!constant)
      return kernel.emitOpError("uses a tensor from outside, which is in no memory of the GPU; "
                                "bufferize it first");
    Operation *copy = builder.clone(*constant);
    replaceAllUsesInRegionWith(value, copy->getResult(0), kernel.getBody());
  }
  return success();
}

/// Later, convert-device-to-nvvm would give kernels with block barriers all registers.
static void narrowBarriers(bgpu::KernelOp kernel) {
  kernel.walk([](gpu::BarrierOp barrier) {
    OpBuilder builder(barrier);
    emitWarpBarrier(builder, barrier.getLoc());
    barrier.erase();
  });
}

static void launchKernel(bgpu::KernelOp kernel) {
  OpBuilder builder(kernel);
  resolveSlots(kernel);
  if (kernel.getManyBlocks())
    narrowBarriers(kernel);
  SmallVector<memref::AllocOp> arrays;
  kernel.getBody().walk([&](memref::AllocOp array) {
    if (isShared(array))
      arrays.push_back(array);
  });
  auto types = llvm::map_to_vector(arrays, [](memref::AllocOp array) {
    return MemRefType::get(array.getType().getShape(), array.getType().getElementType());
  });
  emitLaunch(builder, kernel.getLoc(), kernel.getNumBlocks(), kernel.getThreads(), types,
             [&](OpBuilder &nested, const LaunchedThread &thread) {
               ThreadEmitter emitter(kernel, thread.block, thread.thread);
               for (auto [array, argument] : llvm::zip_equal(arrays, thread.shared))
                 emitter.map(array, argument);
               emitter.emitBlock(nested, kernel.getBody().front());
             });
  kernel.erase();
}

namespace {
struct ConvertBGPUToGPU : public bppsa::impl::ConvertBGPUToGPUBase<ConvertBGPUToGPU> {
  using ConvertBGPUToGPUBase::ConvertBGPUToGPUBase;

  void runOnOperation() override {
    SmallVector<bgpu::KernelOp> kernels;
    getOperation().walk([&](bgpu::KernelOp kernel) { kernels.push_back(kernel); });
    for (bgpu::KernelOp kernel : kernels) {
      if (failed(sinkTiles(kernel)) || failed(verifyDistributable(kernel.getBody().front())))
        return signalPassFailure();
      launchKernel(kernel);
      ++numKernels;
    }
  }
};
} // namespace
