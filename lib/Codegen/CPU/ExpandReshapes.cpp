//===- ExpandReshapes.cpp - expand dynamic reshapes -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Codegen/CPU/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace bppsa {
#define GEN_PASS_DEF_EXPANDRESHAPES
#include "bppsa/Codegen/CPU/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static bool hasSeveralDynamicSizes(memref::ExpandShapeOp op) {
  MemRefType type = op.getResultType();
  return llvm::any_of(op.getReassociationIndices(), [&](const ReassociationIndices &group) {
    return llvm::count_if(group, [&](int64_t index) { return type.isDynamicDim(index); }) > 1;
  });
}

static void expandReshape(memref::ExpandShapeOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto source = memref::ExtractStridedMetadataOp::create(b, loc, op.getSrc());
  SmallVector<OpFoldResult> sizes = op.getMixedOutputShape(), strides(sizes.size());
  SmallVector<int64_t> staticStrides;
  int64_t staticOffset;
  MemRefType type = op.getResultType();
  if (failed(type.getStridesAndOffset(staticStrides, staticOffset)))
    return;
  for (auto [i, group] : llvm::enumerate(op.getReassociationIndices())) {
    Value stride = source.getStrides()[i];
    for (int64_t index : llvm::reverse(group)) {
      bool isStatic = !ShapedType::isDynamic(staticStrides[index]);
      strides[index] = isStatic ? OpFoldResult(b.getIndexAttr(staticStrides[index])) : stride;
      Value size = getValueOrCreateConstantIndexOp(b, loc, sizes[index]);
      stride = arith::MulIOp::create(b, loc, stride, size);
    }
  }
  OpFoldResult offset = ShapedType::isDynamic(staticOffset) ? OpFoldResult(source.getOffset())
                                                            : b.getIndexAttr(staticOffset);
  Value view = memref::ReinterpretCastOp::create(b, loc, type, source.getBaseBuffer(), offset,
                                                 sizes, strides);
  op.replaceAllUsesWith(view);
  op.erase();
}

namespace {
struct ExpandReshapes : public bppsa::impl::ExpandReshapesBase<ExpandReshapes> {
  void runOnOperation() override {
    SmallVector<memref::ExpandShapeOp> reshapes;
    getOperation().walk([&](memref::ExpandShapeOp op) {
      if (hasSeveralDynamicSizes(op))
        reshapes.push_back(op);
    });
    for (memref::ExpandShapeOp op : reshapes)
      expandReshape(op);
  }
};
} // namespace
