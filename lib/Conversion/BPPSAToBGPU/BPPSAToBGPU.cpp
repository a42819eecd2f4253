//===- BPPSAToBGPU.cpp - bufferized loops and sums to kernels -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../../Codegen/GPU/Launch.h"
#include "../Bodies/PhaseCalls.h"
#include "Cooperative/CooperativeKernels.h"
#include "OuterSums.h"
#include "Products/SequenceProducts.h"
#include "Products/TiledSums.h"
#include "RowLoops.h"
#include "Slabs.h"
#include "TimeLoops/Chains.h"
#include "TimeLoops/Recurrence.h"
#include "Totals.h"
#include "Transitions/Transitions.h"
#include "bppsa/Conversion/Passes.h"
#include "bppsa/Dialect/BGPU/Analysis/DeviceMapping.h"
#include "bppsa/Dialect/BGPU/Analysis/TiledProducts.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/Support/Refusal.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/MapVector.h"

namespace bppsa {
#define GEN_PASS_DEF_CONVERTBPPSATOBGPU
#include "bppsa/Conversion/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static void convertStepSum(StepSumOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  int64_t size = cast<MemRefType>(op.getDestination().getType()).getDimSize(0);
  Slabs slabs(builder, loc, op.getSequence(), Slabs::getLength(size));
  Value parts = allocateParts(builder, loc, slabs.getNumSlabs(), size, slabs.getElementType());
  Value rows = slabs.flatten(builder, op.getSequence());
  auto getRows = [&](OpBuilder &nested, Value slab) { return slabs.getSlab(nested, slab); };
  auto load = [&](OpBuilder &nested, Value row, Value column) {
    return slabs.load(nested, rows, row, column);
  };
  auto write = [&](OpBuilder &nested, Value slab, Value column, Value sum) {
    memref::StoreOp::create(nested, loc, sum, parts, ValueRange{slab, column});
  };
  emitColumnSums(builder, loc,
                 {slabs.getNumSlabs(), size, slabs.getElementType(), getRows, load, write});
  emitTotals(builder, loc, parts, slabs.getNumSlabs(),
             [&](OpBuilder &nested, Value position, Value sum) {
               memref::StoreOp::create(nested, loc, sum, op.getDestination(), position);
             });
  memref::DeallocOp::create(builder, loc, parts);
}

static void convertReduceSums(ReduceSumsOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value numParts = mulIndex(builder, loc, getDim(builder, loc, op.getParts(), 0),
                            getDim(builder, loc, op.getParts(), 1));
  SmallVector<ReassociationIndices> groups = {{0, 1}, {2}};
  Value parts = memref::CollapseShapeOp::create(builder, loc, op.getParts(), groups);
  emitTotals(builder, loc, parts, numParts, op.getDestinations());
}

template <typename... OpTys> static bool holds(Operation *loop) {
  return loop
      ->walk([](Operation *op) {
        return isa<OpTys...>(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

static bool isMappedTo(Operation *op, GPUKernel kernel) {
  return getMapping(op) && getMapping(op).is(kernel);
}

static bool becomesKernel(Operation &op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return loop.getNumResults() == 0 && holds<ApplyTransitionOp>(loop);
  if (auto loop = dyn_cast<scf::ForallOp>(op))
    return loop.getNumResults() == 0;
  return isa_and_nonnull<BPPSADialect>(op.getDialect()) &&
         (op.hasTrait<KernelTrait>() || isa<ReverseIfOp>(op));
}

static Operation *findUnmapped(Operation *op) {
  Operation *found = nullptr;
  op->walk([&](Operation *inner) {
    if (!GPUMappingAttr::canMap(inner) || getMapping(inner))
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

/// Outside a parallel loop, a chain must cover all steps.
static LogicalResult verifySequential(ChainOp op) {
  if (!op.getPlan().isSequential())
    return op->emitOpError("has the plan ")
           << op.getPlan().toString() << "; run bppsa-expand-scan with whole-levels first";
  if (op.getFlatSums())
    return op->emitOpError("has flat_sums outside of a parallel loop; remove flat_sums");
  return success();
}

static LogicalResult convertOuterSums(ArrayRef<OuterSumOp> sums) {
  if (isMappedTo(sums[0], GPUKernel::TiledProduct))
    return convertTiledSums(sums);
  for (OuterSumOp sum : sums)
    convertOuterSum(sum);
  return success();
}

static LogicalResult convert(ArrayRef<Operation *> ops) {
  Operation &op = *ops[0];
  for (Operation *other : ops)
    if (failed(verifyMapped(other)))
      return failure();
  if (auto loop = dyn_cast<scf::ForallOp>(op))
    return holds<TransitionOp>(loop) ? convertTransitions(loop)
           : holds<ChainOp>(loop)    ? convertChains(loop)
                                     : convertRowLoop(loop);
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return convertRowLoop(loop);
  for (Operation *other : ops)
    if (failed(verifyReady(other)))
      return failure();
  if (auto loop = dyn_cast<RecurrenceOp>(op))
    return isMappedTo(loop, GPUKernel::TiledProduct)  ? convertSequenceProducts(loop)
           : isMappedTo(loop, GPUKernel::Cooperative) ? convertCooperatively(loop)
                                                      : convertRecurrence(loop);
  if (auto loop = dyn_cast<ChainOp>(op)) {
    if (failed(verifySequential(loop)))
      return failure();
    return isMappedTo(loop, GPUKernel::Cooperative) ? convertCooperatively(loop)
                                                    : convertChain(loop);
  }
  if (isa<OuterSumOp>(op))
    return convertOuterSums(
        llvm::map_to_vector(ops, [](Operation *sum) { return cast<OuterSumOp>(sum); }));
  if (auto sum = dyn_cast<StepSumOp>(op))
    convertStepSum(sum);
  else if (auto sums = dyn_cast<ReduceSumsOp>(op))
    convertReduceSums(sums);
  else
    return refuseOp(&op, "has no kernels for GPUs; use --target=cpu");
  return success();
}

/// Shared kernels get the fused location of all callers.
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
struct ConvertBPPSAToBGPU : public bppsa::impl::ConvertBPPSAToBGPUBase<ConvertBPPSAToBGPU> {
  using ConvertBPPSAToBGPUBase::ConvertBPPSAToBGPUBase;

  void runOnOperation() override {
    fuseLocations(getOperation());
    lowerPhaseMarks(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && function.isPrivate() && failed(convertKernel(function)))
        return signalPassFailure();
  }

private:
  LogicalResult convertKernel(func::FuncOp function) {
    SmallVector<Operation *> ops;
    for (Operation &op : function.getOps())
      if (becomesKernel(op))
        ops.push_back(&op);
    for (ArrayRef<Operation *> rest = ops; !rest.empty();) {
      ArrayRef<Operation *> together = rest.take_front(countFusable(rest));
      if (failed(convert(together)))
        return failure();
      for (Operation *op : together)
        op->erase();
      numConverted += together.size();
      rest = rest.drop_front(together.size());
    }
    return success();
  }
};
} // namespace
