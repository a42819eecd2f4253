//===- MatVecKernel.cpp - matrix-vector products of a row block -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "LaneEmitter.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

/// Number of columns up to which the column loop is unrolled.
static constexpr int64_t kMaxUnrolledColumns = 4;

/// If lanes hold units and there are few accumulators, columns are distributed over partial sums
/// until enough additions are in flight.
static constexpr int64_t kMaxPartials = 4;
static constexpr int64_t kAccumulatorsInFlight = 8;

/// Above this size, the hardware prefetches far enough ahead.
static constexpr int64_t kBytesOfLongStep = 4096;

/// Number of columns above which storing sums to memory is cheap.
static constexpr int64_t kManyColumns = 64;

static int64_t getWidth(Value vector) { return cast<VectorType>(vector.getType()).getDimSize(0); }

Value LaneEmitter::loadMatrix(OpBuilder &builder, Location loc, MatVecOp op, const Tile &tile,
                              Value col) {
  Value matrix = captures[cast<BlockArgument>(op.getMatrix()).getArgNumber() - firstCapture];
  SmallVector<Value, 2> indices = {tile.first, col};
  if (op.getTransposed())
    std::swap(indices[0], indices[1]);
  // Units are contiguous in a transposed matrix.
  if (lanesHoldUnits())
    return loadEntries(builder, loc, matrix, indices, op.getTransposed() ? 1 : 0, tile.width);
  Value entry = memref::LoadOp::create(builder, loc, matrix, indices);
  return vector::BroadcastOp::create(builder, loc, getTileType(op.getType(), tile), entry);
}

static bool dependsOnSum(Value value, const BodyPlan &plan, const RowUnit &unit) {
  SmallVector<Value> worklist = {value};
  DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (llvm::any_of(unit.sums, [&](const ProductSum &sum) { return sum.result == next; }))
      return true;
    Operation *op = next.getDefiningOp();
    if (op && !plan.isLoadedAt(next, unit) && !isa<vector::ExtractStridedSliceOp>(op))
      llvm::append_range(worklist, op->getOperands());
  }
  return false;
}

int64_t LaneEmitter::getNumPartials(const RowUnit &unit) const {
  if (!lanesHoldUnits() || unit.sums.empty())
    return 1;
  int64_t count = unit.sums.size(), partials = 1;
  count *= getTilesTogether(unit, /*accumulators=*/count);
  while (partials < kMaxPartials && partials * count < kAccumulatorsInFlight &&
         2 * partials * count <= options.getNumAccumulators())
    partials *= 2;
  return partials;
}

void LaneEmitter::accumulateColumn(OpBuilder &builder, Location loc,
                                   ArrayRef<Accumulation> products, ArrayRef<Tile> tiles, Value col,
                                   Accumulators &accumulators) {
  // Entry of each sample, and the last factor broadcast from it.
  SmallVector<Value> entries(options.samples), last(options.samples), factors;
  for (auto [i, tile] : llvm::enumerate(tiles)) {
    Value &entry = entries[i % options.samples], &factor = last[i % options.samples];
    if (!entry) {
      Rows source = getRootRows(builder, loc, products.front().getVector(), tile.sample);
      entry =
          lanesHoldUnits() ? source.loadEntry(builder, loc, col) : source.load(builder, loc, col);
    }
    if (!lanesHoldUnits())
      factor = entry;
    else if (!factor || getWidth(factor) != tile.width)
      factor = vector::BroadcastOp::create(builder, loc,
                                           VectorType::get(tile.width, entry.getType()), entry);
    factors.push_back(factor);
  }
  for (const Accumulation &item : products) {
    Value entriesOfMatrix;
    for (auto [tile, factor, accumulator] :
         llvm::zip_equal(tiles, factors, accumulators[item.sum])) {
      if (!tile.sample)
        entriesOfMatrix = loadMatrix(builder, loc, item.product, tile, col);
      accumulator = vector::FMAOp::create(builder, loc, entriesOfMatrix, factor, accumulator);
    }
  }
}

/// Products of one vector share a loop.
static int64_t countLoopColumns(const RowUnit &unit) {
  SetVector<Value> vectors;
  for (const ProductSum &sum : unit.sums)
    for (MatVecOp product : sum.products)
      vectors.insert(product.getVector());
  int64_t count = 0;
  for (Value vector : vectors)
    if (int64_t numCols = getNumRows(vector); numCols > kMaxUnrolledColumns)
      count += numCols;
  return count;
}

int64_t LaneEmitter::getSumsTogether(const RowUnit &unit) const {
  int64_t sums = unit.sums.size();
  if (!options.hasFewRegisters())
    return sums;
  // Compute sums one by one: if some sums have no product with a vector, the remaining sums would
  // be too few to hide their latency.
  if (!lanesHoldUnits())
    return sums > 1 && countLoopColumns(unit) >= kManyColumns ? 1 : sums;
  if (options.samples == 1)
    return sums;
  int64_t most = options.getNumAccumulators() / (options.samples * getNumPartials(unit));
  return std::clamp<int64_t>(most, 1, sums);
}

static int64_t getBytesOfRow(const Rows &rows) {
  VectorType type = rows.getRowType();
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

void LaneEmitter::planFetches(ArrayRef<Rows> laterArguments) {
  fetched.clear();
  fetchingColumns = 0;
  fetchedWithRows.assign(laterArguments.size(), Rows());
  // Samples that share large matrices are compute-bound.
  if (options.samples > 1)
    return;
  for (auto [argument, rows] : llvm::zip(body->getArguments(), laterArguments))
    if (rows.memref)
      fetched.push_back({rows, getNumRows(argument)});
  for (const RowUnit &unit : plan.getUnits())
    if (!lanesHoldUnits() && getTilesTogether(unit) == unit.rows)
      fetchingColumns += countLoopColumns(unit);
  if (fetchingColumns > 0 || !options.hasFewRegisters())
    return;
  for (auto [argument, rows, fetches] :
       llvm::zip(body->getArguments(), laterArguments, fetchedWithRows))
    if (rows.memref && getNumRows(argument) * getBytesOfRow(rows) < kBytesOfLongStep)
      fetches = rows;
}

SmallVector<LaneEmitter::FetchedRows> LaneEmitter::takeFetched(int64_t numCols) {
  int64_t left = 0;
  for (const FetchedRows &item : fetched)
    left += item.count;
  int64_t together = llvm::divideCeil(left, fetchingColumns);
  fetchingColumns -= numCols;
  SmallVector<FetchedRows> taken;
  for (int64_t i = 0; i < together && !fetched.empty(); ++i) {
    FetchedRows &next = fetched.back();
    taken.push_back({next.rows, std::min(next.count, numCols)});
    next = {next.rows.dropFront(numCols), next.count - numCols};
    if (next.count <= 0)
      fetched.pop_back();
  }
  return taken;
}

void LaneEmitter::emitFetches(OpBuilder &builder, Location loc, ArrayRef<FetchedRows> fetched,
                              Value col, int64_t numCols) {
  for (const FetchedRows &item : fetched) {
    Value row = col;
    if (item.count < numCols)
      row = arith::MinUIOp::create(builder, loc, col, getIndex(builder, loc, item.count - 1));
    item.rows.prefetch(builder, loc, row, /*isWrite=*/false);
  }
}

/// Distributes columns round-robin.
void LaneEmitter::accumulateProducts(OpBuilder &builder, Location loc,
                                     ArrayRef<Accumulation> products, ArrayRef<Tile> tiles,
                                     MutableArrayRef<Accumulators> partials, bool fetches) {
  int64_t numCols = getNumRows(products.front().getVector()), numPartials = partials.size();
  SmallVector<FetchedRows> beside;
  if (fetches && numCols > kMaxUnrolledColumns)
    beside = takeFetched(numCols);
  auto accumulate = [&](OpBuilder &at, Value col, int64_t count) {
    emitFetches(at, loc, beside, col, numCols);
    for (int64_t i = 0; i < count; ++i)
      accumulateColumn(at, loc, products, tiles, addIndex(at, loc, col, i), partials[i]);
  };
  int64_t whole = numCols / numPartials * numPartials;
  if (numCols <= kMaxUnrolledColumns) {
    for (int64_t col = 0; col < numCols; ++col)
      accumulateColumn(builder, loc, products, tiles, getIndex(builder, loc, col),
                       partials[col % numPartials]);
    return;
  }
  SmallVector<size_t> used;
  for (const Accumulation &item : products)
    if (!llvm::is_contained(used, item.sum))
      used.push_back(item.sum);
  auto collect = [&] {
    SmallVector<Value> values;
    for (Accumulators &partial : partials)
      for (size_t sum : used)
        llvm::append_range(values, partial[sum]);
    return values;
  };
  auto assign = [&](ValueRange from) {
    size_t next = 0;
    for (Accumulators &partial : partials)
      for (size_t sum : used)
        for (Value &accumulator : partial[sum])
          accumulator = from[next++];
  };
  auto loop =
      scf::ForOp::create(builder, loc, getIndex(builder, loc, 0), getIndex(builder, loc, whole),
                         getIndex(builder, loc, numPartials), collect(),
                         [&](OpBuilder &nested, Location, Value col, ValueRange iteration) {
                           assign(iteration);
                           accumulate(nested, col, numPartials);
                           scf::YieldOp::create(nested, loc, collect());
                         });
  assign(loop.getResults());
  if (whole < numCols)
    accumulate(builder, getIndex(builder, loc, whole), numCols - whole);
}

/// Vectors are in the order in which sums add their products.
static SetVector<Value> getVectors(const RowUnit &unit) {
  SetVector<Value> vectors;
  for (const ProductSum &sum : unit.sums)
    for (MatVecOp product : llvm::reverse(sum.products))
      vectors.insert(product.getVector());
  return vectors;
}

void LaneEmitter::startSums(OpBuilder &builder, Location loc, const RowUnit &unit, size_t i,
                            ArrayRef<Tile> tiles, MutableArrayRef<RowValues> values,
                            MutableArrayRef<Accumulators> partials) {
  const ProductSum &sum = unit.sums[i];
  bool startsAtAddend = sum.addend && !dependsOnSum(sum.addend, plan, unit);
  for (auto [tile, known] : llvm::zip_equal(tiles, values))
    for (auto [p, partial] : llvm::enumerate(partials)) {
      if (startsAtAddend && p == 0)
        partial[i].push_back(getRow(builder, loc, sum.addend, unit, tile, known));
      else
        partial[i].push_back(arith::ConstantOp::create(
            builder, loc, builder.getZeroAttr(getTileType(sum.result.getType(), tile))));
    }
}

/// Products of one vector share a loop, which loads each entry once per block.
LaneEmitter::Accumulators LaneEmitter::accumulateSums(OpBuilder &builder, Location loc,
                                                      const RowUnit &unit, size_t first, size_t end,
                                                      ArrayRef<Tile> tiles,
                                                      MutableArrayRef<RowValues> values) {
  SmallVector<Accumulators> partials(getNumPartials(unit), Accumulators(unit.sums.size()));
  for (size_t i = first; i < end; ++i)
    startSums(builder, loc, unit, i, tiles, values, partials);
  bool fetches = !lanesHoldUnits() && unit.rows == static_cast<int64_t>(tiles.size());
  for (Value vector : getVectors(unit)) {
    SmallVector<Accumulation> products;
    for (size_t i = first; i < end; ++i)
      for (MatVecOp product : llvm::reverse(unit.sums[i].products))
        if (product.getVector() == vector)
          products.push_back({product, i});
    if (!products.empty())
      accumulateProducts(builder, loc, products, tiles, partials, fetches);
  }
  // Pairwise additions are independent.
  for (size_t count = partials.size(); count > 1; count /= 2)
    for (size_t p = 0; p < count / 2; ++p)
      for (auto [into, from] : llvm::zip_equal(partials[p], partials[p + count / 2]))
        for (auto [accumulator, other] : llvm::zip_equal(into, from))
          accumulator = arith::AddFOp::create(builder, loc, accumulator, other);
  return partials.front();
}

/// Sums are finished in the order of their dependences.
void LaneEmitter::finishSum(OpBuilder &builder, Location loc, const RowUnit &unit, size_t i,
                            const Tile &tile, Value accumulated, RowValues &values) {
  const ProductSum &sum = unit.sums[i];
  if (sum.addend && dependsOnSum(sum.addend, plan, unit))
    accumulated = arith::AddFOp::create(builder, loc, accumulated,
                                        getRow(builder, loc, sum.addend, unit, tile, values));
  values[sum.result] = accumulated;
}
