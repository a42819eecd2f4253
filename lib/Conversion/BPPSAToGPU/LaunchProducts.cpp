//===- LaunchProducts.cpp - products of all steps on tensor cores ---------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A recurrence without states that multiplies what it reads by captured
// matrices is a product of matrices: its left factor has a row for each step of
// each sample. Results that multiply the same vectors, such as the products of an
// input for all gates, are parts of one product, whose right factor has all their
// matrices.
//
//===----------------------------------------------------------------------===//

#include "BPPSAToGPU.h"
#include "Products/TiledProduct.h"

using namespace mlir;
using namespace bppsa;

namespace {
/// Results of a recurrence: products of the same sequences with matrices, added up.
struct SequenceProduct {
  SmallVector<Value> sequences;
  /// For each sequence a matrix of each result.
  SmallVector<SmallVector<Value>> matrices;
  /// Vectors that are added to each row of a result; none, or one for each.
  SmallVector<Value> biases;
  /// Whether the rows of matrices are those that are summed over.
  bool isTransposed = false;
  SmallVector<Value> destinations;

  int64_t getNumColumns() const;
  /// Whether the product is worth tiles.
  bool isLarge() const;
  /// Takes in the results of a product of the same sequences; false for other products.
  bool absorb(const SequenceProduct &other);
};

class ProductLaunch {
public:
  ProductLaunch(RecurrenceOp op, TensorPrecision precision)
      : op(op), precision(precision), loc(op.getLoc()) {}

  /// Whether the body has nothing but products.
  bool match();
  bool areLarge() const;
  void launch();

private:
  FailureOr<SequenceProduct> match(Value yielded, Value destination);
  bool addTerm(SequenceProduct &product, MatVecOp term);
  /// The array that an argument stands for; null for other values.
  Value getArray(Value value, bool isSequence);
  void launch(OpBuilder &builder, const SequenceProduct &product);
  void emitTile(OpBuilder &builder, const SequenceProduct &product, TiledProduct &tiles,
                const LaunchedThread &thread, Value row, Value column);

  RecurrenceOp op;
  TensorPrecision precision;
  Location loc;
  SmallVector<SequenceProduct, 0> products;
};
} // namespace

static int64_t getVectorSize(Value array) {
  return cast<MemRefType>(array.getType()).getShape().back();
}

int64_t SequenceProduct::getNumColumns() const {
  return llvm::sum_of(llvm::map_range(destinations, getVectorSize));
}

bool SequenceProduct::isLarge() const {
  return llvm::any_of(sequences, [&](Value sequence) {
    return cost::multipliesStepsInTiles(getNumColumns(), getVectorSize(sequence));
  });
}

bool SequenceProduct::absorb(const SequenceProduct &other) {
  if (sequences != other.sequences || isTransposed != other.isTransposed ||
      biases.empty() != other.biases.empty())
    return false;
  auto canStack = [](ArrayRef<Value> stacked) { return llvm::all_of(stacked, isStackedVector); };
  if (isTransposed && !(llvm::all_of(matrices, canStack) && llvm::all_of(other.matrices, canStack)))
    return false;
  for (auto [own, others] : llvm::zip_equal(matrices, other.matrices))
    llvm::append_range(own, others);
  llvm::append_range(biases, other.biases);
  llvm::append_range(destinations, other.destinations);
  return true;
}

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
  product.matrices.push_back({matrix});
  return true;
}

FailureOr<SequenceProduct> ProductLaunch::match(Value yielded, Value destination) {
  SequenceProduct product;
  product.destinations = {destination};
  Value rest = yielded;
  while (auto term = rest ? rest.getDefiningOp<MatVecOp>() : MatVecOp()) {
    if (!addTerm(product, term))
      return failure();
    rest = term.getAddend();
  }
  if (rest) {
    Value bias = getArray(rest, /*isSequence=*/false);
    if (!bias)
      return failure();
    product.biases.push_back(bias);
  }
  return product;
}

bool ProductLaunch::match() {
  if (!op.getInitial().empty())
    return false;
  OperandRange yielded = op.getBody().front().getTerminator()->getOperands();
  for (auto [value, destination] : llvm::zip_equal(yielded, op.getDestinations())) {
    FailureOr<SequenceProduct> product = match(value, destination);
    if (failed(product))
      return false;
    if (llvm::none_of(products, [&](SequenceProduct &other) { return other.absorb(*product); }))
      products.push_back(*product);
  }
  return true;
}

bool ProductLaunch::areLarge() const {
  return llvm::all_of(products, [](const SequenceProduct &product) { return product.isLarge(); });
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
  Value destination = product.destinations[0];
  Value numRows = mulIndex(builder, loc, getDim(builder, loc, destination, 0),
                           getDim(builder, loc, destination, 1));
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
    auto [bias, position] = ArrayStack(product.biases, 0).find(nested, loc, read);
    return memref::LoadOp::create(nested, loc, bias, position);
  };
  SmallVector<Value> sums = product.biases.empty()
                                ? tiles.begin(builder, thread, row, column)
                                : tiles.begin(builder, thread, row, column, getBias);
  for (auto [sequence, matrices] : llvm::zip_equal(product.sequences, product.matrices))
    sums = tiles.multiply(builder, sequence, matrices, getIndex(builder, loc, 0),
                          getIndex(builder, loc, getVectorSize(sequence)), sums);
  ArrayStack destinations(product.destinations, 2);
  Value numSamples = destinations.getDim(builder, loc, 1);
  Value numRows = mulIndex(builder, loc, destinations.getDim(builder, loc, 0), numSamples);
  auto getStore = [&](OpBuilder &inRow, Value number) -> TiledProduct::StoreInRow {
    SmallVector<Value> at = splitIndex(inRow, loc, number, {Value(), numSamples});
    return [&, at](OpBuilder &inside, Value inColumn, Value sum) {
      auto [destination, position] = destinations.find(inside, loc, inColumn);
      memref::StoreOp::create(inside, loc, sum, destination, ValueRange{at[0], at[1], position});
    };
  };
  tiles.store(builder, sums, numRows, columns, getStore);
}

bool bppsa::areLargeProducts(RecurrenceOp op) {
  ProductLaunch launch(op, TensorPrecision::FP32);
  return launch.match() && launch.areLarge();
}

LogicalResult bppsa::launchProducts(RecurrenceOp op, TensorPrecision precision) {
  ProductLaunch launch(op, precision);
  if (!launch.match())
    return op->emitOpError("cannot be mapped to 'tiled_product', which needs products of its "
                           "sequences with captured matrices alone; use block_per_row");
  launch.launch();
  return success();
}
