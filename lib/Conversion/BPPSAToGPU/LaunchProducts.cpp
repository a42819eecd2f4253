//===- LaunchProducts.cpp - products of all steps on tensor cores ---------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A recurrence without states that multiplies what it reads by captured
// matrices is a product of matrices: its left factor has a row for each step of
// each sample.
//
//===----------------------------------------------------------------------===//

#include "BPPSAToGPU.h"
#include "Products/TiledProduct.h"

using namespace mlir;
using namespace bppsa;

namespace {
/// A result of a recurrence: products of sequences with matrices, added up.
struct SequenceProduct {
  SmallVector<Value> sequences, matrices;
  /// A vector that is added to each row, or null.
  Value bias;
  /// Whether the rows of matrices are those that are summed over.
  bool isTransposed = false;
  Value destination;

  int64_t getNumColumns() const {
    return cast<MemRefType>(destination.getType()).getShape().back();
  }
  int64_t getDepth(size_t term) const {
    return cast<MemRefType>(sequences[term].getType()).getShape().back();
  }
};

class ProductLaunch {
public:
  ProductLaunch(RecurrenceOp op, TensorPrecision precision)
      : op(op), precision(precision), loc(op.getLoc()) {}

  bool match();
  void launch();

private:
  std::optional<SequenceProduct> match(Value yielded, Value destination);
  bool addTerm(SequenceProduct &product, MatVecOp term);
  /// The array that an argument stands for; null for other values.
  Value getArray(Value value, bool isSequence);
  void launch(OpBuilder &builder, const SequenceProduct &product);
  void emitTile(OpBuilder &builder, const SequenceProduct &product, TiledProduct &tiles,
                const LaunchedThread &thread, Value row, Value column);

  RecurrenceOp op;
  TensorPrecision precision;
  Location loc;
  SmallVector<SequenceProduct> products;
};
} // namespace

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

Value ProductLaunch::getArray(Value value, bool isSequence) {
  auto argument = dyn_cast<BlockArgument>(value);
  unsigned numSequences = op.getSequences().size();
  if (!argument || (argument.getArgNumber() < numSequences) != isSequence)
    return Value();
  return isSequence ? op.getSequences()[argument.getArgNumber()]
                    : op.getCaptures()[argument.getArgNumber() - numSequences];
}

bool ProductLaunch::addTerm(SequenceProduct &product, MatVecOp term) {
  Value sequence = getArray(term.getVector(), /*isSequence=*/true);
  Value matrix = getArray(term.getMatrix(), /*isSequence=*/false);
  if (!sequence || !matrix || !isTiledFactor(sequence) || !isTiledFactor(matrix))
    return false;
  if (!product.sequences.empty() && product.isTransposed != term.getTransposed())
    return false;
  product.isTransposed = term.getTransposed();
  product.sequences.push_back(sequence);
  product.matrices.push_back(matrix);
  return true;
}

std::optional<SequenceProduct> ProductLaunch::match(Value yielded, Value destination) {
  SequenceProduct product;
  product.destination = destination;
  Value rest = yielded;
  while (auto term = rest ? rest.getDefiningOp<MatVecOp>() : MatVecOp()) {
    if (!addTerm(product, term))
      return std::nullopt;
    rest = term.getAddend();
  }
  if (rest && !(product.bias = getArray(rest, /*isSequence=*/false)))
    return std::nullopt;
  bool isLarge = llvm::any_of(llvm::seq(product.sequences.size()), [&](size_t term) {
    return cost::multipliesStepsInTiles(product.getNumColumns(), product.getDepth(term));
  });
  return isLarge ? std::optional(product) : std::nullopt;
}

bool ProductLaunch::match() {
  if (!op.getInitial().empty())
    return false;
  OperandRange yielded = op.getBody().front().getTerminator()->getOperands();
  for (auto [value, destination] : llvm::zip_equal(yielded, op.getDestinations())) {
    std::optional<SequenceProduct> product = match(value, destination);
    if (!product)
      return false;
    products.push_back(*product);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

void ProductLaunch::launch() {
  OpBuilder builder(op);
  for (const SequenceProduct &product : products)
    launch(builder, product);
}

void ProductLaunch::launch(OpBuilder &builder, const SequenceProduct &product) {
  TiledProduct tiles(loc, precision, ShapedType::kDynamic, product.getNumColumns(),
                     FactorRows::OfSide,
                     product.isTransposed ? FactorRows::OfDepth : FactorRows::OfSide);
  Value numRows = mulIndex(builder, loc, getDim(builder, loc, product.destination, 0),
                           getDim(builder, loc, product.destination, 1));
  Value tileRows = getIndex(builder, loc, tiles.getTileRows());
  Value tileColumns = getIndex(builder, loc, tiles.getTileColumns());
  Value columnsOfTiles =
      getIndex(builder, loc, llvm::divideCeil(product.getNumColumns(), tiles.getTileColumns()));
  Value rowsOfTiles = arith::CeilDivUIOp::create(builder, loc, numRows, tileRows);
  emitLaunch(builder, loc, mulIndex(builder, loc, rowsOfTiles, columnsOfTiles),
             TiledProduct::kThreads, tiles.getSharedTypes(builder),
             [&](OpBuilder &nested, const LaunchedThread &thread) {
               SmallVector<Value> digits =
                   splitIndex(nested, loc, thread.block, {Value(), columnsOfTiles});
               emitTile(nested, product, tiles, thread, mulIndex(nested, loc, digits[0], tileRows),
                        mulIndex(nested, loc, digits[1], tileColumns));
             });
}

void ProductLaunch::emitTile(OpBuilder &builder, const SequenceProduct &product,
                             TiledProduct &tiles, const LaunchedThread &thread, Value row,
                             Value column) {
  int64_t columns = product.getNumColumns();
  auto getBias = [&](OpBuilder &nested, Value at) -> Value {
    Value read = minIndex(nested, loc, at, getIndex(nested, loc, columns - 1));
    return memref::LoadOp::create(nested, loc, product.bias, read);
  };
  SmallVector<Value> sums = product.bias ? tiles.begin(builder, thread, row, column, getBias)
                                         : tiles.begin(builder, thread, row, column);
  for (size_t i = 0; i < product.sequences.size(); ++i)
    sums = tiles.multiply(builder, product.sequences[i], product.matrices[i],
                          getIndex(builder, loc, 0), getIndex(builder, loc, product.getDepth(i)),
                          sums);
  Value numSamples = getDim(builder, loc, product.destination, 1);
  Value numRows = mulIndex(builder, loc, getDim(builder, loc, product.destination, 0), numSamples);
  auto getStore = [&](OpBuilder &inRow, Value number) -> TiledProduct::StoreInRow {
    SmallVector<Value> at = splitIndex(inRow, loc, number, {Value(), numSamples});
    return [&, at](OpBuilder &inside, Value inColumn, Value sum) {
      memref::StoreOp::create(inside, loc, sum, product.destination,
                              ValueRange{at[0], at[1], inColumn});
    };
  };
  tiles.store(builder, sums, numRows, columns, getStore);
}

bool bppsa::launchProducts(RecurrenceOp op, TensorPrecision precision) {
  ProductLaunch launch(op, precision);
  if (!launch.match())
    return false;
  launch.launch();
  return true;
}
