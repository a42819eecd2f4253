//===- LinkValues.cpp - the entries of transposed Jacobians ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Analysis/LinkValues.h"
#include "OperandRelation.h"

using namespace mlir;
using namespace bppsa;

//===----------------------------------------------------------------------===//
// Products with a shared array
//===----------------------------------------------------------------------===//

static std::optional<LinkValues> getSharedLink(OpResult result, Value operand,
                                               const SparsityPattern &pattern,
                                               const Relation &relation, std::string &why) {
  OpOperand *factor = findFactor(result, operand);
  if (!factor) {
    why = "its slopes are not the elements of one array";
    return std::nullopt;
  }
  std::optional<SharedValues> values = getFactorValues(*factor, relation.accesses.front());
  if (!values || values->pattern != pattern) {
    why = "an entry of its jacobian is a sum of several elements";
    return std::nullopt;
  }
  LinkValues link;
  link.kind = LinkValues::Kind::Shared;
  link.factor = factor->get();
  link.sources = std::move(values->sources);
  return link;
}

//===----------------------------------------------------------------------===//
// Elements that are chosen
//===----------------------------------------------------------------------===//

/// The element that the body of `op` yields as it is, if it is one of `operand`.
static tensor::ExtractOp findExtract(linalg::GenericOp op, Value operand) {
  auto extract = op.getBody()->getTerminator()->getOperand(0).getDefiningOp<tensor::ExtractOp>();
  return extract && extract.getTensor() == operand ? extract : tensor::ExtractOp();
}

/// The input of `op` that gives index number `dim` of `extract`; null for an index
/// that follows from the loops.
static Value findChoice(linalg::GenericOp op, tensor::ExtractOp extract, unsigned dim) {
  auto cast = extract.getIndices()[dim].getDefiningOp<arith::IndexCastOp>();
  auto argument = cast ? dyn_cast<BlockArgument>(cast.getIn()) : BlockArgument();
  if (!argument || argument.getOwner() != op.getBody() ||
      argument.getArgNumber() >= op.getNumDpsInputs())
    return {};
  return op.getDpsInputs()[argument.getArgNumber()];
}

static std::optional<LinkValues> getChoiceLink(OpResult result, Value operand,
                                               const SparsityPattern &pattern, int64_t axis,
                                               std::string &why) {
  auto op = dyn_cast<linalg::GenericOp>(result.getOwner());
  tensor::ExtractOp extract = op ? findExtract(op, operand) : tensor::ExtractOp();
  LinkValues link;
  link.kind = LinkValues::Kind::Choice;
  unsigned chosen = 0;
  for (unsigned dim = 0; extract && dim < extract.getIndices().size(); ++dim)
    if (Value choice = findChoice(op, extract, dim)) {
      link.choice = choice;
      chosen = dim;
    }
  if (!link.choice || int64_t(chosen) == axis) {
    why = "its slopes differ between samples and are no diagonal";
    return std::nullopt;
  }
  // The coordinate of each row in the dimension that is chosen.
  ArrayRef<int64_t> shape = cast<RankedTensorType>(operand.getType()).getShape();
  int64_t stride = 1;
  for (unsigned dim = chosen + 1; dim < shape.size(); ++dim)
    stride *= int64_t(dim) == axis ? 1 : shape[dim];
  for (int64_t row = 0; row < pattern.getNumRows(); ++row)
    for (int32_t col : pattern.getRow(row)) {
      link.columns.push_back(col);
      link.sources.push_back(row / stride % shape[chosen]);
    }
  return link;
}

/// How often a relation relates an element of the operand to one of the result.
static int64_t countPoints(const Relation &relation) {
  int64_t sum = 0;
  for (const Relation::Access &access : relation.accesses) {
    int64_t points = 1;
    for (auto [loop, extent] : llvm::enumerate(access.nest.extents))
      points *= loop == access.nest.sampleLoop ? 1 : extent;
    sum += points;
  }
  return sum;
}

std::optional<LinkValues> bppsa::findLinkValues(OpResult result, Value operand, JacobianType type,
                                                const SampleAxes &axes, std::string &why) {
  std::optional<Relation> relation = getRelation(result, operand, axes, why);
  if (!relation)
    return std::nullopt;
  int64_t axis = axes.lookup(operand);
  auto dim = dyn_cast<AffineDimExpr>(relation->accesses.front().operand.map.getResult(axis));
  if (!dim) {
    why = "its samples do not follow a loop";
    return std::nullopt;
  }
  for (Relation::Access &access : relation->accesses)
    access.nest.sampleLoop = dim.getPosition();
  SparsityPattern pattern = type.computePattern();
  LinkValues link;
  if (relation->slope == Slope::One && countPoints(*relation) == pattern.getNumEntries())
    return link;
  if (type.getStructure().is(StructureKind::Diagonal)) {
    link.kind = LinkValues::Kind::Slopes;
    return link;
  }
  if (relation->slope == Slope::Shared && relation->accesses.size() == 1)
    return getSharedLink(result, operand, pattern, *relation, why);
  return getChoiceLink(result, operand, pattern, axis, why);
}
