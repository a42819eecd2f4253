//===- BPPSAToGPU.cpp - bufferized kernels to launches --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "BPPSAToGPU.h"
#include "../Bodies/PhaseCalls.h"
#include "../GPULaunches/Launch.h"
#include "bppsa/Conversion/Passes.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSADirection.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace bppsa {
#define GEN_PASS_DEF_CONVERTBPPSATOGPU
#include "bppsa/Conversion/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// The first of `op`, and of what it holds, that has to be mapped to a kernel and is not; null
/// without one.
static Operation *findUnmapped(Operation *op) {
  Operation *found = nullptr;
  op->walk([&](Operation *inner) {
    if (!isa<RecurrenceOp, ChainOp, TransitionOp, OuterSumOp>(inner) || getMapping(inner))
      return WalkResult::advance();
    found = inner;
    return WalkResult::interrupt();
  });
  return found;
}

static LogicalResult verifyMapped(Operation *op) {
  if (Operation *unmapped = findUnmapped(op))
    return unmapped->emitOpError("has no mapping to a GPU; run bppsa-choose-gpu-mapping first");
  return success();
}

/// Emits the launches of an operation in front of it.
static LogicalResult launch(Operation *op) {
  if ((!isa<scf::ForOp, scf::ForallOp>(op) && failed(verifyReady(op))) || failed(verifyMapped(op)))
    return failure();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Default([](Operation *other) {
        return other->emitOpError("has no kernels for GPUs; use --target=cpu");
      });
}

/// Whether this pass has launches for `op`; for others, other conversions have them. Operations
/// with lanes and for either direction are refused, as are those without a mapping.
static bool becomesLaunch(Operation &op) {
  if (op.getNumResults() != 0)
    return false;
  if (findUnmapped(&op))
    return true;
  return isa<PackLanesOp, UnpackLanesOp, ReverseIfOp>(op);
}

/// Gives `function` launches for what it holds.
static LogicalResult lowerKernel(func::FuncOp function) {
  for (Operation &op : llvm::make_early_inc_range(function.getOps())) {
    if (!becomesLaunch(op))
      continue;
    if (failed(launch(&op)))
      return failure();
    op.erase();
  }
  return success();
}

/// Equal loops of several nodes of a model share a kernel, which has the location of one of them:
/// gives it those of all. The calls have the locations of the loops that were there.
static void fuseLocations(ModuleOp module) {
  llvm::MapVector<StringAttr, SetVector<Location>> callers;
  module.walk(
      [&](func::CallOp call) { callers[call.getCalleeAttr().getAttr()].insert(call.getLoc()); });
  for (auto &[name, locations] : callers) {
    auto kernel = module.lookupSymbol<func::FuncOp>(name);
    if (!kernel || !kernel.isPrivate())
      continue;
    Location own = kernel.getLoc();
    Location all = FusedLoc::get(module.getContext(), locations.getArrayRef());
    kernel.walk([&](Operation *op) {
      if (op->getLoc() == own)
        op->setLoc(all);
    });
  }
}

namespace {
struct ConvertBPPSAToGPU : public bppsa::impl::ConvertBPPSAToGPUBase<ConvertBPPSAToGPU> {
  using ConvertBPPSAToGPUBase::ConvertBPPSAToGPUBase;

  void runOnOperation() override {
    fuseLocations(getOperation());
    lowerPhaseMarks(getOperation());
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (!function.isExternal() && function.isPrivate() && failed(lowerKernel(function)))
        return signalPassFailure();
  }
};
} // namespace
