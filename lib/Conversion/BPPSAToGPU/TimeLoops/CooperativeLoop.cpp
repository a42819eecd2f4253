//===- CooperativeLoop.cpp - blocks that share the rows of a loop ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "CooperativeLoop.h"
#include "../Steps/BlockBarrier.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace bppsa;

/// Rows of arrays that all blocks read are multiples of what a warp reads at a time.
static constexpr int64_t kRowsTogether = cost::cooperativeColumns;

/// Counters are apart from each other, as blocks wait at them.
static constexpr int64_t kCounterStride = 32;

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

CooperativeLoop::CooperativeLoop(BodyPlan bodyPlan, const LoopBody &loop, ValueRange captures,
                                 int64_t rowsOfWarp)
    : RowEvaluator(std::move(bodyPlan), *loop.body, captures),
      loc(loop.body->getTerminator()->getLoc()), firstState(loop.firstState),
      numStates(loop.numStates), rowsOfWarp(rowsOfWarp) {
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
    if (exchanged.insert({value, {getNumRows(value), rowsOfVectors}}).second)
      rowsOfVectors += llvm::alignTo(getNumRows(value), kRowsTogether);
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
    mostSums = std::max<int64_t>(mostSums, unit.sums.size());
    for (const ProductSum &sum : unit.sums)
      for (MatVecOp product : sum.products)
        numEntries +=
            rowsOfWarp * llvm::divideCeil(getNumRows(product.getVector()), kRowsTogether) * 4;
  }
}

int64_t CooperativeLoop::getMostSamples() const { return kWarpThreads / rowsOfWarp; }
int64_t CooperativeLoop::getRowsOfBlock() const { return cost::cooperativeWarps * rowsOfWarp; }

FailureOr<CooperativeLoop> CooperativeLoop::create(const LoopBody &loop, ValueRange captures,
                                                   GPUMappingAttr mapping) {
  FailureOr<BodyPlan> plan = BodyPlan::create(*loop.body, loop.numCaptures);
  if (failed(plan))
    return failure();
  if (std::string obstacle = findObstacleToSharing(loop); !obstacle.empty())
    return loop.op->emitOpError("cannot be mapped to 'cooperative', which needs ")
           << obstacle << "; use block_per_row";
  return CooperativeLoop(std::move(*plan), loop, captures, mapping.getRows());
}

//===----------------------------------------------------------------------===//
// The host
//===----------------------------------------------------------------------===//

static void emitZeros(OpBuilder &builder, Location loc, Value array) {
  auto type = cast<MemRefType>(array.getType());
  SmallVector<Value> sizes;
  Value count = getIndex(builder, loc, 1);
  for (int64_t i = 0; i < type.getRank(); ++i) {
    sizes.push_back(getDim(builder, loc, array, i));
    count = mulIndex(builder, loc, count, sizes.back());
  }
  emitForEachThread(builder, loc, count, [&](OpBuilder &nested, Value number) {
    Value zero = arith::ConstantOp::create(nested, loc, nested.getZeroAttr(type.getElementType()));
    memref::StoreOp::create(nested, loc, zero, array, splitIndex(nested, loc, number, sizes));
  });
}

static Value countMultiprocessors(OpBuilder &builder, Location loc, ModuleOp module) {
  constexpr StringLiteral name = "bppsa_rt_multiprocessors";
  auto function = module.lookupSymbol<func::FuncOp>(name);
  if (!function) {
    OpBuilder atStart = OpBuilder::atBlockBegin(module.getBody());
    function = func::FuncOp::create(atStart, module.getLoc(), name,
                                    builder.getFunctionType({}, {builder.getI64Type()}));
    function.setPrivate();
  }
  Value count = func::CallOp::create(builder, loc, function).getResult(0);
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), count);
}

/// For the smallest groups: how much memory there is must not depend on the GPU.
void CooperativeLoop::allocate(OpBuilder &builder) {
  Value size = getIndex(builder, loc, kTile);
  Value numGroups = arith::CeilDivUIOp::create(builder, loc, loop->numSamples, size);
  Value padded = mulIndex(builder, loc, numGroups, size);
  auto allocateZeros = [&](MemRefType type, Value dynamic) -> Value {
    Value array =
        memref::AllocOp::create(builder, loc, type, dynamic, builder.getI64IntegerAttr(64));
    emitZeros(builder, loc, array);
    return array;
  };
  counters = allocateZeros(
      MemRefType::get({ShapedType::kDynamic, kCounterStride}, builder.getI32Type()), numGroups);
  vectors = allocateZeros(
      MemRefType::get({2, ShapedType::kDynamic, rowsOfVectors}, builder.getF32Type()), padded);
}

/// A multiple of kTile, and no more than lanes have: as few as let all groups be held at a time, as
/// a block runs samples one after the other.
Value CooperativeLoop::chooseSamples(OpBuilder &builder, Value together) {
  Value tile = getIndex(builder, loc, kTile);
  Value share = arith::CeilDivUIOp::create(builder, loc, loop->numSamples, together);
  Value tiles = arith::CeilDivUIOp::create(builder, loc, share, tile);
  Value samples = arith::MaxUIOp::create(builder, loc, mulIndex(builder, loc, tiles, tile), tile);
  return minIndex(builder, loc, samples, getIndex(builder, loc, getMostSamples()));
}

/// Blocks of one group run at the same time, and of as many groups as can be held.
void CooperativeLoop::launch(OpBuilder &builder, const GridLoop &grid) {
  loop = &grid;
  loc = loop->op->getLoc();
  allocate(builder);
  Value numBlocks = getIndex(builder, loc, llvm::divideCeil(numRows, getRowsOfBlock()));
  Value multiprocessors = countMultiprocessors(builder, loc, loop->op->getParentOfType<ModuleOp>());
  Value together = arith::MaxUIOp::create(
      builder, loc, arith::DivUIOp::create(builder, loc, multiprocessors, numBlocks),
      getIndex(builder, loc, 1));
  numSamples = chooseSamples(builder, together);
  Value numGroups = arith::CeilDivUIOp::create(builder, loc, loop->numSamples, numSamples);
  Value numLaunches = arith::CeilDivUIOp::create(builder, loc, numGroups, together);
  auto shared =
      MemRefType::get({cost::cooperativeWarps, mostSums * kWarpThreads}, builder.getF32Type());
  emitLoop(builder, loc, getIndex(builder, loc, 0), numLaunches, [&](OpBuilder &nested, Value i) {
    Value first = mulIndex(nested, loc, i, together);
    Value left = arith::SubIOp::create(nested, loc, numGroups, first);
    Value blocks = mulIndex(nested, loc, minIndex(nested, loc, left, together), numBlocks);
    emitLaunch(nested, loc, blocks, cost::cooperativeWarps * kWarpThreads, shared,
               [&](OpBuilder &inside, const LaunchedThread &thread) {
                 emitThread(inside, thread, first);
               });
  });
  memref::DeallocOp::create(builder, loc, counters);
  memref::DeallocOp::create(builder, loc, vectors);
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

void CooperativeLoop::emitThread(OpBuilder &builder, const LaunchedThread &thread,
                                 Value firstGroup) {
  auto index = [&](int64_t value) { return getIndex(builder, loc, value); };
  sums = thread.shared[0];
  SmallVector<Value> block = splitIndex(
      builder, loc, thread.block, {Value(), index(llvm::divideCeil(numRows, getRowsOfBlock()))});
  SmallVector<Value> digits =
      splitIndex(builder, loc, thread.thread, {Value(), index(kWarpThreads)});
  group = addIndex(builder, loc, firstGroup, block[0]);
  warp = digits[0];
  lane = digits[1];
  isFirst = isEqual(builder, loc, thread.thread, index(0));
  firstRow = addIndex(builder, loc, mulIndex(builder, loc, block[1], index(getRowsOfBlock())),
                      mulIndex(builder, loc, warp, index(rowsOfWarp)));
  SmallVector<Value> cell = splitIndex(builder, loc, lane, {Value(), index(rowsOfWarp)});
  row = addIndex(builder, loc, firstRow, cell[1]);
  Value firstSlot = mulIndex(builder, loc, group, numSamples);
  slot = addIndex(builder, loc, firstSlot, cell[0]);
  hasSample = arith::AndIOp::create(builder, loc, isBelow(builder, loc, cell[0], numSamples),
                                    isBelow(builder, loc, slot, loop->numSamples));
  sample = minIndex(builder, loc, slot, addIndex(builder, loc, loop->numSamples, -1));
  Value left = arith::SubIOp::create(builder, loc, loop->numSamples, firstSlot);
  left = minIndex(builder, loc, left, numSamples);
  numTiles =
      arith::DivUIOp::create(builder, loc, addIndex(builder, loc, left, kTile - 1), index(kTile));
  loadCapturedRows(builder, loc, row);
  loadMatrices(builder);
  SmallVector<Value> carried = start(builder);
  carried = emitFold(builder, loc, index(0), loop->numSteps, carried,
                     [&](OpBuilder &nested, Value position, ValueRange values) {
                       return emitStep(nested, position, values);
                     });
  finish(builder, carried);
}

Value CooperativeLoop::ownsRow(OpBuilder &builder, int64_t rows) {
  Value exists = isBelow(builder, loc, row, getIndex(builder, loc, rows));
  return arith::AndIOp::create(builder, loc, exists, hasSample);
}

/// What the first step begins with: rows of states, those of sources, and the count at
/// which the last barrier ended.
SmallVector<Value> CooperativeLoop::start(OpBuilder &builder) {
  SmallVector<Value> carried;
  bool isExchanged = false;
  for (unsigned i = 0; i < numStates; ++i) {
    Value state = body->getArgument(firstState + i);
    int64_t rows = getNumRows(state);
    Value at = minIndex(builder, loc, row, getIndex(builder, loc, rows - 1));
    Value value = loop->getStart(builder, i, sample).load(builder, loc, at);
    carried.push_back(value);
    auto exchange = exchanged.find(state);
    isExchanged |= exchange != exchanged.end();
    emitIf(builder, loc, ownsRow(builder, rows), [&](OpBuilder &nested) {
      for (const Place &copy : loop->getStartCopies(nested, i, sample))
        copy.store(nested, loc, value, row);
      if (exchange != exchanged.end())
        getExchange(exchange->second, getIndex(nested, loc, 0)).store(nested, loc, value, row);
    });
  }
  llvm::append_range(carried, loadSources(builder, getIndex(builder, loc, 0)));
  passed = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0));
  if (isExchanged)
    awaitGroup(builder);
  carried.push_back(passed);
  return carried;
}

SmallVector<Value> CooperativeLoop::loadSources(OpBuilder &builder, Value position) {
  SmallVector<Value> rows;
  for (Value source : sources) {
    Value at = minIndex(builder, loc, row, getIndex(builder, loc, getNumRows(source) - 1));
    unsigned argument = cast<BlockArgument>(source).getArgNumber();
    rows.push_back(loop->getSource(builder, argument, position, sample).load(builder, loc, at));
  }
  return rows;
}

void CooperativeLoop::awaitGroup(OpBuilder &builder) {
  int64_t numBlocks = llvm::divideCeil(numRows, getRowsOfBlock());
  Value more = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(numBlocks));
  passed = arith::AddIOp::create(builder, loc, passed, more);
  emitBlockBarrier(builder, loc, isFirst, counters, group, passed);
}

void CooperativeLoop::finish(OpBuilder &builder, ValueRange carried) {
  for (unsigned i = 0; i < numStates; ++i) {
    int64_t rows = getNumRows(body->getArgument(firstState + i));
    emitIf(builder, loc, ownsRow(builder, rows), [&](OpBuilder &nested) {
      for (const Place &end : loop->getEnds(nested, i, sample))
        end.store(nested, loc, carried[i], row);
    });
  }
}
