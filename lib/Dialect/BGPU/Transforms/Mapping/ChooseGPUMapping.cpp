//===- ChooseGPUMapping.cpp - map loops to GPU kernels --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BGPU/Analysis/DeviceMapping.h"
#include "bppsa/Dialect/BGPU/Analysis/TiledProducts.h"
#include "bppsa/Dialect/BGPU/Transforms/Mapping/Passes.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

namespace bppsa {
#define GEN_PASS_DEF_CHOOSEGPUMAPPING
#include "bppsa/Dialect/BGPU/Transforms/Mapping/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

namespace {
struct ChooseGPUMapping : public bppsa::impl::ChooseGPUMappingBase<ChooseGPUMapping> {
  using ChooseGPUMappingBase::ChooseGPUMappingBase;

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (GPUMappingAttr::canMap(op))
        ops.push_back(op);
    });
    for (ArrayRef<Operation *> rest = ops; !rest.empty();) {
      ArrayRef<Operation *> together = rest.take_front(countFusable(rest));
      if (failed(map(together)))
        return signalPassFailure();
      rest = rest.drop_front(together.size());
    }
  }

private:
  LogicalResult map(ArrayRef<Operation *> ops);
  LogicalResult mapLoop(Operation *op);
  void mapSums(ArrayRef<OuterSumOp> sums);
  GPUMappingAttr getProductMapping(GPUKernel kernel, int64_t threads);
  template <typename ChooseFn> LogicalResult setMapping(Operation *op, ChooseFn choose);
};
} // namespace

GPUMappingAttr ChooseGPUMapping::getProductMapping(GPUKernel kernel, int64_t threads) {
  TensorPrecision used =
      kernel == GPUKernel::TiledProduct ? TensorPrecision(precision) : TensorPrecision::FP32;
  return GPUMappingAttr::get(&getContext(), kernel, threads, /*parts=*/1, /*rows=*/0, /*columns=*/0,
                             Residence::Registers, /*stages=*/0, used, /*offset=*/{});
}

template <typename ChooseFn>
LogicalResult ChooseGPUMapping::setMapping(Operation *op, ChooseFn choose) {
  if (op->hasAttr(attrs::Mapping::getName()))
    return success();
  FailureOr<MappingChoice> choice = choose();
  if (failed(choice))
    return failure();
  op->setAttr(attrs::Mapping::getName(), choice->mapping);
  auto options = remark::RemarkOpts::name("ChooseGPUMapping")
                     .category("mapping")
                     .function(getOperation().getSymName());
  std::string reason = choice->reason.empty() ? "the first choice" : choice->reason;
  remark::passed(op->getLoc(), options) << remark::add(
      "{0}: {1}; {2}", op->getName().stripDialect(), choice->mapping.toString(), reason);
  ++numMapped;
  return success();
}

/// Fails for tensors: layout and neighbours are known only after bufferization.
LogicalResult ChooseGPUMapping::map(ArrayRef<Operation *> ops) {
  for (Operation *op : ops)
    if (failed(verifyReady(op)))
      return failure();
  if (!isa<OuterSumOp>(ops[0]))
    return mapLoop(ops[0]);
  auto sums = llvm::map_to_vector(ops, [](Operation *op) { return cast<OuterSumOp>(op); });
  if (areLargeSums(sums) && canStack(sums)) {
    mapSums(sums);
    return success();
  }
  for (OuterSumOp sum : sums)
    mapSums(sum);
  return success();
}

void ChooseGPUMapping::mapSums(ArrayRef<OuterSumOp> sums) {
  bool areLarge = areLargeSums(sums);
  MappingChoice choice =
      areLarge
          ? MappingChoice{getProductMapping(GPUKernel::TiledProduct, cost::kTiledProductThreads),
                          ""}
          : MappingChoice{getProductMapping(GPUKernel::ThreadPerElement, cost::kElementThreads),
                          "tiled_product would use less than a quarter of a tile"};
  for (OuterSumOp sum : sums)
    (void)setMapping(sum, [&] { return FailureOr<MappingChoice>(choice); });
}

LogicalResult ChooseGPUMapping::mapLoop(Operation *op) {
  if (auto loop = dyn_cast<RecurrenceOp>(op))
    return setMapping(op, [&]() -> FailureOr<MappingChoice> {
      if (areLargeProducts(loop))
        return MappingChoice{getProductMapping(GPUKernel::TiledProduct, cost::kTiledProductThreads),
                             ""};
      return chooseLoopMapping(loop);
    });
  if (auto transition = dyn_cast<TransitionOp>(op))
    return setMapping(op, [&] {
      CotangentLoop loop = getCotangentLoop(transition);
      // A single step has nothing to read ahead.
      bool isOneStep = cast<ShapedType>(loop.saved[0].getType()).getDimSize(0) == 1;
      return chooseTransitionMapping(loop, !isOneStep, precision);
    });
  return setMapping(op, [&] { return chooseLoopMapping(cast<ChainOp>(op)); });
}
