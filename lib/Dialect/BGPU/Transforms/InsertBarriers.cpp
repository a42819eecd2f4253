//===- InsertBarriers.cpp - barriers of block-level kernels ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Walks the accesses of shared memory in the order in which threads come to them,
// with those that no barrier separates from here. Loops are walked twice, the second
// time with what their own end leaves open.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "bppsa/Dialect/BGPU/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"

namespace bppsa::bgpu {
#define GEN_PASS_DEF_INSERTBARRIERS
#include "bppsa/Dialect/BGPU/Transforms/Passes.h.inc"
} // namespace bppsa::bgpu

using namespace mlir;
using namespace bppsa::bgpu;

namespace {
/// Rows [first, last) of an array, which a block reads or writes.
struct Access {
  Value buffer;
  int64_t first, last;
  bool writes;

  bool operator==(const Access &other) const {
    return buffer == other.buffer && first == other.first && last == other.last &&
           writes == other.writes;
  }
  /// Whether threads may touch an element that another thread touches in `other`. Where both begin
  /// at the same row, the thread is the same.
  bool conflictsWith(const Access &other) const {
    return buffer == other.buffer && (writes || other.writes) && first != other.first &&
           first < other.last && other.first < last;
  }
};

/// The barriers of a kernel.
class BarrierWalk {
public:
  LogicalResult walk(Block &block);
  int64_t getNumBarriers() const { return numBarriers; }

private:
  LogicalResult walkLoop(scf::ForOp loop);
  void visit(const Access &access, Operation *op);

  /// Accesses that no barrier separates from the place that the walk has come to.
  SmallVector<Access> open;
  int64_t numBarriers = 0;
};
} // namespace

static bool holdsAccesses(Operation &op) {
  return op
      .walk([](Operation *inner) {
        return isa<GetOp, PutOp>(inner) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

static Access getAccess(GetOp get) {
  int64_t first = get.getFirst();
  return {get.getBuffer(), first, first + get.getType().getDimSize(0), /*writes=*/false};
}

static Access getAccess(PutOp put) {
  int64_t first = put.getFirst();
  return {put.getBuffer(), first, first + put.getTile().getType().getDimSize(0), /*writes=*/true};
}

void BarrierWalk::visit(const Access &access, Operation *op) {
  auto conflicts = [&](const Access &other) { return access.conflictsWith(other); };
  SmallVector<Access> behind;
  if (llvm::any_of(open, conflicts)) {
    // A read waits for writes alone: reads in front of it stand behind the barrier too.
    Operation *place = op;
    while (!access.writes && isa_and_nonnull<GetOp>(place->getPrevNode())) {
      place = place->getPrevNode();
      behind.push_back(getAccess(cast<GetOp>(place)));
    }
    OpBuilder builder(place);
    gpu::BarrierOp::create(builder, op->getLoc());
    ++numBarriers;
    open = behind;
  }
  if (!llvm::is_contained(open, access))
    open.push_back(access);
}

LogicalResult BarrierWalk::walkLoop(scf::ForOp loop) {
  SmallVector<Access> before = open;
  if (failed(walk(*loop.getBody())) || failed(walk(*loop.getBody())))
    return failure();
  // A loop without iterations leaves open what was open.
  for (const Access &access : before)
    if (!llvm::is_contained(open, access))
      open.push_back(access);
  return success();
}

LogicalResult BarrierWalk::walk(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (isa<gpu::BarrierOp>(op)) {
      open.clear();
    } else if (auto get = dyn_cast<GetOp>(op)) {
      visit(getAccess(get), get);
    } else if (auto put = dyn_cast<PutOp>(op)) {
      visit(getAccess(put), put);
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      if (failed(walkLoop(loop)))
        return failure();
    } else if (holdsAccesses(op)) {
      return op.emitOpError("holds accesses of shared memory, which only scf.for can have");
    }
  }
  return success();
}

namespace {
struct InsertBarriers : public bppsa::bgpu::impl::InsertBarriersBase<InsertBarriers> {
  using InsertBarriersBase::InsertBarriersBase;

  void runOnOperation() override {
    WalkResult result = getOperation().walk([&](KernelOp kernel) {
      BarrierWalk walk;
      if (failed(walk.walk(kernel.getBody().front())))
        return WalkResult::interrupt();
      numBarriers += walk.getNumBarriers();
      auto options = remark::RemarkOpts::name("InsertBarriers")
                         .category("barriers")
                         .function(getOperation().getSymName());
      remark::passed(kernel.getLoc(), options)
          << remark::add("kernel: {0} barriers", walk.getNumBarriers());
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
