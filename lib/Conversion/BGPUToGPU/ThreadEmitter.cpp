//===- ThreadEmitter.cpp - distribution of a kernel over threads ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Each thread holds one element of a tile. Consecutive operations on tiles smaller than the block
// share a branch.
//
//===----------------------------------------------------------------------===//

#include "ThreadEmitter.h"
#include "../../Codegen/GPU/BlockCyclicLayout.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace bppsa;

static bool isTile(Value value) { return isa<RankedTensorType>(value.getType()); }

Type bppsa::getThreadType(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile ? tile.getElementType() : type;
}

RankedTensorType bppsa::getTile(Operation *op) {
  if (auto each = dyn_cast<bgpu::ForEachOp>(op))
    return each.getPositions();
  for (Type type : llvm::concat<const Type>(SmallVector<Type>(op->getResultTypes()),
                                            SmallVector<Type>(op->getOperandTypes())))
    if (auto tile = dyn_cast<RankedTensorType>(type))
      return tile;
  return {};
}

bool bppsa::isShared(memref::AllocOp op) {
  return gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(op.getType());
}

/// Indexing the whole array instead of a slot needs no separate address.
static void resolveSlot(Value &array, SmallVectorImpl<Value> &indices) {
  auto view = array.getDefiningOp<memref::SubViewOp>();
  auto whole = view ? view.getSource().getDefiningOp<memref::AllocOp>() : memref::AllocOp();
  if (!whole || !isShared(whole) || view.getType().getRank() + 1 != whole.getType().getRank() ||
      !view.getDroppedDims().test(0))
    return;
  auto slot = dyn_cast<Value>(view.getMixedOffsets()[0]);
  ArrayRef<int64_t> offsets = view.getStaticOffsets().drop_front();
  if (!slot || !view.hasUnitStride() || llvm::any_of(offsets, [](int64_t o) { return o != 0; }))
    return;
  array = whole;
  indices.insert(indices.begin(), slot);
}

SmallVector<Value> ThreadEmitter::getIndices(OpBuilder &builder, Location loc,
                                             RankedTensorType tile, int64_t first) {
  SmallVector<Value> sizes;
  for (int64_t size : tile.getShape())
    sizes.push_back(getIndex(builder, loc, size));
  Value element = thread;
  if (int64_t replicas = bgpu::getReplicas(tile); replicas > 1)
    element = arith::DivUIOp::create(builder, loc, thread, getIndex(builder, loc, replicas));
  SmallVector<Value> indices = splitIndex(builder, loc, element, sizes);
  // Only the row is clamped: threads take part in the reductions of a row.
  if (isRepeating && bgpu::countThreads(tile) < numThreads)
    indices[0] = minIndex(builder, loc, indices[0], getIndex(builder, loc, tile.getDimSize(0) - 1));
  if (first != 0)
    indices[0] = addIndex(builder, loc, indices[0], first);
  return indices;
}

std::pair<Value, SmallVector<Value>> ThreadEmitter::locate(OpBuilder &builder, Location loc,
                                                           Value array, RankedTensorType tile,
                                                           int64_t first) {
  SmallVector<Value> slot, indices = getIndices(builder, loc, tile, first);
  resolveSlot(array, slot);
  if (!slot.empty())
    indices.insert(indices.begin(), values.lookupOrDefault(slot[0]));
  return {values.lookupOrDefault(array), indices};
}

static bool onlyReads(Operation *op) {
  if (isa<bgpu::GetOp>(op))
    return true;
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects = getEffectsRecursively(op);
  return effects && llvm::all_of(*effects, [](const MemoryEffects::EffectInstance &effect) {
           return isa<MemoryEffects::Read>(effect.getEffect());
         });
}

/// The array must have a row for every thread from the first row of the tile.
bool ThreadEmitter::hasSpareRows(Operation *op) const {
  auto hasRows = [&](Value buffer, int64_t first) {
    auto array = cast<MemRefType>(buffer.getType());
    int64_t rows = llvm::divideCeil(numThreads, bgpu::getReplicas(getTile(op)));
    return array.getRank() == 1 && first + rows <= array.getDimSize(0);
  };
  if (auto get = dyn_cast<bgpu::GetOp>(op))
    return hasRows(get.getBuffer(), get.getFirst());
  auto put = dyn_cast<bgpu::PutOp>(op);
  return put && hasRows(put.getBuffer(), put.getFirst());
}

bool ThreadEmitter::isInLastWarp(RankedTensorType tile) const {
  return numThreads == roundUpToWarps(bgpu::countThreads(tile));
}

static bool isRepeated(Operation *op) {
  auto each = dyn_cast<bgpu::ForEachOp>(op);
  return each && each.getRepeatLast();
}

/// Surplus threads repeat an element of the last row.
bool ThreadEmitter::repeatsIn(Operation *op) const {
  return isRepeated(op) || (repeatsLast && op->getParentOfType<scf::ForOp>());
}

/// Only one of the threads that hold an element executes `op`.
static bool isOfFirstReplica(Operation *op) {
  return isa<bgpu::PutOp, bgpu::AccumulateOp>(op) && bgpu::getReplicas(getTile(op)) > 1;
}

static bool sharesBranch(Operation *op, Operation *other) {
  return bgpu::countThreads(getTile(op)) == bgpu::countThreads(getTile(other)) &&
         isOfFirstReplica(op) == isOfFirstReplica(other);
}

bool ThreadEmitter::needsBranch(Operation *op) const {
  if (isa<bgpu::ReduceAcrossOp, bgpu::ReduceScatterOp>(op))
    return false;
  RankedTensorType tile = getTile(op);
  if (isOfFirstReplica(op))
    return true;
  if (bgpu::countThreads(tile) == numThreads)
    return false;
  if (!repeatsIn(op))
    return true;
  return !(hasSpareRows(op) || onlyReads(op) || (isRepeated(op) && isInLastWarp(tile)));
}

void ThreadEmitter::emitBlock(OpBuilder &builder, Block &block) {
  Run run;
  for (Operation &op : block) {
    if (auto array = dyn_cast<memref::AllocOp>(op); array && isShared(array))
      continue;
    RankedTensorType tile = isa<scf::ForOp, scf::IfOp, scf::YieldOp>(op) ? nullptr : getTile(&op);
    bool belongs = tile && needsBranch(&op) && (run.empty() || sharesBranch(&op, run[0]));
    // Uniform pure operations move before the branch.
    bool isScalar = !tile && op.getNumRegions() == 0 && op.getNumResults() > 0;
    if (!belongs && !(isScalar && isMemoryEffectFree(&op)))
      emitRun(builder, run);
    if (belongs || (tile && needsBranch(&op)))
      run.push_back(&op);
    else if (tile)
      emitForAll(builder, &op);
    else if (auto loop = dyn_cast<scf::ForOp>(op))
      emitLoop(builder, loop);
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      emitBranches(builder, branch);
    else if (auto distinct = dyn_cast<memref::DistinctObjectsOp>(op))
      for (auto [operand, result] : llvm::zip_equal(op.getOperands(), op.getResults()))
        values.map(result, values.lookupOrDefault(operand));
    else if (auto yield = dyn_cast<scf::YieldOp>(op))
      scf::YieldOp::create(builder, yield.getLoc(),
                           getNumbers(builder, yield.getLoc(), yield.getOperands()));
    else if (auto wait = dyn_cast<bgpu::WaitOp>(op))
      NVVM::CpAsyncWaitGroupOp::create(builder, wait.getLoc(), wait.getGroups());
    else if (isa<bgpu::WarpBarrierOp>(op))
      emitWarpBarrier(builder, op.getLoc());
    else if (auto barrier = dyn_cast<bgpu::GridBarrierOp>(op))
      emitGridBarrier(builder, barrier);
    else
      builder.clone(op, values);
  }
  emitRun(builder, run);
}

void ThreadEmitter::emitForAll(OpBuilder &builder, Operation *op) {
  isRepeating = repeatsIn(op) && !hasSpareRows(op);
  emitTileOp(builder, op);
  isRepeating = false;
}

/// Returns null if all threads execute `op`.
Value ThreadEmitter::findOwners(OpBuilder &builder, Operation *op) {
  Location loc = op->getLoc();
  RankedTensorType tile = getTile(op);
  int64_t count = bgpu::countThreads(tile);
  Value exists;
  if (count < numThreads)
    exists = isBelow(builder, loc, thread, getIndex(builder, loc, count));
  if (!isOfFirstReplica(op))
    return exists;
  Value replicas = getIndex(builder, loc, bgpu::getReplicas(tile));
  Value number = arith::RemUIOp::create(builder, loc, thread, replicas);
  Value isFirst = isEqual(builder, loc, number, getIndex(builder, loc, 0));
  return exists ? arith::AndIOp::create(builder, loc, exists, isFirst) : isFirst;
}

void ThreadEmitter::emitRun(OpBuilder &builder, Run &run) {
  if (run.empty())
    return;
  Value exists = findOwners(builder, run[0]);
  // Storing through the index of the load saves a register.
  isRepeating = repeatsIn(run[0]) && llvm::any_of(run[0]->getOperands(), isTile);
  emitPart(builder, run, exists);
  isRepeating = false;
  run.clear();
}

/// Results of threads outside of the branch are poison.
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
    auto [array, indices] = locate(builder, loc, get.getBuffer(), get.getType(), get.getFirst());
    values.map(get.getResult(), memref::LoadOp::create(builder, loc, array, indices).getResult());
  } else if (auto put = dyn_cast<bgpu::PutOp>(op)) {
    auto tile = cast<RankedTensorType>(put.getTile().getType());
    auto [array, indices] = locate(builder, loc, put.getBuffer(), tile, put.getFirst());
    memref::StoreOp::create(builder, loc, values.lookup(put.getTile()), array, indices);
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
  } else if (auto reduce = dyn_cast<bgpu::ReduceAcrossOp>(op)) {
    emitReduceAcross(builder, reduce);
  } else if (auto scatter = dyn_cast<bgpu::ReduceScatterOp>(op)) {
    emitReduceScatter(builder, scatter);
  } else if (auto product = dyn_cast<bgpu::MmaOp>(op)) {
    emitProduct(builder, product);
  } else if (auto accumulate = dyn_cast<bgpu::AccumulateOp>(op)) {
    emitAccumulate(builder, accumulate);
  } else {
    emitElementwise(builder, op);
  }
}

void ThreadEmitter::emitAccumulate(OpBuilder &builder, bgpu::AccumulateOp op) {
  Location loc = op.getLoc();
  Value array = values.lookupOrDefault(op.getArray()), own = values.lookup(op.getTile());
  SmallVector<Value> at = getIndices(builder, loc, getTile(op));
  auto add = [&](OpBuilder &nested, Value value, ValueRange indices) {
    if (!op.getOverwrite())
      value = arith::AddFOp::create(nested, loc,
                                    memref::LoadOp::create(nested, loc, array, indices), value);
    memref::StoreOp::create(nested, loc, value, array, indices);
  };
  auto type = dyn_cast<VectorType>(own.getType());
  if (!type)
    return add(builder, own, at);
  BlockCyclicLayout layout(op.getNumColumns(), op.getNumParts());
  Value part = at.size() > 1 ? at[1] : getIndex(builder, loc, 0);
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    BlockCyclicLayout::Element column = layout.getElement(builder, loc, part, i);
    Value value = builder.createOrFold<vector::ExtractOp>(loc, own, i);
    auto addColumn = [&](OpBuilder &nested) { add(nested, value, {column.index, at[0]}); };
    if (column.exists)
      emitIf(builder, loc, column.exists, addColumn);
    else
      addColumn(builder);
  }
}

void ThreadEmitter::inlineBody(OpBuilder &builder, Block &body, ValueRange arguments) {
  values.map(body.getArguments(), arguments);
  for (Operation &op : body) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      continue;
    Operation *own = builder.clone(op, values);
    SmallVector<Value> known;
    if (isa<vector::ExtractOp>(own) && succeeded(builder.tryFold(own, known))) {
      values.map(op.getResults(), known);
      own->erase();
    }
  }
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

void bppsa::resolveSlots(bgpu::KernelOp kernel) {
  kernel.getBody().walk([](memref::LoadOp load) {
    Value array = load.getMemRef();
    SmallVector<Value> indices(load.getIndices());
    resolveSlot(array, indices);
    load.getMemrefMutable().assign(array);
    load.getIndicesMutable().assign(indices);
  });
}
