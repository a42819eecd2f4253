//===- LinkTerms.cpp - derivatives of a body as sums of terms -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "LinkTerms.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace bppsa;

bool LinkTerm::isKnown() const {
  return !left.isUnknown && !right.isUnknown && (kind == Matrix::None || kind == Matrix::Capture);
}

jacobian::StructureAttr LinkTerm::getStructure(MLIRContext *context, int64_t rows,
                                               int64_t cols) const {
  auto get = [&](jacobian::StructureKind kind) {
    return jacobian::StructureAttr::get(context, kind);
  };
  if (kind == Matrix::Any)
    return get(jacobian::StructureKind::Dense);
  // A negated matrix is not the identity, so the sign is part of the structure.
  jacobian::StructureAttr diagonal = get(jacobian::StructureKind::Diagonal);
  if (kind == Matrix::None)
    return right.isOne() && !isNegated ? get(jacobian::StructureKind::Identity) : diagonal;
  jacobian::StructureAttr structure = get(jacobian::StructureKind::SharedDense);
  if (!left.isOne())
    structure = jacobian::StructureAttr::product(diagonal, structure, rows, rows, cols);
  return right.isOne() ? structure
                       : jacobian::StructureAttr::product(structure, diagonal, rows, cols, cols);
}

LinkTerms::LinkTerms(Operation *loop, Block &scales)
    : body(loop->getRegion(0).front()), builder(loop->getContext()) {
  if (auto chain = dyn_cast<ChainOp>(loop)) {
    firstState = chain.getSaved().size();
    numStates = chain.getSeeds().size();
  } else {
    auto recurrence = cast<RecurrenceOp>(loop);
    firstState = recurrence.getSequences().size();
    numStates = recurrence.getInitial().size();
  }
  builder.setInsertionPointToEnd(&scales);
  for (BlockArgument argument : body.getArguments()) {
    unsigned number = argument.getArgNumber();
    if (number >= firstState && number < firstState + numStates)
      terms[argument].push_back({static_cast<unsigned>(number - firstState), {}, {}});
    else
      copies.map(argument, scales.addArgument(argument.getType(), argument.getLoc()));
  }
  for (Operation &op : body.without_terminator())
    visit(op);
}

static bool isFloatVector(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector && isa<FloatType>(vector.getElementType());
}

/// Keeps only the states of `terms`; the matrices become unknown.
static SmallVector<LinkTerm> forget(ArrayRef<LinkTerm> terms) {
  return llvm::map_to_vector(terms, [](const LinkTerm &term) {
    return LinkTerm{term.col, {}, {}, LinkTerm::Matrix::Any};
  });
}

void LinkTerms::visit(Operation &op) {
  if (llvm::none_of(op.getOperands(), [&](Value operand) { return dependsOnStates(operand); }))
    return static_cast<void>(builder.clone(op, copies));
  auto cell = dyn_cast<CellOpInterface>(op);
  bool isAffine = llvm::any_of(op.getOpOperands(), [&](OpOperand &operand) {
    return affine.contains(operand.get()) || (cell && isSummand(cell, operand));
  });
  for (Value result : op.getResults()) {
    if (isAffine)
      affine.insert(result);
    SmallVector<LinkTerm> found;
    if (cell)
      found = getTerms(cell);
    else
      for (Value operand : op.getOperands())
        llvm::append_range(found, forget(lookup(operand)));
    if (!isFloatVector(result.getType()))
      found.clear();
    terms[result] = std::move(found);
  }
}

bool LinkTerms::isSummand(CellOpInterface cell, OpOperand &operand) {
  if (dependsOnStates(operand.get()) || matchPattern(operand.get(), m_AnyZeroFloat()))
    return false;
  unsigned number = operand.getOperandNumber();
  if (cell.getWork() == CellWork::Product)
    return cell.getRowAccess(number) == RowAccess::Same;
  CellSlope slope = cell.getSlope(number);
  return slope != CellSlope::Zero && slope != CellSlope::ByOthers && slope != CellSlope::Opaque;
}

SmallVector<LinkTerm> LinkTerms::getTerms(CellOpInterface cell) {
  SmallVector<LinkTerm> all;
  for (auto [number, operand] : llvm::enumerate(cell->getOperands())) {
    SmallVector<LinkTerm> found = lookup(operand);
    switch (cell.getRowAccess(number)) {
    case RowAccess::Same:
      if (cell.getWork() == CellWork::Product)
        break;
      if (cell.getSlope(number) == CellSlope::Zero)
        continue;
      for (LinkTerm &term : found)
        scaleBySlope(cell, number, term);
      break;
    case RowAccess::All:
      for (LinkTerm &term : found)
        multiplyByMatrix(cell, term);
      break;
    default:
      found = forget(found);
    }
    llvm::append_range(all, found);
  }
  return all;
}

void LinkTerms::scaleBySlope(CellOpInterface cell, unsigned operand, LinkTerm &term) {
  if (term.kind == LinkTerm::Matrix::Any)
    return;
  CellSlope slope = cell.getSlope(operand);
  if (slope == CellSlope::One)
    return;
  if (slope == CellSlope::MinusOne) {
    term.isNegated = !term.isNegated;
    return;
  }
  TermScale &scale = term.kind == LinkTerm::Matrix::None ? term.right : term.left;
  bool isKnown =
      !scale.isUnknown && (slope == CellSlope::ByOthers || slope == CellSlope::ByCondition);
  for (OpOperand &other : cell->getOpOperands()) {
    bool isFactor = slope == CellSlope::ByCondition ? other.getOperandNumber() == 0
                                                    : other.getOperandNumber() != operand;
    isKnown &= !isFactor || !dependsOnStates(other.get());
  }
  if (isKnown)
    scale.value = cell.scaleBySlope(builder, operand, scale.value, copies);
  else
    scale = {Value(), /*isUnknown=*/true};
}

void LinkTerms::multiplyByMatrix(Operation *op, LinkTerm &term) {
  auto product = cast<MatVecOp>(op);
  auto matrix = dyn_cast<BlockArgument>(product.getMatrix());
  bool isCapture = matrix && matrix.getArgNumber() >= firstState + numStates;
  if (isCapture && term.kind == LinkTerm::Matrix::None) {
    term.kind = LinkTerm::Matrix::Capture;
    term.matrix = matrix;
    term.isTransposed = product.getTransposed();
  } else if (isCapture && term.kind != LinkTerm::Matrix::Any && term.left.isOne()) {
    term.kind = LinkTerm::Matrix::Product;
  } else {
    term.kind = LinkTerm::Matrix::Any;
  }
}

jacobian::StructureAttr LinkTerms::getStructure(Value value, unsigned col) {
  auto getSize = [](Value of) { return cast<VectorType>(of.getType()).getNumElements(); };
  int64_t rows = getSize(value), cols = getSize(getState(col));
  MLIRContext *context = builder.getContext();
  jacobian::StructureAttr sum =
      jacobian::StructureAttr::get(context, jacobian::StructureKind::Zero);
  for (const LinkTerm &term : lookup(value))
    if (term.col == col)
      sum = jacobian::StructureAttr::sum(sum, term.getStructure(context, rows, cols), rows, cols);
  return sum;
}
