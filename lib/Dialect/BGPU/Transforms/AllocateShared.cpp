//===- AllocateShared.cpp - shared memory of block-level kernels ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "bppsa/Dialect/BGPU/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Remarks.h"

namespace bppsa::bgpu {
#define GEN_PASS_DEF_ALLOCATESHARED
#include "bppsa/Dialect/BGPU/Transforms/Passes.h.inc"
} // namespace bppsa::bgpu

using namespace mlir;
using namespace bppsa::bgpu;

namespace {
struct AllocateShared : public bppsa::bgpu::impl::AllocateSharedBase<AllocateShared> {
  using AllocateSharedBase::AllocateSharedBase;

  void runOnOperation() override {
    getOperation().walk([&](KernelOp kernel) { kernel.walk([&](ReduceOp op) { lower(op); }); });
  }

private:
  void lower(ReduceOp op);
  Value allocate(ReduceOp op);
};
} // namespace

Value AllocateShared::allocate(ReduceOp op) {
  auto tile = cast<RankedTensorType>(op.getTile().getType());
  auto space = gpu::AddressSpaceAttr::get(&getContext(), gpu::AddressSpace::Workgroup);
  auto type =
      MemRefType::get(tile.getShape(), tile.getElementType(), MemRefLayoutAttrInterface(), space);
  auto builder = OpBuilder::atBlockBegin(&op->getParentOfType<KernelOp>().getBody().front());
  int64_t bytes =
      tile.getNumElements() * DataLayout::closest(op).getTypeSize(tile.getElementType());
  auto options = remark::RemarkOpts::name("AllocateShared")
                     .category("shared")
                     .function(getOperation().getSymName());
  remark::passed(op.getLoc(), options)
      << remark::add("{0}: {1} bytes of shared memory", op->getName().stripDialect(), bytes);
  ++numArrays;
  numBytes += bytes;
  return memref::AllocOp::create(builder, op.getLoc(), type);
}

/// A thread has the same column in all levels of the tree, and one of the two rows that it combines
/// is its own.
void AllocateShared::lower(ReduceOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto tile = cast<RankedTensorType>(op.getTile().getType());
  SmallVector<int64_t> shape(tile.getShape());
  Value buffer = allocate(op);
  PutOp::create(builder, loc, op.getTile(), buffer, /*first=*/0);
  for (int64_t half = shape[0] / 2; half > 0; half /= 2) {
    shape[0] = half;
    Type type = tile.clone(shape);
    Value own = GetOp::create(builder, loc, type, buffer, /*first=*/0);
    Value other = GetOp::create(builder, loc, type, buffer, half);
    Value both = vector::makeArithReduction(builder, loc, op.getKind(), own, other);
    PutOp::create(builder, loc, both, buffer, /*first=*/0);
  }
  op.replaceAllUsesWith(GetOp::create(builder, loc, op.getType(), buffer, /*first=*/0).getResult());
  op.erase();
}
