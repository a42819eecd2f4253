//===- AllocateShared.cpp - shared memory of block-level kernels ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "bppsa/Dialect/BGPU/Transforms/Passes.h"
#include "bppsa/Support/IndexArithmetic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Remarks.h"

namespace bppsa::bgpu {
#define GEN_PASS_DEF_ALLOCATESHARED
#include "bppsa/Dialect/BGPU/Transforms/Passes.h.inc"
} // namespace bppsa::bgpu

using namespace mlir;
using namespace bppsa;
using namespace bppsa::bgpu;

/// Elements per load instruction, to which arrays are padded, and spare rows for the surplus
/// threads of the last warp of a tile.
static constexpr int64_t kElementsPerAccess = 4, kSpareRows = 32;

namespace {
struct AllocateShared : public bppsa::bgpu::impl::AllocateSharedBase<AllocateShared> {
  using AllocateSharedBase::AllocateSharedBase;

  void runOnOperation() override {
    getOperation().walk([&](KernelOp kernel) { kernel.walk([&](ReduceOp op) { lower(op); }); });
    WalkResult result = getOperation().walk([&](ShareOp op) {
      return failed(lower(op)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

private:
  void lower(ReduceOp op);
  LogicalResult lower(ShareOp op);
  Value allocate(Operation *op, ArrayRef<int64_t> shape, Type element);
};
} // namespace

Value AllocateShared::allocate(Operation *op, ArrayRef<int64_t> shape, Type element) {
  MemRefType type = getSharedType(shape, element);
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

/// Emits a tree reduction. A thread keeps its column in all levels.
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

/// The insertion point is dominated by `values` and, if possible, before the scf.if that guards the
/// loop and requests its first copies.
static Operation *getPlaceBefore(scf::ForOp loop, ArrayRef<Value> values) {
  auto branch = dyn_cast<scf::IfOp>(loop->getParentOp());
  bool isInside = branch && llvm::any_of(values, [&](Value value) {
                    return branch->isAncestor(value.getParentBlock()->getParentOp());
                  });
  return branch && !isInside ? branch.getOperation() : loop.getOperation();
}

/// Double-buffers `carried`, which iterations of `loop` share, in `arrays`. Returns the buffer of
/// the current iteration. The next value is stored right after its definition, so it need not stay
/// in a register until the next iteration.
static Value doubleBuffer(ShareOp op, scf::ForOp loop, BlockArgument carried, Value arrays) {
  Location loc = op.getLoc();
  OpBuilder builder(op);
  auto getTurn = [&](Value position) -> Value {
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    return arith::AndIOp::create(builder, loc, position, one);
  };
  Value turn = getTurn(loop.getInductionVar()), own = viewSlot(builder, loc, arrays, turn);
  Value start = loop.getTiedLoopInit(carried)->get(), lower = loop.getLowerBound();
  builder.setInsertionPoint(getPlaceBefore(loop, {start, lower}));
  Value first = viewSlot(builder, loc, arrays, getTurn(lower));
  PutOp::create(builder, loc, start, first, /*first=*/0);
  Value made = loop.getTiedLoopYieldedValue(carried)->get();
  Operation *maker = made.getDefiningOp();
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  if (maker && maker->getBlock() == loop.getBody())
    builder.setInsertionPointAfter(maker);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value next = viewSlot(builder, loc, arrays, arith::XOrIOp::create(builder, loc, turn, one));
  PutOp::create(builder, loc, made, next, /*first=*/0);
  return own;
}

static BlockArgument getCarried(ShareOp op, scf::ForOp loop) {
  auto argument = dyn_cast<BlockArgument>(op.getTile());
  return loop && argument && argument.getOwner() == loop.getBody() ? argument : BlockArgument();
}

LogicalResult AllocateShared::lower(ShareOp op) {
  for (Operation *user : op->getUsers())
    if (!isa<memref::LoadOp>(user))
      return op.emitOpError("is read by '") << user->getName() << "'; use memref.load";
  auto tile = cast<RankedTensorType>(op.getTile().getType());
  SmallVector<int64_t> shape(tile.getShape());
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  // Padding also avoids power-of-two distances, for which LLVM carries separate addresses.
  if (loop || op->getParentOfType<KernelOp>().getRepeatLast())
    shape[0] = llvm::alignTo(shape[0], kElementsPerAccess) + kSpareRows;
  BlockArgument carried = getCarried(op, loop);
  if (carried && !isConstantIntValue(loop.getStep(), 1))
    return op.emitOpError("is in a loop whose steps are not known to be 1, by whose number it has "
                          "one of two arrays by turns; use steps of 1");
  if (carried)
    shape.insert(shape.begin(), 2);
  Value own = allocate(op, shape, tile.getElementType());
  OpBuilder builder(op);
  if (carried)
    own = doubleBuffer(op, loop, carried, own);
  else
    PutOp::create(builder, op.getLoc(), op.getTile(), own, /*first=*/0);
  op->replaceAllUsesWith(ValueRange(own));
  op.erase();
  return success();
}
