//===- BGPUToGPU.cpp - block-level kernels to launches --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A tile is one number of each thread. Operations on tiles with fewer elements than
// a block has threads, as far as they follow each other, are in one branch.
//
//===----------------------------------------------------------------------===//

#include "../GPULaunches/Launch.h"
#include "bppsa/Conversion/Passes.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

namespace bppsa {
#define GEN_PASS_DEF_CONVERTBGPUTOGPU
#include "bppsa/Conversion/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// The type of what a thread has of a value.
static Type getThreadType(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile ? tile.getElementType() : type;
}

/// The tile that `op` works on; null where it is the same for all threads.
static RankedTensorType getTile(Operation *op) {
  if (auto each = dyn_cast<bgpu::ForEachOp>(op))
    return RankedTensorType::get(each.getShape(), IndexType::get(op->getContext()));
  for (Type type : llvm::concat<const Type>(SmallVector<Type>(op->getResultTypes()),
                                            SmallVector<Type>(op->getOperandTypes())))
    if (auto tile = dyn_cast<RankedTensorType>(type))
      return tile;
  return {};
}

static bool isShared(memref::AllocOp op) {
  return gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(op.getType());
}

/// Whether threads want more of a tile than the element that they have.
static bool readsTilesInBodies(Operation &op) {
  if (!isa<tensor::GenerateOp, bgpu::ForEachOp>(op))
    return false;
  WalkResult result = op.getRegion(0).walk([](Operation *inner) {
    return getTile(inner) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Checks that all of a kernel can be distributed to threads.
static LogicalResult verifyDistributable(Block &block) {
  for (Operation &op : block) {
    if (readsTilesInBodies(op))
      return op.emitOpError("has a tile in its body, where a thread has one element alone; hand "
                            "tiles on by bgpu.put and bgpu.get");
    if (auto array = dyn_cast<memref::AllocOp>(op);
        array && isShared(array) && !array.getType().hasStaticShape())
      return op.emitOpError("needs a static shape in shared memory");
    if (isa<bgpu::ReduceOp>(op))
      return op.emitOpError("needs shared memory; run bgpu-allocate-shared first");
    if (isa<scf::ForOp, scf::IfOp>(op)) {
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          if (failed(verifyDistributable(inner)))
            return failure();
      continue;
    }
    auto constant = dyn_cast<arith::ConstantOp>(op);
    bool isTileOp =
        isa<bgpu::GetOp, bgpu::PutOp, bgpu::ForEachOp, tensor::GenerateOp, scf::YieldOp>(op) ||
        (constant ? isa<SplatElementsAttr>(constant.getValue())
                  : OpTrait::hasElementwiseMappableTraits(&op));
    if (getTile(&op) ? !isTileOp : op.getNumRegions() != 0)
      return op.emitOpError("cannot be distributed to threads in a kernel; put what a thread does "
                            "for an element into tensor.generate or bgpu.for_each");
  }
  return success();
}

namespace {
/// The work of one thread of a kernel.
class ThreadEmitter {
public:
  ThreadEmitter(bgpu::KernelOp kernel, Value block, Value thread)
      : numThreads(kernel.getThreads()), thread(thread) {
    values.map(kernel.getBody().getArgument(0), block);
  }

  void map(Value array, Value argument) { values.map(array, argument); }
  void emitBlock(OpBuilder &builder, Block &block);

private:
  /// Operations of a block that follow each other and have as many elements.
  using Run = SmallVector<Operation *>;

  void emitRun(OpBuilder &builder, Run &run);
  void emitPart(OpBuilder &builder, ArrayRef<Operation *> run, Value exists);
  void emitTileOp(OpBuilder &builder, Operation *op);
  void emitElementwise(OpBuilder &builder, Operation *op);
  void emitLoop(OpBuilder &builder, scf::ForOp loop);
  void emitBranches(OpBuilder &builder, scf::IfOp branch);
  /// The operations of a body with `arguments`; `values` has what it yields then.
  void inlineBody(OpBuilder &builder, Block &body, ValueRange arguments);
  /// The indices in a tile of the element that the thread has, behind `first` rows.
  SmallVector<Value> getIndices(OpBuilder &builder, Location loc, RankedTensorType tile,
                                int64_t first = 0);

  int64_t numThreads;
  Value thread;
  IRMapping values;
};
} // namespace

SmallVector<Value> ThreadEmitter::getIndices(OpBuilder &builder, Location loc,
                                             RankedTensorType tile, int64_t first) {
  SmallVector<Value> sizes;
  for (int64_t size : tile.getShape())
    sizes.push_back(getIndex(builder, loc, size));
  SmallVector<Value> indices = splitIndex(builder, loc, thread, sizes);
  if (first != 0)
    indices[0] = addIndex(builder, loc, indices[0], first);
  return indices;
}

void ThreadEmitter::emitBlock(OpBuilder &builder, Block &block) {
  Run run;
  for (Operation &op : block) {
    if (auto array = dyn_cast<memref::AllocOp>(op); array && isShared(array))
      continue;
    RankedTensorType tile = isa<scf::ForOp, scf::IfOp, scf::YieldOp>(op) ? nullptr : getTile(&op);
    bool belongs =
        tile && (run.empty() || tile.getNumElements() == getTile(run[0]).getNumElements());
    // What needs no thread can stand in front of the branch.
    bool isScalar = !tile && op.getNumRegions() == 0 && op.getNumResults() > 0;
    if (!belongs && !(isScalar && isMemoryEffectFree(&op)))
      emitRun(builder, run);
    if (tile)
      run.push_back(&op);
    else if (auto loop = dyn_cast<scf::ForOp>(op))
      emitLoop(builder, loop);
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      emitBranches(builder, branch);
    else
      builder.clone(op, values);
  }
  emitRun(builder, run);
}

void ThreadEmitter::emitRun(OpBuilder &builder, Run &run) {
  if (run.empty())
    return;
  int64_t count = getTile(run[0]).getNumElements();
  Location loc = run[0]->getLoc();
  if (count < numThreads) {
    emitPart(builder, run, isBelow(builder, loc, thread, getIndex(builder, loc, count)));
  } else {
    for (Operation *op : run)
      emitTileOp(builder, op);
  }
  run.clear();
}

/// Threads without an element have nothing that others would see.
void ThreadEmitter::emitPart(OpBuilder &builder, ArrayRef<Operation *> run, Value exists) {
  Location loc = run[0]->getLoc();
  SmallVector<Value> results;
  for (Operation *op : run)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return !llvm::is_contained(run, user); }))
        results.push_back(result);
  auto emitRun = [&](OpBuilder &nested, Location) {
    for (Operation *op : run)
      emitTileOp(nested, op);
    auto kept = llvm::map_to_vector(results, [&](Value result) { return values.lookup(result); });
    scf::YieldOp::create(nested, loc, kept);
  };
  if (results.empty()) {
    scf::IfOp::create(builder, loc, exists, emitRun);
    return;
  }
  auto branch = scf::IfOp::create(builder, loc, exists, emitRun, [&](OpBuilder &nested, Location) {
    auto nothing = llvm::map_to_vector(results, [&](Value result) -> Value {
      return ub::PoisonOp::create(nested, loc, getThreadType(result.getType()));
    });
    scf::YieldOp::create(nested, loc, nothing);
  });
  values.map(results, branch.getResults());
}

void ThreadEmitter::emitTileOp(OpBuilder &builder, Operation *op) {
  Location loc = op->getLoc();
  if (auto get = dyn_cast<bgpu::GetOp>(op)) {
    Value loaded = memref::LoadOp::create(builder, loc, values.lookupOrDefault(get.getBuffer()),
                                          getIndices(builder, loc, get.getType(), get.getFirst()));
    values.map(get.getResult(), loaded);
  } else if (auto put = dyn_cast<bgpu::PutOp>(op)) {
    auto tile = cast<RankedTensorType>(put.getTile().getType());
    memref::StoreOp::create(builder, loc, values.lookup(put.getTile()),
                            values.lookupOrDefault(put.getBuffer()),
                            getIndices(builder, loc, tile, put.getFirst()));
  } else if (auto generate = dyn_cast<tensor::GenerateOp>(op)) {
    Block &body = generate.getBody().front();
    inlineBody(builder, body, getIndices(builder, loc, cast<RankedTensorType>(generate.getType())));
    values.map(generate.getResult(),
               values.lookupOrDefault(cast<tensor::YieldOp>(body.getTerminator()).getValue()));
  } else if (auto each = dyn_cast<bgpu::ForEachOp>(op)) {
    Block &body = each.getBody().front();
    SmallVector<Value> arguments = getIndices(builder, loc, getTile(op));
    for (Value tile : each.getTiles())
      arguments.push_back(values.lookup(tile));
    inlineBody(builder, body, arguments);
    for (auto [output, element] :
         llvm::zip_equal(each.getOutputs(), body.getTerminator()->getOperands()))
      values.map(output, values.lookupOrDefault(element));
  } else {
    emitElementwise(builder, op);
  }
}

void ThreadEmitter::inlineBody(OpBuilder &builder, Block &body, ValueRange arguments) {
  values.map(body.getArguments(), arguments);
  for (Operation &op : body)
    if (!op.hasTrait<OpTrait::IsTerminator>())
      builder.clone(op, values);
}

void ThreadEmitter::emitElementwise(OpBuilder &builder, Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto element = cast<SplatElementsAttr>(constant.getValue()).getSplatValue<TypedAttr>();
    values.map(constant.getResult(),
               arith::ConstantOp::create(builder, op->getLoc(), element).getResult());
    return;
  }
  Operation *scalar = builder.clone(*op, values);
  for (auto [tile, number] : llvm::zip(op->getResults(), scalar->getResults())) {
    number.setType(getThreadType(tile.getType()));
    values.map(tile, number);
  }
}

void ThreadEmitter::emitLoop(OpBuilder &builder, scf::ForOp loop) {
  auto get = [&](Value value) { return values.lookupOrDefault(value); };
  auto threadLoop = scf::ForOp::create(builder, loop.getLoc(), get(loop.getLowerBound()),
                                       get(loop.getUpperBound()), get(loop.getStep()),
                                       llvm::map_to_vector(loop.getInitArgs(), get));
  values.map(loop.getBody()->getArguments(), threadLoop.getBody()->getArguments());
  values.map(loop.getResults(), threadLoop.getResults());
  if (loop.getNumResults() == 0)
    threadLoop.getBody()->getTerminator()->erase();
  OpBuilder nested = OpBuilder::atBlockEnd(threadLoop.getBody());
  emitBlock(nested, *loop.getBody());
}

/// All threads of a block take the same branch.
void ThreadEmitter::emitBranches(OpBuilder &builder, scf::IfOp branch) {
  SmallVector<Type> types =
      llvm::map_to_vector(branch.getResultTypes(), [](Type type) { return getThreadType(type); });
  auto own = scf::IfOp::create(builder, branch.getLoc(), types,
                               values.lookupOrDefault(branch.getCondition()),
                               /*withElseRegion=*/branch.elseBlock() != nullptr);
  values.map(branch.getResults(), own.getResults());
  for (auto [from, to] : llvm::zip_equal(branch->getRegions(), own->getRegions())) {
    if (from.empty())
      continue;
    // A branch without results has its end already.
    if (to.front().mightHaveTerminator())
      to.front().getTerminator()->erase();
    OpBuilder nested = OpBuilder::atBlockEnd(&to.front());
    emitBlock(nested, from.front());
  }
}

/// Puts a copy of each tile from outside of `kernel`, a constant, into it.
static LogicalResult sinkTiles(bgpu::KernelOp kernel) {
  auto builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  SetVector<Value> above;
  getUsedValuesDefinedAbove(kernel.getBody(), above);
  for (Value value : above) {
    if (!isa<RankedTensorType>(value.getType()))
      continue;
    auto constant = value.getDefiningOp<arith::ConstantOp>();
    if (!constant)
      return kernel.emitOpError("uses a tensor from outside, which is in no memory of the GPU; "
                                "bufferize it first");
    Operation *copy = builder.clone(*constant);
    replaceAllUsesInRegionWith(value, copy->getResult(0), kernel.getBody());
  }
  return success();
}

static void launchKernel(bgpu::KernelOp kernel) {
  OpBuilder builder(kernel);
  SmallVector<memref::AllocOp> arrays;
  kernel.getBody().walk([&](memref::AllocOp array) {
    if (isShared(array))
      arrays.push_back(array);
  });
  auto types = llvm::map_to_vector(arrays, [](memref::AllocOp array) {
    return MemRefType::get(array.getType().getShape(), array.getType().getElementType());
  });
  emitLaunch(builder, kernel.getLoc(), kernel.getNumBlocks(), kernel.getThreads(), types,
             [&](OpBuilder &nested, const LaunchedThread &thread) {
               ThreadEmitter emitter(kernel, thread.block, thread.thread);
               for (auto [array, argument] : llvm::zip_equal(arrays, thread.shared))
                 emitter.map(array, argument);
               emitter.emitBlock(nested, kernel.getBody().front());
             });
  kernel.erase();
}

namespace {
struct ConvertBGPUToGPU : public bppsa::impl::ConvertBGPUToGPUBase<ConvertBGPUToGPU> {
  using ConvertBGPUToGPUBase::ConvertBGPUToGPUBase;

  void runOnOperation() override {
    SmallVector<bgpu::KernelOp> kernels;
    getOperation().walk([&](bgpu::KernelOp kernel) { kernels.push_back(kernel); });
    for (bgpu::KernelOp kernel : kernels) {
      if (failed(sinkTiles(kernel)) || failed(verifyDistributable(kernel.getBody().front())))
        return signalPassFailure();
      launchKernel(kernel);
      ++numKernels;
    }
  }
};
} // namespace
