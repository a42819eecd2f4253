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
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"

namespace bppsa::bgpu {
#define GEN_PASS_DEF_ALLOCATESHARED
#include "bppsa/Dialect/BGPU/Transforms/Passes.h.inc"
} // namespace bppsa::bgpu

using namespace mlir;
using namespace bppsa::bgpu;

/// Elements that one instruction loads, at multiples of which rows behind an array begin, and rows
/// that threads of the last warp have beyond the last of a tile.
static constexpr int64_t kLoadedTogether = 4, kSpareRows = 32;

namespace {
struct AllocateShared : public bppsa::bgpu::impl::AllocateSharedBase<AllocateShared> {
  using AllocateSharedBase::AllocateSharedBase;

  void runOnOperation() override {
    getOperation().walk([&](KernelOp kernel) { kernel.walk([&](ReduceOp op) { lower(op); }); });
    // A loop that carries one more number is another one.
    SmallVector<ShareOp> shared;
    getOperation().walk([&](ShareOp op) { shared.push_back(op); });
    for (ShareOp op : shared)
      if (failed(lower(op)))
        return signalPassFailure();
  }

private:
  void lower(ReduceOp op);
  LogicalResult lower(ShareOp op);
  /// An array of `shape` for what `op` does.
  Value allocate(Operation *op, ArrayRef<int64_t> shape, Type element);
};
} // namespace

Value AllocateShared::allocate(Operation *op, ArrayRef<int64_t> shape, Type element) {
  auto space = gpu::AddressSpaceAttr::get(&getContext(), gpu::AddressSpace::Workgroup);
  auto type = MemRefType::get(shape, element, MemRefLayoutAttrInterface(), space);
  auto builder = OpBuilder::atBlockBegin(&op->getParentOfType<KernelOp>().getBody().front());
  int64_t bytes = type.getNumElements() * DataLayout::closest(op).getTypeSize(element);
  auto options = remark::RemarkOpts::name("AllocateShared")
                     .category("shared")
                     .function(getOperation().getSymName());
  remark::passed(op->getLoc(), options)
      << remark::add("{0}: {1} bytes of shared memory", op->getName().stripDialect(), bytes);
  ++numArrays;
  numBytes += bytes;
  return memref::AllocOp::create(builder, op->getLoc(), type);
}

/// A thread has the same column in all levels of the tree, and one of the two rows that it combines
/// is its own.
void AllocateShared::lower(ReduceOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto tile = cast<RankedTensorType>(op.getTile().getType());
  SmallVector<int64_t> shape(tile.getShape());
  Value buffer = allocate(op, tile.getShape(), tile.getElementType());
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

/// A number that `loop` carries: 0 and 1 by turns.
static Value addSlot(scf::ForOp loop) {
  IRRewriter rewriter(loop);
  Location loc = loop.getLoc();
  Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
  auto alternate = [&](OpBuilder &builder, Location, ArrayRef<BlockArgument> slot) {
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    return SmallVector<Value>{arith::XOrIOp::create(builder, loc, slot[0], one)};
  };
  auto carrying = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, zero, /*replaceInitOperandUsesInLoop=*/false, alternate));
  return carrying.getRegionIterArgs().back();
}

/// Array `slot` of `arrays`.
static Value getSlot(OpBuilder &builder, Location loc, Value arrays, Value slot) {
  auto type = cast<MemRefType>(arrays.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0)),
      strides(type.getRank(), builder.getIndexAttr(1)), sizes;
  for (int64_t size : type.getShape())
    sizes.push_back(builder.getIndexAttr(size));
  offsets[0] = slot;
  sizes[0] = builder.getIndexAttr(1);
  MemRefType own = memref::SubViewOp::inferRankReducedResultType(type.getShape().drop_front(), type,
                                                                 offsets, sizes, strides);
  return memref::SubViewOp::create(builder, loc, own, arrays, offsets, sizes, strides);
}

LogicalResult AllocateShared::lower(ShareOp op) {
  for (Operation *user : op->getUsers())
    if (!isa<memref::LoadOp>(user))
      return op.emitOpError("is read by '") << user->getName() << "'; use memref.load";
  auto tile = cast<RankedTensorType>(op.getTile().getType());
  SmallVector<int64_t> shape(tile.getShape());
  if (op->getParentOfType<KernelOp>().getRepeatLast())
    shape[0] = llvm::alignTo(shape[0], kLoadedTogether) + kSpareRows;
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  if (loop)
    shape.insert(shape.begin(), 2);
  Value own = allocate(op, shape, tile.getElementType());
  // The body of the loop is another block then.
  Value slot = loop ? addSlot(loop) : Value();
  OpBuilder builder(op);
  if (slot)
    own = getSlot(builder, op.getLoc(), own, slot);
  PutOp::create(builder, op.getLoc(), op.getTile(), own, /*first=*/0);
  op->replaceAllUsesWith(ValueRange(own));
  op.erase();
  return success();
}
