//===- Product.cpp - sums of products as matrix products ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Product.h"
#include "../SumOfProducts.h"
#include "bppsa/Support/TransposeVectors.h"
#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include <numeric>

using namespace mlir;
using namespace bppsa;

std::optional<int64_t> Product::getStride(unsigned operand, unsigned loop) const {
  auto type = cast<MemRefType>(generic->getOperand(operand).getType());
  SmallVector<int64_t> strides;
  int64_t offset, total = 0;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return std::nullopt;
  for (auto [stride, move] : llvm::zip_equal(strides, moves[operand][loop])) {
    if (move != 0 && ShapedType::isDynamic(stride))
      return std::nullopt;
    total += move == 0 ? 0 : move * stride;
  }
  return total;
}

int64_t Product::getRun(unsigned operand, const LoopGroup &group) const {
  int64_t run = 1;
  for (unsigned loop : llvm::reverse(group.loops)) {
    if (sizes[loop] == 1)
      continue;
    if (getStride(operand, loop) != run || ShapedType::isDynamic(sizes[loop]))
      return run;
    run *= sizes[loop];
  }
  return run;
}

int64_t Product::getSize(const LoopGroup &group, int64_t dynamic) const {
  int64_t size = 1;
  for (unsigned loop : group.loops)
    size *= ShapedType::isDynamic(sizes[loop]) ? dynamic : sizes[loop];
  return size;
}

std::optional<int64_t> Product::getSharedSize(const LoopGroup &group) const {
  int64_t size = 1;
  for (unsigned loop : ArrayRef(group.loops).take_back(group.numShared)) {
    if (ShapedType::isDynamic(sizes[loop]))
      return std::nullopt;
    size *= sizes[loop];
  }
  return size;
}

static std::optional<SmallVector<int64_t>> getMoves(AffineExpr expr, unsigned numLoops) {
  SmallVector<int64_t> flattened;
  // Divisions and remainders would add columns.
  if (failed(getFlattenedAffineExpr(expr, numLoops, /*numSymbols=*/0, &flattened)) ||
      flattened.size() != numLoops + 1)
    return std::nullopt;
  return flattened;
}

static bool findMoves(Product &product) {
  unsigned numLoops = product.sizes.size();
  for (auto [operand, map] : llvm::enumerate(product.generic.getIndexingMapsArray())) {
    product.moves[operand].assign(numLoops + 1, {});
    for (AffineExpr expr : map.getResults()) {
      std::optional<SmallVector<int64_t>> moves = getMoves(expr, numLoops);
      if (!moves)
        return false;
      for (auto [loop, move] : llvm::enumerate(*moves))
        product.moves[operand][loop].push_back(move);
    }
  }
  return true;
}

/// Returns true if different iterations of `loop` write different elements.
static bool writesDistinctElements(const Product &product, unsigned loop) {
  const auto &moves = product.moves[Product::result];
  unsigned numLoops = product.sizes.size();
  return llvm::any_of(llvm::seq<size_t>(0, moves[loop].size()), [&](size_t dimension) {
    return moves[loop][dimension] != 0 &&
           llvm::none_of(llvm::seq(0u, numLoops), [&](unsigned other) {
             return other != loop && moves[other][dimension] != 0;
           });
  });
}

static void orderLoops(const Product &product, LoopGroup &group) {
  SmallVector<unsigned> alone, shared;
  for (unsigned loop : group.loops)
    (writesDistinctElements(product, loop) ? alone : shared).push_back(loop);
  group.numShared = shared.size();
  group.loops = std::move(alone);
  llvm::append_range(group.loops, shared);
}

static bool findGroups(Product &product) {
  auto depends = [&](unsigned operand, unsigned loop) {
    return llvm::any_of(product.moves[operand][loop], [](int64_t move) { return move != 0; });
  };
  for (unsigned loop = 0; loop < product.sizes.size(); ++loop) {
    bool rows = depends(product.rowFactor, loop), lanes = depends(product.laneFactor, loop);
    bool result = depends(Product::result, loop);
    if (rows + lanes + result < 2)
      return false;
    LoopGroup &group = !result  ? product.terms
                       : !lanes ? product.rows
                       : !rows  ? product.lanes
                                : product.batch;
    group.loops.push_back(loop);
  }
  for (LoopGroup *group : {&product.batch, &product.rows, &product.lanes})
    orderLoops(product, *group);
  return product.batch.numShared == 0;
}

std::optional<Product> bppsa::findProduct(linalg::GenericOp op, unsigned laneFactor) {
  if (!isSumOfProducts(op))
    return std::nullopt;
  Product product;
  product.generic = op;
  product.laneFactor = laneFactor;
  product.rowFactor = 1 - laneFactor;
  product.sizes = op.getStaticLoopRanges();
  if (!findMoves(product) || !findGroups(product))
    return std::nullopt;
  return product;
}

static constexpr int64_t kTileTerms = kTransposedColumns;

static constexpr int64_t kMinTaskRows = 32;

static int64_t getChunk(int64_t run, int64_t block, int64_t panel) {
  int64_t chunk = std::gcd(std::gcd(std::gcd(run, block), panel), TileShape::vectorLanes);
  return chunk >= 4 ? chunk : 1;
}

/// Returns a block size near `size`, a multiple of `base` and, if possible, of `panel`.
static int64_t getBlock(int64_t size, int64_t base, int64_t panel) {
  int64_t both = std::lcm(base, panel);
  return both <= size ? both : base;
}

/// Returns true if each cache line holds terms of one row, rows have consecutive lines, and too few
/// lane panels read them to amortise packing.
static bool canReadRowsInPlace(const Product &product, TileShape tile) {
  constexpr int64_t run = TileShape::termRun, maxPanels = 4;
  return product.rows.loops.size() == 1 &&
         product.getStride(product.rowFactor, product.rows.loops.front()) == run &&
         product.getRun(product.rowFactor, product.terms) % run == 0 &&
         product.getSize(product.lanes, /*dynamic=*/1 << 20) <= maxPanels * tile.lanes;
}

Blocking Blocking::get(const Product &product, TileShape tile) {
  Blocking blocking;
  blocking.tile = tile;

  std::optional<int64_t> sharedRows = product.getSharedSize(product.rows);
  blocking.areRowsApart = sharedRows && *sharedRows <= TileShape::maxRows;
  int64_t base = getBlock(TileShape::maxRows, blocking.areRowsApart ? *sharedRows : 1, tile.rows);
  constexpr int64_t enough = TileShape::minLanes;
  std::optional<int64_t> sharedLanes = product.getSharedSize(product.lanes);
  if (sharedLanes) {
    int64_t base = getBlock(2 * enough, *sharedLanes, TileShape::vectorLanes);
    blocking.lanes = llvm::alignTo(enough, base);
  } else {
    blocking.lanes = 0;
  }
  int64_t numRows = llvm::alignTo(product.getSize(product.rows, /*dynamic=*/1 << 20), tile.rows);
  int64_t mostRows = TileShape::maxRows / base * base;
  int64_t evenRows = llvm::divideCeil(numRows, llvm::divideCeil(numRows, mostRows));
  blocking.minRows = llvm::alignTo(kMinTaskRows, base);
  blocking.rows = std::min(static_cast<int64_t>(llvm::alignTo(evenRows, base)), mostRows);

  int64_t numTerms = product.getSize(product.terms, TileShape::maxTerms);
  int64_t numBlocks = std::max<int64_t>(1, llvm::divideCeil(numTerms, TileShape::maxTerms));
  blocking.terms = std::max<int64_t>(1, llvm::divideCeil(numTerms, numBlocks));
  blocking.readsRowsInPlace = canReadRowsInPlace(product, tile);
  if (numBlocks > 1)
    blocking.terms =
        llvm::alignTo(blocking.terms, blocking.readsRowsInPlace ? TileShape::termRun : kTileTerms);

  // Dynamic sizes of the result, such as a batch, may be one; numbers of terms are usually larger.
  constexpr double enoughProducts = 1 << 17;
  double products = product.getSize(product.terms, /*dynamic=*/4);
  for (const LoopGroup *group : {&product.batch, &product.rows, &product.lanes})
    products *= product.getSize(*group, /*dynamic=*/1);
  blocking.isParallel = products >= enoughProducts;

  // In blocks of unknown size, only loops that are complete in each block are contiguous.
  auto getLaneRun = [&](unsigned operand) {
    if (blocking.lanes != 0)
      return std::gcd(product.getRun(operand, product.lanes), blocking.lanes);
    LoopGroup shared = product.lanes;
    shared.loops.erase(shared.loops.begin(), shared.loops.end() - shared.numShared);
    return product.getRun(operand, shared);
  };
  blocking.rowChunk.steps =
      getChunk(product.getRun(product.rowFactor, product.rows), blocking.rows, tile.rows);
  blocking.laneChunk.steps = getChunk(getLaneRun(product.laneFactor), tile.lanes, tile.lanes);
  blocking.resultChunk = getChunk(getLaneRun(Product::result), tile.lanes, tile.lanes);
  for (auto [chunk, factor] : {std::pair(&blocking.rowChunk, product.rowFactor),
                               std::pair(&blocking.laneChunk, product.laneFactor)})
    if (chunk->steps == 1 && product.getRun(factor, product.terms) % kTileTerms == 0)
      chunk->terms = kTileTerms;
  return blocking;
}
