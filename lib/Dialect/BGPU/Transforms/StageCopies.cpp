//===- StageCopies.cpp - copy vectors ahead of their use ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Copies vectors that a loop fetches to rings in shared memory without branches, so that ptxas sees
// one basic block per iteration. Surplus threads and iterations copy data that is never read.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BGPU/Analysis/DeviceArrays.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "bppsa/Dialect/BGPU/Transforms/Passes.h"
#include "bppsa/Support/IndexArithmetic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"

namespace bppsa::bgpu {
#define GEN_PASS_DEF_STAGECOPIES
#include "bppsa/Dialect/BGPU/Transforms/Passes.h.inc"
} // namespace bppsa::bgpu

using namespace mlir;
using namespace bppsa;
using namespace bppsa::bgpu;

namespace {
class LoopCopies {
public:
  LoopCopies(scf::ForOp loop, SmallVector<FetchOp> ofLoop)
      : loop(loop), fetches(std::move(ofLoop)), loc(fetches.front().getLoc()),
        stages(fetches.front().getStages()),
        numThreads(loop->getParentOfType<KernelOp>().getThreads()) {}

  /// Fails with a diagnostic if later positions cannot be computed ahead of time.
  LogicalResult verify();
  void stage();
  int64_t getBytes();
  int64_t getStages() const { return stages; }

private:
  static MemRefType getArrayType(FetchOp fetch) {
    return cast<MemRefType>(fetch.getArray().getType());
  }
  void allocateRings();
  void guardLoop();
  void requestFirst(OpBuilder &builder);
  void request(OpBuilder &builder, Value position);
  void copyVector(OpBuilder &builder, size_t number, Value slot, Value iteration);
  /// Offsets of the `width` elements that a thread copies: `to` in its slot, and `from` in the
  /// array. They are part `begin` + `number` of `rows` elements; parts past the end repeat the
  /// last.
  struct Copy {
    Value to, from;
  };
  Copy locate(OpBuilder &builder, Value number, int64_t begin, int64_t rows, int64_t width,
              Value first) const;
  void requestInLoop();
  void wait(OpBuilder &builder, Value position);
  SmallVector<Value> viewSlots(OpBuilder &builder, Value position);
  Value cloneAt(OpBuilder &builder, Value value, IRMapping &mapping);

  scf::ForOp loop;
  SmallVector<FetchOp> fetches;
  Location loc;
  int64_t stages, numThreads;
  SmallVector<Value> rings;
  SmallVector<Value> elements;
};
} // namespace

Value LoopCopies::cloneAt(OpBuilder &builder, Value value, IRMapping &mapping) {
  Operation *op = value.getDefiningOp();
  if (mapping.contains(value) || !op || !loop->isProperAncestor(op))
    return mapping.lookupOrDefault(value);
  for (Value operand : op->getOperands())
    cloneAt(builder, operand, mapping);
  builder.clone(*op, mapping);
  return mapping.lookup(value);
}

static bool followsFrom(Value value, Value index, scf::ForOp loop) {
  if (value == index)
    return true;
  Operation *op = value.getDefiningOp();
  if (!op)
    return !loop.getBodyRegion().isAncestor(value.getParentRegion());
  return !loop->isProperAncestor(op) || (isMemoryEffectFree(op) && op->getNumRegions() == 0 &&
                                         llvm::all_of(op->getOperands(), [&](Value operand) {
                                           return followsFrom(operand, index, loop);
                                         }));
}

LogicalResult LoopCopies::verify() {
  if (!isConstantIntValue(loop.getStep(), 1))
    return loop->emitOpError("fetches vectors, and needs steps of 1 for that");
  for (FetchOp fetch : fetches) {
    if (static_cast<int64_t>(fetch.getStages()) != stages)
      return fetch.emitOpError("has ") << fetch.getStages() << " stages, and another one in its "
                                       << "loop " << stages << "; give all of a loop the same";
    for (Value index : fetch.getPosition())
      if (!followsFrom(index, loop.getInductionVar(), loop))
        return fetch.emitOpError("has a position that is not a function of the iteration number; "
                                 "load the vector at its use");
    for (Operation *user : fetch->getUsers())
      if (!isa<memref::LoadOp>(user))
        return fetch.emitOpError("is read by '") << user->getName() << "'; use memref.load";
  }
  return success();
}

int64_t LoopCopies::getBytes() {
  SmallVector<Value> arrays;
  for (FetchOp fetch : fetches)
    arrays.push_back(fetch.getArray());
  return getStagedBytes(arrays, stages);
}

void LoopCopies::allocateRings() {
  auto builder = OpBuilder::atBlockBegin(&loop->getParentOfType<KernelOp>().getBody().front());
  for (FetchOp fetch : fetches) {
    MemRefType array = getArrayType(fetch);
    MemRefType type = getSharedType({stages, getStagedRows(array)}, array.getElementType());
    rings.push_back(memref::AllocOp::create(builder, loc, type));
  }
}

void LoopCopies::guardLoop() {
  OpBuilder builder(loop);
  Value isSome = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                       loop.getLowerBound(), loop.getUpperBound());
  bool hasResults = loop.getNumResults() > 0;
  auto branch =
      scf::IfOp::create(builder, loc, loop.getResultTypes(), isSome, /*withElseRegion=*/hasResults);
  loop->replaceAllUsesWith(branch.getResults());
  Block &then = *branch.thenBlock();
  loop->moveBefore(&then, hasResults ? then.end() : then.getTerminator()->getIterator());
  if (!hasResults)
    return;
  builder.setInsertionPointToEnd(&then);
  scf::YieldOp::create(builder, loc, loop.getResults());
  builder.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(builder, loc, loop.getInitArgs());
}

void LoopCopies::copyVector(OpBuilder &builder, size_t number, Value slot, Value iteration) {
  FetchOp fetch = fetches[number];
  MemRefType type = getArrayType(fetch);
  int64_t width = getCopyWidth(type, numThreads), rows = type.getShape().back();
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), iteration);
  SmallVector<Value> position;
  for (Value index : fetch.getPosition())
    position.push_back(cloneAt(builder, index, mapping));
  Value array = elements[number], first;
  if (array) {
    first = position[0];
    for (auto [dim, index] : llvm::drop_begin(llvm::enumerate(position)))
      first = addIndex(builder, loc,
                       mulIndex(builder, loc, first, getDim(builder, loc, fetch.getArray(), dim)),
                       index);
    first = mulIndex(builder, loc, first, getIndex(builder, loc, rows));
  }
  int64_t parts = llvm::alignTo(rows / width, cost::kWarpThreads);
  for (int64_t begin = 0; begin < parts; begin += numThreads)
    ForEachOp::create(builder, loc, std::min(numThreads, parts - begin), ValueRange(),
                      [&](OpBuilder &inThread, ValueRange at, ValueRange) {
                        auto [to, from] = locate(inThread, at[0], begin, rows, width, first);
                        SmallVector<Value> indices;
                        if (!array)
                          indices = position;
                        indices.push_back(from);
                        nvgpu::DeviceAsyncCopyOp::create(
                            inThread, loc, nvgpu::DeviceAsyncTokenType::get(inThread.getContext()),
                            rings[number], ValueRange{slot, to}, array ? array : fetch.getArray(),
                            indices, inThread.getIndexAttr(width),
                            /*srcElements=*/Value(),
                            width == 1 ? UnitAttr() : inThread.getUnitAttr());
                      });
}

LoopCopies::Copy LoopCopies::locate(OpBuilder &builder, Value number, int64_t begin, int64_t rows,
                                    int64_t width, Value first) const {
  Value scale = getIndex(builder, loc, width), to, from;
  if (rows / width % numThreads == 0) {
    // Constants are added last so that loads and stores use them as immediate offsets.
    Value behind = getIndex(builder, loc, begin * width);
    Value own = mulIndex(builder, loc, number, scale);
    to = addIndex(builder, loc, own, behind);
    from = addIndex(builder, loc, first ? addIndex(builder, loc, first, own) : own, behind);
    return {to, from};
  }
  Value part = addIndex(builder, loc, number, getIndex(builder, loc, begin));
  Value last = getIndex(builder, loc, rows / width - 1);
  to = mulIndex(builder, loc, part, scale);
  from = mulIndex(builder, loc, minIndex(builder, loc, part, last), scale);
  return {to, first ? addIndex(builder, loc, first, from) : from};
}

void LoopCopies::request(OpBuilder &builder, Value position) {
  // A position past the end maps to a slot that has already been read.
  Value slot = getRingSlot(builder, loc, position, stages);
  Value last = addIndex(builder, loc, loop.getUpperBound(), getIndex(builder, loc, -1));
  Value iteration = minIndex(builder, loc, position, last);
  for (size_t number = 0; number < fetches.size(); ++number)
    copyVector(builder, number, slot, iteration);
  auto token = nvgpu::DeviceAsyncTokenType::get(builder.getContext());
  nvgpu::DeviceAsyncCreateGroupOp::create(builder, loc, token, ValueRange());
}

/// Disables unrolling: ptxas would keep the addresses of several iterations in registers and spill
/// in small cells.
static void keepRolled(scf::ForOp loop) {
  MLIRContext *context = loop.getContext();
  LLVM::LoopAnnotationAttr annotation;
  auto unroll = LLVM::LoopUnrollAttr::get(context, /*disable=*/BoolAttr::get(context, true), {}, {},
                                          {}, annotation, annotation, annotation);
  annotation = LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {}, {}, {}, {}, {}, {},
                                             {}, {}, {}, {}, {});
  loop->setDiscardableAttr("llvm.loop_annotation", annotation);
}

void LoopCopies::requestFirst(OpBuilder &builder) {
  for (FetchOp fetch : fetches) {
    Value flat;
    if (getArrayType(fetch).getLayout().isIdentity())
      flat = flatten(builder, loc, fetch.getArray(), builder.getIndexAttr(0));
    elements.push_back(flat);
  }
  Value zero = getIndex(builder, loc, 0), one = getIndex(builder, loc, 1);
  auto requests =
      scf::ForOp::create(builder, loc, zero, getIndex(builder, loc, stages - 1), one, ValueRange(),
                         [&](OpBuilder &nested, Location, Value ahead, ValueRange) {
                           request(nested, addIndex(nested, loc, loop.getLowerBound(), ahead));
                           scf::YieldOp::create(nested, loc);
                         });
  if (numThreads == cost::kWarpThreads)
    keepRolled(requests);
}

SmallVector<Value> LoopCopies::viewSlots(OpBuilder &builder, Value position) {
  Value slot = getRingSlot(builder, loc, position, stages);
  SmallVector<Value> views;
  for (Value ring : rings)
    views.push_back(viewSlot(builder, loc, ring, slot));
  return views;
}

void LoopCopies::wait(OpBuilder &builder, Value position) {
  WaitOp::create(builder, loc, viewSlots(builder, position), stages - 2);
}

/// The step depends on the first reads, so requests come after them.
void LoopCopies::requestInLoop() {
  Operation *firstRead = fetches.front();
  for (Operation &op : *loop.getBody()) {
    if (!isa<FetchOp, ShareOp>(op))
      continue;
    for (Operation *user : op.getUsers()) {
      Operation *own = loop.getBody()->findAncestorOpInBlock(*user);
      if (own && (firstRead == fetches.front() || own->isBeforeInBlock(firstRead)))
        firstRead = own;
    }
  }
  OpBuilder builder(firstRead->getContext());
  builder.setInsertionPointAfter(firstRead);
  Value index = loop.getInductionVar();
  request(builder, addIndex(builder, loc, index, getIndex(builder, loc, stages - 1)));
}

/// Each iteration ends by waiting for the next vectors, so that one barrier separates both copies
/// and writes from the next iteration.
void LoopCopies::stage() {
  allocateRings();
  guardLoop();
  OpBuilder builder(loop);
  requestFirst(builder);
  wait(builder, loop.getLowerBound());
  requestInLoop();
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> views = viewSlots(builder, loop.getInductionVar());
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  wait(builder, addIndex(builder, loc, loop.getInductionVar(), 1));
  for (auto [fetch, view] : llvm::zip_equal(fetches, views)) {
    fetch->replaceAllUsesWith(ValueRange(view));
    fetch.erase();
  }
}

namespace {
struct StageCopies : public bppsa::bgpu::impl::StageCopiesBase<StageCopies> {
  using StageCopiesBase::StageCopiesBase;

  void runOnOperation() override {
    llvm::MapVector<Operation *, SmallVector<FetchOp>> loops;
    getOperation().walk(
        [&](FetchOp fetch) { loops[fetch->getParentOfType<scf::ForOp>()].push_back(fetch); });
    for (auto &[loop, fetches] : loops) {
      LoopCopies copies(cast<scf::ForOp>(loop), fetches);
      if (failed(copies.verify()))
        return signalPassFailure();
      auto options = remark::RemarkOpts::name("StageCopies")
                         .category("stages")
                         .function(getOperation().getSymName());
      remark::passed(fetches.front().getLoc(), options)
          << remark::add("loop: {0} vectors in {1} stages, {2} bytes of shared memory",
                         fetches.size(), copies.getStages(), copies.getBytes());
      numVectors += fetches.size();
      numBytes += copies.getBytes();
      copies.stage();
    }
  }
};
} // namespace
