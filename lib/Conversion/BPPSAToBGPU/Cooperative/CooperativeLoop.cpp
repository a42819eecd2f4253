//===- CooperativeLoop.cpp - loops shared by several blocks ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "CooperativeLoop.h"
#include "../../../Codegen/GPU/Launch.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "bppsa/Support/RuntimeCalls.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

/// Elements between counters: groups must not wait on the same cache line.
static constexpr int64_t kCounterStride = 32;

CooperativeLoop::CooperativeLoop(BodyPlan bodyPlan, const LoopBody &loop, int64_t rowsOfWarp)
    : RowTiles(std::move(bodyPlan), *loop.body, loop.numCaptures), loc(loop.op->getLoc()),
      firstState(loop.firstState), numStates(loop.numStates), rowsOfWarp(rowsOfWarp) {
  findExchanged();
  countEntries();
}

bool CooperativeLoop::isState(Value value) const {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getArgNumber() >= firstState &&
         argument.getArgNumber() < firstState + numStates;
}

bool CooperativeLoop::isSource(Value value) const {
  return isa<BlockArgument>(value) && !plan.isCapture(value) && !isState(value);
}

void CooperativeLoop::findExchanged() {
  auto add = [&](Value value) {
    if (exchanged.insert({value, rowsOfVectors}).second)
      rowsOfVectors += countLoads(value) * cost::kCooperativeColumns;
  };
  for (Operation &op : body->without_terminator()) {
    auto cell = cast<CellOpInterface>(op);
    for (auto [number, operand] : llvm::enumerate(op.getOperands())) {
      RowAccess access = cell.getRowAccess(number);
      if (access == RowAccess::All || (access == RowAccess::Other && !isSource(operand)))
        add(operand);
    }
  }
  for (BlockArgument argument : body->getArguments())
    if (isSource(argument) && !argument.use_empty())
      sources.push_back(argument);
}

void CooperativeLoop::countEntries() {
  for (const RowUnit &unit : plan.getUnits()) {
    numRows = std::max(numRows, unit.rows);
    maxSums = std::max<int64_t>(maxSums, unit.sums.size());
    for (const ProductSum &sum : unit.sums)
      for (MatVecOp product : sum.products)
        numEntries += rowsOfWarp * countLoads(product.getVector()) * kElementsPerAccess;
  }
}

int64_t CooperativeLoop::countLoads(Value vector) {
  return llvm::divideCeil(getNumRows(vector), cost::kCooperativeColumns);
}

int64_t CooperativeLoop::getMaxSamples() const { return kWarpThreads / rowsOfWarp; }
int64_t CooperativeLoop::getRowsOfBlock() const { return cost::kCooperativeWarps * rowsOfWarp; }
int64_t CooperativeLoop::getNumBlocks() const {
  return llvm::divideCeil(numRows, getRowsOfBlock());
}

FailureOr<CooperativeLoop> CooperativeLoop::create(const LoopBody &loop, GPUMappingAttr mapping) {
  FailureOr<BodyPlan> plan = BodyPlan::create(*loop.body, loop.numCaptures);
  if (failed(plan))
    return failure();
  if (std::string obstacle = findObstacleToSharing(loop); !obstacle.empty())
    return loop.op->emitOpError("cannot be mapped to 'cooperative', which needs ")
           << obstacle << "; use block_per_row";
  return CooperativeLoop(std::move(*plan), loop, mapping.getRows());
}

/// Allocates for the smallest groups, so that the size does not depend on the GPU.
void CooperativeLoop::allocate(OpBuilder &builder) {
  Value size = getIndex(builder, loc, kTile);
  Value numGroups = arith::CeilDivUIOp::create(builder, loc, loop->numSamples, size);
  Value padded = mulIndex(builder, loc, numGroups, size);
  auto allocateZeros = [&](MemRefType type, Value dynamic) -> Value {
    Value array =
        memref::AllocOp::create(builder, loc, type, dynamic, builder.getI64IntegerAttr(64));
    Value zero =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type.getElementType()));
    linalg::FillOp::create(builder, loc, zero, array);
    return array;
  };
  counters = allocateZeros(
      MemRefType::get({ShapedType::kDynamic, kCounterStride}, builder.getI32Type()), numGroups);
  vectors = allocateZeros(
      MemRefType::get({2, ShapedType::kDynamic, rowsOfVectors}, builder.getF32Type()), padded);
}

/// Chooses the smallest groups that are all resident. Small groups are faster because blocks
/// process samples sequentially.
Value CooperativeLoop::chooseSamples(OpBuilder &builder, Value together) {
  Value tile = getIndex(builder, loc, kTile);
  Value share = arith::CeilDivUIOp::create(builder, loc, loop->numSamples, together);
  Value tiles = arith::CeilDivUIOp::create(builder, loc, share, tile);
  Value samples = arith::MaxUIOp::create(builder, loc, mulIndex(builder, loc, tiles, tile), tile);
  return minIndex(builder, loc, samples, getIndex(builder, loc, getMaxSamples()));
}

/// Each multiprocessor holds at least one block.
static Value countMultiprocessors(OpBuilder &builder, Location loc) {
  auto module = builder.getBlock()->getParentOp()->getParentOfType<ModuleOp>();
  Value count =
      emitRuntimeCall(builder, loc, module, "bppsa_rt_multiprocessors", {}, builder.getI64Type())
          .getResult(0);
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), count);
}

/// All blocks of a group must be resident, so a launch has as many groups as fit.
void CooperativeLoop::emit(OpBuilder &builder, const LoopArrays &ofLoop) {
  loop = &ofLoop;
  allocate(builder);
  Value numBlocks = getIndex(builder, loc, getNumBlocks());
  Value together = arith::MaxUIOp::create(
      builder, loc,
      arith::DivUIOp::create(builder, loc, countMultiprocessors(builder, loc), numBlocks),
      getIndex(builder, loc, 1));
  numSamples = chooseSamples(builder, together);
  Value numGroups = arith::CeilDivUIOp::create(builder, loc, loop->numSamples, numSamples);
  Value numLaunches = arith::CeilDivUIOp::create(builder, loc, numGroups, together);
  emitLoop(builder, loc, getIndex(builder, loc, 0), numLaunches, [&](OpBuilder &nested, Value i) {
    Value first = mulIndex(nested, loc, i, together);
    Value left = arith::SubIOp::create(nested, loc, numGroups, first);
    Value blocks = mulIndex(nested, loc, minIndex(nested, loc, left, together), numBlocks);
    bgpu::KernelOp::create(
        nested, loc, blocks, cost::kCooperativeWarps * kWarpThreads,
        [&](OpBuilder &inKernel, Value block) { emitBlock(inKernel, block, first); });
  });
  memref::DeallocOp::create(builder, loc, counters);
  memref::DeallocOp::create(builder, loc, vectors);
}

void CooperativeLoop::emitBlock(OpBuilder &builder, Value block, Value firstGroup) {
  auto index = [&](int64_t value) { return getIndex(builder, loc, value); };
  SmallVector<Value> digits = splitIndex(builder, loc, block, {Value(), index(getNumBlocks())});
  group = addIndex(builder, loc, firstGroup, digits[0]);
  rowOfBlock = mulIndex(builder, loc, digits[1], index(getRowsOfBlock()));
  firstSlot = mulIndex(builder, loc, group, numSamples);
  Value left = arith::SubIOp::create(builder, loc, loop->numSamples, firstSlot);
  left = minIndex(builder, loc, left, numSamples);
  numTiles =
      arith::DivUIOp::create(builder, loc, addIndex(builder, loc, left, kTile - 1), index(kTile));
  separate(builder);
  allocateSums(builder);
  loadCaptures(builder, loc, llvm::map_to_vector(loop->captures, [&](Value array) {
                 return arrays.lookup(array);
               }));
  loadMatrices(builder);
  SmallVector<Value> carried = start(builder);
  carried = emitFold(builder, loc, index(0), loop->numSteps, carried,
                     [&](OpBuilder &nested, Value atPosition, ValueRange values) {
                       return emitStep(nested, atPosition, values);
                     });
  finish(builder, carried);
}

/// Exchanged values share an array but have disjoint rows.
void CooperativeLoop::separate(OpBuilder &builder) {
  SmallVector<Value> all;
  for (ArrayRef<Value> some : {ArrayRef(loop->sources), ArrayRef(loop->outputs),
                               ArrayRef(loop->starts), ArrayRef(loop->ends)})
    llvm::copy_if(some, std::back_inserter(all), [](Value array) { return array != nullptr; });
  llvm::append_range(all, loop->captures);
  llvm::SetVector<Value> unique(all.begin(), all.end());
  SmallVector<Value> objects(unique.getArrayRef());
  objects.append(exchanged.size(), vectors);
  auto distinct = memref::DistinctObjectsOp::create(builder, loc, objects);
  for (auto [array, inKernel] : llvm::zip(unique, distinct.getResults()))
    arrays[array] = inKernel;
  ValueRange copies = distinct.getResults().drop_front(unique.size());
  for (auto [exchange, copy] : llvm::zip_equal(exchanged, copies))
    exchangedIn[exchange.first] = copy;
}

std::optional<Place> CooperativeLoop::findExchange(Value value, Value copy) const {
  auto found = exchanged.find(value);
  if (found == exchanged.end())
    return std::nullopt;
  return Place{exchangedIn.lookup(value), {copy}, found->second};
}

void CooperativeLoop::allocateSums(OpBuilder &builder) {
  sums.clear();
  for (int64_t left = maxSums * getSumsOfTile(); left > 0; left -= kWarpThreads) {
    int64_t numSums = std::min(kWarpThreads, left) / getSumsOfTile();
    MemRefType type = bgpu::getSharedType(
        {cost::kCooperativeWarps, numSums, kWarpThreads / getSumsOfTile(), getSumsOfTile()},
        builder.getF32Type());
    sums.push_back(memref::AllocOp::create(builder, loc, type));
  }
}

/// Returns rows of states, rows of sources and the barrier count.
SmallVector<Value> CooperativeLoop::start(OpBuilder &builder) {
  SmallVector<Value> carried;
  bool isExchanged = false;
  Value zero = getIndex(builder, loc, 0), start = loop->reverse ? loop->numSteps : zero;
  for (unsigned i = 0; i < numStates; ++i) {
    Value state = body->getArgument(firstState + i);
    int64_t rows = getNumRows(state);
    Value value = loadRows(builder, {arrays.lookup(loop->starts[i]), {}}, rows);
    carried.push_back(value);
    SmallVector<Target> targets;
    if (Value output = loop->outputs[i])
      targets.push_back({value, {arrays.lookup(output), {start}}, /*isExchange=*/false});
    if (std::optional<Place> place = findExchange(state, zero)) {
      targets.push_back({value, *place, /*isExchange=*/true});
      isExchanged = true;
    }
    storeRows(builder, targets, rows);
  }
  llvm::append_range(carried, loadSources(builder, zero));
  passed = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0));
  if (isExchanged)
    emitGroupBarrier(builder);
  carried.push_back(passed);
  return carried;
}

SmallVector<Value> CooperativeLoop::loadSources(OpBuilder &builder, Value position) {
  Value step = loop->getStep(builder, position);
  return llvm::map_to_vector(sources, [&](BlockArgument source) {
    Value array = arrays.lookup(loop->sources[source.getArgNumber()]);
    return loadRows(builder, {array, {step}}, getNumRows(source));
  });
}

void CooperativeLoop::finish(OpBuilder &builder, ValueRange carried) {
  for (auto [i, end] : llvm::enumerate(loop->ends))
    storeRows(builder, Target{carried[i], {arrays.lookup(end), {}}, /*isExchange=*/false},
              getNumRows(body->getArgument(firstState + i)));
}

void CooperativeLoop::emitGroupBarrier(OpBuilder &builder) {
  Value more = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(getNumBlocks()));
  passed = arith::AddIOp::create(builder, loc, passed, more);
  bgpu::GridBarrierOp::create(builder, loc, counters, group, passed);
}
