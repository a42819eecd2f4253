//===- TiledProducts.cpp - tiled products of all time steps ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Results that multiply the same vectors, such as the input projections of all gates, are combined
// into one matrix product with one row per step and sample.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BGPU/Analysis/TiledProducts.h"
#include "bppsa/Dialect/BGPU/Analysis/DeviceArrays.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"

using namespace mlir;
using namespace bppsa;

static int64_t getVectorSize(Value array) {
  return cast<MemRefType>(array.getType()).getShape().back();
}

bool bppsa::isTiledFactor(Value array) {
  auto type = dyn_cast<MemRefType>(array.getType());
  return type && (type.getRank() == 2 || type.getRank() == 3) && type.getElementType().isF32() &&
         !type.isDynamicDim(type.getRank() - 1) && type.isLastDimUnitStride();
}

/// Vectors copied element by element are not stacked: a thread would need registers for the array
/// of each element.
static bool isStackedVector(Value array) {
  return getAlignedElements(cast<MemRefType>(array.getType())) > 1;
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

static Value getArray(RecurrenceOp op, Value value, bool isSequence) {
  auto argument = dyn_cast<BlockArgument>(value);
  unsigned numSequences = op.getSequences().size();
  if (!argument || (argument.getArgNumber() < numSequences) != isSequence)
    return Value();
  return isSequence ? op.getSequences()[argument.getArgNumber()]
                    : op.getCaptures()[argument.getArgNumber() - numSequences];
}

static bool addTerm(RecurrenceOp op, SequenceProduct &product, MatVecOp term) {
  Value sequence = getArray(op, term.getVector(), /*isSequence=*/true);
  Value matrix = getArray(op, term.getMatrix(), /*isSequence=*/false);
  if (!sequence || !matrix || !isTiledFactor(sequence) || !isTiledFactor(matrix))
    return false;
  if (!product.sequences.empty() && product.isTransposed != term.getTransposed())
    return false;
  product.isTransposed = term.getTransposed();
  product.sequences.push_back(sequence);
  product.matrices.push_back({matrix});
  return true;
}

static FailureOr<SequenceProduct> match(RecurrenceOp op, Value yielded, Value destination) {
  SequenceProduct product;
  product.destinations = {destination};
  Value rest = yielded;
  while (auto term = rest ? rest.getDefiningOp<MatVecOp>() : MatVecOp()) {
    if (!addTerm(op, product, term))
      return failure();
    rest = term.getAddend();
  }
  if (rest) {
    Value bias = getArray(op, rest, /*isSequence=*/false);
    if (!bias)
      return failure();
    product.biases.push_back(bias);
  }
  return product;
}

FailureOr<SmallVector<SequenceProduct, 0>> bppsa::getSequenceProducts(RecurrenceOp op) {
  if (!op.getInitial().empty())
    return failure();
  SmallVector<SequenceProduct, 0> products;
  OperandRange yielded = op.getBody().front().getTerminator()->getOperands();
  for (auto [value, destination] : llvm::zip_equal(yielded, op.getDestinations())) {
    FailureOr<SequenceProduct> product = match(op, value, destination);
    if (failed(product))
      return failure();
    if (llvm::none_of(products, [&](SequenceProduct &other) { return other.absorb(*product); }))
      products.push_back(*product);
  }
  return products;
}

bool bppsa::areLargeProducts(RecurrenceOp op) {
  FailureOr<SmallVector<SequenceProduct, 0>> products = getSequenceProducts(op);
  return succeeded(products) &&
         llvm::all_of(*products, [](const SequenceProduct &product) { return product.isLarge(); });
}

//===----------------------------------------------------------------------===//
// Outer sums
//===----------------------------------------------------------------------===//

size_t bppsa::countFusable(ArrayRef<Operation *> ops) {
  auto first = dyn_cast<OuterSumOp>(ops[0]);
  size_t count = 1;
  for (; first && count < ops.size(); ++count) {
    auto next = dyn_cast<OuterSumOp>(ops[count]);
    if (!next || next.getRhs() != first.getRhs() || next->getPrevNode() != ops[count - 1] ||
        attrs::Mapping::of(next) != attrs::Mapping::of(first))
      break;
  }
  return count;
}

bool bppsa::areLargeSums(ArrayRef<OuterSumOp> ops) {
  int64_t rows = 0, columns = 0;
  for (OuterSumOp op : ops) {
    auto destination = cast<MemRefType>(op.getDestination().getType());
    rows += destination.getDimSize(0);
    columns = destination.getDimSize(1);
  }
  return cost::multipliesInTiles(rows, columns) && llvm::all_of(ops, [](OuterSumOp op) {
           return isTiledFactor(op.getLhs()) && isTiledFactor(op.getRhs());
         });
}

bool bppsa::canStack(ArrayRef<OuterSumOp> ops) {
  return llvm::all_of(ops, [](OuterSumOp op) { return isStackedVector(op.getLhs()); });
}
