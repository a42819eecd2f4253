//===- LinkValues.cpp - the entries of transposed Jacobians ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/Jacobian/Analysis/LinkValues.h"
#include "OperandRelation.h"
#include "bppsa/Dialect/Jacobian/Analysis/MatrixStructure.h"

using namespace mlir;
using namespace bppsa;

namespace {
/// An index tensor that selects elements along dimension `dim`.
struct Choice {
  Value positions;
  unsigned dim = 0;
};
} // namespace

/// Finds the extraction from `operand` that the body of `op` yields unchanged.
static tensor::ExtractOp findExtract(linalg::GenericOp op, Value operand) {
  auto extract = op.getBody()->getTerminator()->getOperand(0).getDefiningOp<tensor::ExtractOp>();
  return extract && extract.getTensor() == operand ? extract : tensor::ExtractOp();
}

/// Returns null for an index computed from the loops.
static Value findPositions(linalg::GenericOp op, tensor::ExtractOp extract, unsigned dim) {
  auto cast = extract.getIndices()[dim].getDefiningOp<arith::IndexCastOp>();
  auto argument = cast ? dyn_cast<BlockArgument>(cast.getIn()) : BlockArgument();
  if (!argument || argument.getOwner() != op.getBody() ||
      argument.getArgNumber() >= op.getNumDpsInputs())
    return {};
  return op.getDpsInputs()[argument.getArgNumber()];
}

/// Returns nullopt if no elements of `operand` are selected. `axis` is its sample dimension.
static std::optional<Choice> findChoice(OpResult result, Value operand, int64_t axis) {
  auto op = dyn_cast<linalg::GenericOp>(result.getOwner());
  tensor::ExtractOp extract = op ? findExtract(op, operand) : tensor::ExtractOp();
  Choice choice;
  for (unsigned dim = 0; extract && dim < extract.getIndices().size(); ++dim)
    if (Value positions = findPositions(op, extract, dim))
      choice = {positions, dim};
  if (!choice.positions || int64_t(choice.dim) == axis)
    return std::nullopt;
  return choice;
}

static LinkValues getChosenValues(const Choice &choice, Value operand, int64_t axis,
                                  const SparsityPattern &pattern) {
  LinkValues link;
  link.kind = LinkValues::Kind::Choice;
  link.choice = choice.positions;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(operand.getType()).getShape();
  int64_t stride = 1;
  for (unsigned dim = choice.dim + 1; dim < shape.size(); ++dim)
    stride *= int64_t(dim) == axis ? 1 : shape[dim];
  for (int64_t row = 0; row < pattern.getNumRows(); ++row)
    for (int32_t col : pattern.getRow(row)) {
      link.columns.push_back(col);
      link.sources.push_back(row / stride % shape[choice.dim]);
    }
  return link;
}

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

static std::optional<Relation> getSampledRelation(OpResult result, Value operand,
                                                  const SampleAxes &axes, std::string &why) {
  std::optional<Relation> relation = getRelation(result, operand, axes, why);
  if (!relation)
    return std::nullopt;
  auto dim = dyn_cast<AffineDimExpr>(
      relation->accesses.front().operand.map.getResult(axes.lookup(operand)));
  if (!dim) {
    why = "its samples do not follow a loop";
    return std::nullopt;
  }
  for (Relation::Access &access : relation->accesses)
    access.nest.sampleLoop = dim.getPosition();
  return relation;
}

/// Without known zeros, every entry is an element of `factor` if the nest has as many points as
/// entries. Otherwise entries are stored in `values`.
static bool hasSharedValues(OpOperand &factor, const Relation &relation, int64_t numEntries,
                            std::optional<SharedValues> &values) {
  const Relation::Access &access = relation.accesses.front();
  AffineMap map = cast<linalg::LinalgOp>(factor.getOwner()).getMatchingIndexingMap(&factor);
  if (!map.isProjectedPermutation() || map.isFunctionOfDim(*access.nest.sampleLoop))
    return false;
  if (!getNonzeros(factor.get()))
    return countPoints(relation) == numEntries;
  values = getFactorValues(factor, access);
  return values && values->pattern.getNumEntries() == numEntries;
}

/// `values` receives the entries if they had to be computed.
static std::optional<LinkValues::Kind> findKind(OpResult result, Value operand,
                                                jacobian::MatrixType type, const Relation &relation,
                                                int64_t axis, std::optional<SharedValues> &values,
                                                std::string &why) {
  int64_t numEntries =
      MatrixStructure(type.getStructure(), type.getRows(), type.getCols()).getNumNonzeros();
  if (relation.slope == Slope::One && countPoints(relation) == numEntries)
    return LinkValues::Kind::Ones;
  if (type.getStructure().is(jacobian::StructureKind::Diagonal))
    return LinkValues::Kind::Slopes;
  if (relation.slope == Slope::Shared && relation.accesses.size() == 1) {
    OpOperand *factor = findFactor(result, operand);
    if (factor && hasSharedValues(*factor, relation, numEntries, values))
      return LinkValues::Kind::Shared;
    why = factor ? "an entry of its jacobian is a sum of several elements"
                 : "its slopes are not the elements of one array";
    return std::nullopt;
  }
  if (findChoice(result, operand, axis))
    return LinkValues::Kind::Choice;
  why = "its derivatives differ between samples and are not diagonal";
  return std::nullopt;
}

std::optional<LinkValues::Kind> bppsa::findLinkKind(OpResult result, Value operand,
                                                    jacobian::MatrixType type,
                                                    const SampleAxes &axes, std::string &why) {
  std::optional<Relation> relation = getSampledRelation(result, operand, axes, why);
  if (!relation)
    return std::nullopt;
  std::optional<SharedValues> values;
  return findKind(result, operand, type, *relation, axes.lookup(operand), values, why);
}

std::optional<LinkValues> bppsa::findLinkValues(OpResult result, Value operand,
                                                jacobian::MatrixType type, const SampleAxes &axes,
                                                std::string &why) {
  std::optional<Relation> relation = getSampledRelation(result, operand, axes, why);
  if (!relation)
    return std::nullopt;
  int64_t axis = axes.lookup(operand);
  std::optional<SharedValues> values;
  std::optional<LinkValues::Kind> kind =
      findKind(result, operand, type, *relation, axis, values, why);
  if (!kind)
    return std::nullopt;
  LinkValues link;
  link.kind = *kind;
  switch (*kind) {
  case LinkValues::Kind::Ones:
  case LinkValues::Kind::Slopes:
    return link;
  case LinkValues::Kind::Choice:
    return getChosenValues(*findChoice(result, operand, axis), operand, axis,
                           type.computePattern());
  case LinkValues::Kind::Shared: {
    OpOperand *factor = findFactor(result, operand);
    if (!values)
      values = getFactorValues(*factor, relation->accesses.front());
    if (!values || values->pattern != type.computePattern()) {
      why = "the elements that its slopes are cannot be told";
      return std::nullopt;
    }
    link.factor = factor->get();
    link.sources = std::move(values->sources);
    return link;
  }
  }
  llvm_unreachable("every kind is listed");
}

LinkValues LinkValues::selectRows(const SparsityPattern &pattern, ArrayRef<int32_t> rows) const {
  LinkValues selected;
  selected.kind = kind;
  selected.factor = factor;
  selected.choice = choice;
  auto append = [&](std::vector<int32_t> &to, const std::vector<int32_t> &from, int32_t row) {
    if (!from.empty())
      to.insert(to.end(), from.begin() + pattern.getRowStart(row),
                from.begin() + pattern.getRowStart(row + 1));
  };
  for (int32_t row : rows)
    if (row >= 0) {
      append(selected.sources, sources, row);
      append(selected.columns, columns, row);
    }
  return selected;
}
