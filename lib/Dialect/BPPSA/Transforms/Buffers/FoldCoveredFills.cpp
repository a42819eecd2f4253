//===- FoldCoveredFills.cpp - removes overwritten fills -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Transforms/Buffers/Passes.h"
#include "bppsa/Support/WrittenSlices.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace bppsa {
#define GEN_PASS_DEF_FOLDCOVEREDFILLS
#include "bppsa/Dialect/BPPSA/Transforms/Buffers/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// Offsets and sizes must be static, strides 1.
static std::optional<int64_t> countEntries(tensor::InsertSliceOp slice) {
  auto isDynamic = [](int64_t value) { return ShapedType::isDynamic(value); };
  if (llvm::any_of(slice.getStaticOffsets(), isDynamic) ||
      llvm::any_of(slice.getStaticSizes(), isDynamic) || !slice.hasUnitStride())
    return std::nullopt;
  return ShapedType::getNumElements(slice.getStaticSizes());
}

/// True if insertions overwrite all of `filled` before it is read.
static bool isCovered(Value filled) {
  auto type = cast<RankedTensorType>(filled.getType());
  if (!type.hasStaticShape())
    return false;
  int64_t left = type.getNumElements();
  WrittenSlices slices;
  while (left > 0) {
    if (!filled.hasOneUse())
      return false;
    OpOperand &use = *filled.use_begin();
    auto slice = dyn_cast<tensor::InsertSliceOp>(use.getOwner());
    if (!slice || &use != &slice.getDestMutable())
      return false;
    std::optional<int64_t> entries = countEntries(slice);
    if (!entries || !slices.areDisjointWith(slice))
      return false;
    left -= *entries;
    slices.add(slice);
    filled = slice.getResult();
  }
  return true;
}

namespace {
struct FoldCoveredFills : public bppsa::impl::FoldCoveredFillsBase<FoldCoveredFills> {
  void runOnOperation() override {
    getOperation().walk([](linalg::FillOp fill) {
      if (fill.getNumResults() != 1 || !isCovered(fill.getResult(0)))
        return;
      fill.getResult(0).replaceAllUsesWith(fill.getDpsInits().front());
      fill.erase();
    });
  }
};
} // namespace
