//===- JacobianStructure.cpp - structure of transposed Jacobians ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/Jacobian/Analysis/JacobianStructure.h"
#include "OperandRelation.h"
#include "bppsa/Dialect/Jacobian/Analysis/LinkValues.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace bppsa;

static std::optional<unsigned> getSampleLoop(const Relation::Access &access, int64_t axis) {
  auto dim = dyn_cast<AffineDimExpr>(access.operand.map.getResult(axis));
  return dim ? std::optional<unsigned>(dim.getPosition()) : std::nullopt;
}

/// Returns false if samples mix.
static bool setSampleLoops(Relation &relation, int64_t axis, std::string &why) {
  for (Relation::Access &access : relation.accesses) {
    access.nest.sampleLoop = getSampleLoop(access, axis);
    if (!access.nest.sampleLoop ||
        !isPerSample(access.nest, access.operand.map, access.result.map)) {
      why = "its result mixes samples";
      return false;
    }
  }
  return true;
}

FailureOr<std::optional<int64_t>> bppsa::inferSampleAxis(OpResult result, const SampleAxes &axes,
                                                         std::string &why) {
  std::optional<int64_t> found;
  llvm::SetVector<Value> operands(result.getOwner()->operand_begin(),
                                  result.getOwner()->operand_end());
  for (Region &region : result.getOwner()->getRegions())
    region.walk([&](Operation *op) { operands.insert(op->operand_begin(), op->operand_end()); });
  for (Value operand : operands) {
    auto axis = axes.find(operand);
    if (axis == axes.end())
      continue;
    std::optional<Relation> relation = getRelation(result, operand, axes, why);
    if (!relation || !setSampleLoops(*relation, axis->second, why))
      return failure();
    const Relation::Access &access = relation->accesses.front();
    AffineExpr loop = getAffineDimExpr(*access.nest.sampleLoop, result.getContext());
    int64_t place =
        llvm::find(access.result.map.getResults(), loop) - access.result.map.getResults().begin();
    if (found && *found != place) {
      why = "its operands have samples along different dimensions";
      return failure();
    }
    found = place;
  }
  return found;
}

/// Multiplies the leading dimensions that only operand and result share.
static int64_t countBlocks(const Relation &relation) {
  const Relation::Access &access = relation.accesses.front();
  auto isSampleLoop = [&](AffineExpr expr) {
    return access.nest.sampleLoop && expr.isFunctionOfDim(*access.nest.sampleLoop);
  };
  auto getOwn = [&](const ArrayAccess &array, SmallVectorImpl<int64_t> &sizes) {
    SmallVector<AffineExpr> own;
    for (auto [expr, size] : llvm::zip_equal(array.map.getResults(), array.shape))
      if (!isSampleLoop(expr)) {
        own.push_back(expr);
        sizes.push_back(size);
      }
    return own;
  };
  SmallVector<int64_t> operandSizes, resultSizes;
  SmallVector<AffineExpr> operand = getOwn(access.operand, operandSizes),
                          result = getOwn(access.result, resultSizes);
  int64_t count = 1;
  for (size_t i = 0; i < operand.size() && i < result.size(); ++i) {
    auto dim = dyn_cast<AffineDimExpr>(operand[i]);
    if (!dim || result[i] != operand[i])
      break;
    auto usesLoop = [&](AffineExpr expr) { return expr.isFunctionOfDim(dim.getPosition()); };
    if (llvm::count_if(operand, usesLoop) != 1 || llvm::count_if(result, usesLoop) != 1 ||
        llvm::any_of(relation.factors,
                     [&](AffineMap map) { return map.isFunctionOfDim(dim.getPosition()); }))
      break;
    // With a slice of a dimension, some rows or columns have no block.
    int64_t extent = access.nest.extents[dim.getPosition()];
    if (extent != operandSizes[i] || extent != resultSizes[i])
      break;
    count *= extent;
  }
  return count;
}

static jacobian::StructureAttr getStructure(MLIRContext *context, const SparsityPattern &pattern,
                                            const Relation &relation) {
  if (pattern.isIdentity() && relation.slope == Slope::One)
    return jacobian::StructureAttr::get(context, jacobian::StructureKind::Identity);
  if (relation.slope == Slope::PerSample || pattern.isIdentity() || pattern.isZero())
    return jacobian::StructureAttr::fromPattern(context, pattern);
  auto share = [&](const SparsityPattern &matrix) {
    return matrix.isDense()
               ? jacobian::StructureAttr::get(context, jacobian::StructureKind::SharedDense)
               : jacobian::StructureAttr::fromPattern(context, matrix);
  };
  int64_t count = relation.accesses.size() == 1 ? countBlocks(relation) : 1;
  if (count <= 1)
    return share(pattern);
  auto rows = llvm::to_vector(llvm::seq<int32_t>(0, pattern.getNumRows() / count));
  auto cols = llvm::to_vector(llvm::seq<int32_t>(0, pattern.getNumCols() / count));
  return jacobian::StructureAttr::getBlockDiagonal(
      count, share(pattern.selectRows(rows).selectCols(cols)));
}

jacobian::MatrixType bppsa::inferJacobian(OpResult result, Value operand, const SampleAxes &axes,
                                          std::string &why) {
  auto axis = axes.find(operand);
  std::optional<Relation> relation = getRelation(result, operand, axes, why);
  if (axis == axes.end() || !relation || !setSampleLoops(*relation, axis->second, why))
    return {};
  std::optional<SparsityPattern> pattern;
  for (const Relation::Access &access : relation->accesses) {
    auto next = getAccessPattern(access.nest, access.operand, access.result);
    if (!next || next->getNumRows() == 0 || next->getNumCols() == 0) {
      why = "its sizes are known at run time only, or it has none";
      return {};
    }
    pattern = pattern ? pattern->unite(*next) : *next;
  }
  OpOperand *factor = relation->slope == Slope::Shared ? findFactor(result, operand) : nullptr;
  if (factor && getNonzeros(factor->get()))
    if (auto values = getFactorValues(*factor, relation->accesses.front()))
      pattern = std::move(values->pattern);
  if (relation->slope == Slope::Zero)
    pattern = SparsityPattern::getZero(pattern->getNumRows(), pattern->getNumCols());
  std::optional<int64_t> batch;
  if (relation->slope == Slope::PerSample)
    batch = cast<RankedTensorType>(operand.getType()).getDimSize(axis->second);
  return jacobian::MatrixType::get(result.getContext(), pattern->getNumRows(),
                                   pattern->getNumCols(),
                                   cast<RankedTensorType>(operand.getType()).getElementType(),
                                   getStructure(result.getContext(), *pattern, *relation), batch);
}
