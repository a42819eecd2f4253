//===- StepJacobian.cpp - structure of the links of time loops ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Walks the body of a time loop and keeps for every vector the structure of its
// derivative with respect to each state: a product with a captured matrix
// multiplies by a matrix that all samples and steps share, and an elementwise
// function by a diagonal. The body of a chain is linear in its cotangents, so its
// derivative is the transposed Jacobian; that of a recurrence is transposed.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Analysis/StepJacobian.h"

using namespace mlir;
using namespace bppsa;

static int64_t getSize(Value value) { return cast<VectorType>(value.getType()).getNumElements(); }

//===----------------------------------------------------------------------===//
// Derivatives
//===----------------------------------------------------------------------===//

namespace {
/// Derivatives of the vectors of one body with respect to one of its arguments.
class BodyDerivative {
public:
  BodyDerivative(BlockArgument argument, ArrayRef<BlockArgument> captures)
      : argument(argument), captures(captures), context(argument.getContext()) {
    derivatives[argument] = get(StructureKind::Identity);
    for (Operation &op : argument.getOwner()->without_terminator())
      visit(op);
  }

  /// The derivative of `value`, zero where it does not depend on the argument.
  StructureAttr lookup(Value value) const {
    StructureAttr derivative = derivatives.lookup(value);
    return derivative ? derivative : get(StructureKind::Zero);
  }

private:
  StructureAttr get(StructureKind kind) const { return StructureAttr::get(context, kind); }
  StructureAttr add(StructureAttr lhs, StructureAttr rhs, Value value) const {
    return StructureAttr::sum(lhs, rhs, getSize(value), getSize(argument));
  }
  /// `factor`, with a row for each element of `result`, times the derivative of
  /// `operand`.
  StructureAttr chain(StructureAttr factor, Value result, Value operand) const {
    return StructureAttr::product(factor, lookup(operand), getSize(result), getSize(operand),
                                  getSize(argument));
  }
  void visit(Operation &op);
  StructureAttr differentiate(Operation &op) const;
  StructureAttr differentiate(MatVecOp op) const;

  BlockArgument argument;
  ArrayRef<BlockArgument> captures;
  MLIRContext *context;
  DenseMap<Value, StructureAttr> derivatives;
};
} // namespace

StructureAttr BodyDerivative::differentiate(MatVecOp op) const {
  // A matrix that is computed in the body belongs to one sample.
  bool isShared = llvm::is_contained(captures, op.getMatrix());
  StructureAttr result = chain(get(isShared ? StructureKind::SharedDense : StructureKind::Dense),
                               op.getResult(), op.getVector());
  return op.getAddend() ? add(result, lookup(op.getAddend()), op.getResult()) : result;
}

StructureAttr BodyDerivative::differentiate(Operation &op) const {
  if (auto matvec = dyn_cast<MatVecOp>(op))
    return differentiate(matvec);
  if (isa<StopGradientOp>(op))
    return get(StructureKind::Zero);
  if (!op.hasTrait<OpTrait::Elementwise>())
    return get(StructureKind::Dense);
  // Sums keep the derivatives of their operands, any other elementwise function
  // scales them.
  StructureAttr slope =
      get(isa<arith::AddFOp>(op) ? StructureKind::Identity : StructureKind::Diagonal);
  StructureAttr result = get(StructureKind::Zero);
  for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
    if (!derivatives.contains(operand))
      continue;
    // The sign of a shared or scaled matrix belongs to it.
    bool keeps =
        (isa<arith::SubFOp>(op) && (i == 0 || !lookup(operand).is(StructureKind::Identity))) ||
        (isa<arith::NegFOp>(op) && !lookup(operand).is(StructureKind::Identity));
    StructureAttr factor = keeps ? get(StructureKind::Identity) : slope;
    result = add(result, chain(factor, op.getResult(0), operand), op.getResult(0));
  }
  return result;
}

void BodyDerivative::visit(Operation &op) {
  auto depends = [&](Value operand) { return derivatives.contains(operand); };
  if (op.getNumRegions() != 0 || llvm::none_of(op.getOperands(), depends))
    return;
  for (Value result : op.getResults())
    if (auto type = dyn_cast<VectorType>(result.getType());
        type && isa<FloatType>(type.getElementType())) {
      StructureAttr derivative =
          op.getNumResults() == 1 ? differentiate(op) : get(StructureKind::Dense);
      if (!derivative.is(StructureKind::Zero))
        derivatives[result] = derivative;
    }
}

//===----------------------------------------------------------------------===//
// Transposition
//===----------------------------------------------------------------------===//

/// The structure of the transpose of a matrix with structure `structure`.
static StructureAttr transpose(StructureAttr structure) {
  MLIRContext *context = structure.getContext();
  SmallVector<StructureAttr> parts = llvm::map_to_vector(structure.getParts(), transpose);
  switch (structure.getKind()) {
  case StructureKind::RowScaled:
    return StructureAttr::get(context, StructureKind::ColumnScaled);
  case StructureKind::ColumnScaled:
    return StructureAttr::get(context, StructureKind::RowScaled);
  case StructureKind::CSR:
    return StructureAttr::getCSR(
        PatternAttr::get(context, structure.getPattern().getValue().transpose()));
  case StructureKind::Sum:
  case StructureKind::BlockDiagonal:
    return StructureAttr::get(context, structure.getKind(), structure.getCount(), {}, {}, {},
                              parts);
  case StructureKind::Blocks: {
    SmallVector<StructureAttr> turned;
    size_t width = structure.getColSizes().size(), height = structure.getRowSizes().size();
    for (size_t j = 0; j < width; ++j)
      for (size_t i = 0; i < height; ++i)
        turned.push_back(parts[i * width + j]);
    return StructureAttr::getBlocks(structure.getColSizes(), structure.getRowSizes(), turned);
  }
  default:
    return structure;
  }
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// The structure of the whole grid of derivatives of `results` with respect to
/// `arguments`.
static StructureAttr getGrid(ValueRange results, ArrayRef<BlockArgument> arguments,
                             ArrayRef<BlockArgument> captures) {
  SmallVector<BodyDerivative> derivatives;
  SmallVector<int64_t> sizes;
  for (BlockArgument argument : arguments) {
    derivatives.emplace_back(argument, captures);
    sizes.push_back(getSize(argument));
  }
  SmallVector<StructureAttr> parts;
  for (Value result : results)
    for (const BodyDerivative &derivative : derivatives)
      parts.push_back(derivative.lookup(result));
  return StructureAttr::getGrid(sizes, sizes, parts);
}

JacobianType bppsa::inferStepJacobian(Operation *loop) {
  Block &body = loop->getRegion(0).front();
  size_t first = 0, count = 0;
  if (auto recurrence = dyn_cast<RecurrenceOp>(loop)) {
    first = recurrence.getSequences().size();
    count = recurrence.getInitial().size();
  } else {
    first = cast<ChainOp>(loop).getSaved().size();
    count = cast<ChainOp>(loop).getSeeds().size();
  }
  if (count == 0)
    return {};
  auto arguments = body.getArguments();
  StructureAttr structure =
      getGrid(body.getTerminator()->getOperands().take_front(count),
              SmallVector<BlockArgument>(arguments.slice(first, count)),
              SmallVector<BlockArgument>(arguments.drop_front(first + count)));
  if (isa<RecurrenceOp>(loop))
    structure = transpose(structure);
  int64_t size = 0;
  for (BlockArgument state : arguments.slice(first, count))
    size += getSize(state);
  std::optional<int64_t> batch;
  if (!structure.isShared())
    batch = ShapedType::kDynamic;
  auto type = cast<VectorType>(arguments[first].getType()).getElementType();
  return JacobianType::get(loop->getContext(), size, size, type, structure, batch);
}
