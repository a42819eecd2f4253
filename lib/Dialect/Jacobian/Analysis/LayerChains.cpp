//===- LayerChains.cpp - chains of layers of a graph ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/Jacobian/Analysis/LayerChains.h"
#include "bppsa/Dialect/BPPSA/Analysis/Dependences.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Dialect/Jacobian/Analysis/LinkValues.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace bppsa;

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

/// Returns nullopt unless exactly one operand receives a cotangent.
static std::optional<Layer> getLayer(Operation *op) {
  jacobian::OperandJacobiansAttr jacobians =
      op ? attrs::OperandJacobians::of(op) : jacobian::OperandJacobiansAttr();
  if (!jacobians || op->getNumResults() != 1)
    return std::nullopt;
  // The types of the attribute correspond to these values.
  SmallVector<Value> read =
      getReadValues(op, [](Value value) { return isa<TensorType>(value.getType()); });
  if (read.size() != jacobians.getTypes().size())
    return std::nullopt;
  std::optional<Layer> layer;
  for (auto [i, value] : llvm::enumerate(read)) {
    jacobian::MatrixType jacobian = jacobians.getJacobian(i);
    if (!jacobian)
      continue;
    if (layer)
      return std::nullopt;
    layer = {op, value, jacobian};
  }
  return layer;
}

static bool isUnknownLayer(Operation *op) {
  return op->hasTrait<OpTrait::IsTerminator>() || llvm::any_of(op->getResults(), [](Value result) {
           return isa<FloatType>(getElementTypeOrSelf(result.getType())) && !result.use_empty();
         });
}

static llvm::SetVector<Operation *> getLayersAfter(Value value) {
  llvm::SetVector<Operation *> layers;
  for (Operation *nested : value.getUsers()) {
    Operation *user = value.getParentBlock()->findAncestorOpInBlock(*nested);
    if (user && (attrs::OperandJacobians::of(user) || isUnknownLayer(user)))
      layers.insert(user);
  }
  return layers;
}

/// Returns null if several operations propagate a cotangent to `value` or the structure is unknown.
static Operation *getOnlyLayer(Value value) {
  llvm::SetVector<Operation *> layers = getLayersAfter(value);
  bool isKnown = layers.size() == 1 && attrs::OperandJacobians::of(layers.front());
  return isKnown ? layers.front() : nullptr;
}

static bool isRow(Value value, const SampleAxes &axes) {
  auto axis = axes.find(value);
  return axis != axes.end() && axis->second == 0 &&
         cast<RankedTensorType>(value.getType()).getRank() >= 2;
}

/// Returns an empty string if `layer` has an explicit Jacobian or the sample dimension is unknown.
static std::string getObstacle(const Layer &layer, const SampleAxes &axes) {
  if (!axes.contains(layer.operand))
    return "";
  auto result = cast<OpResult>(layer.op->getResult(0));
  if (!isRow(layer.operand, axes) || !isRow(result, axes))
    return "its first dimension does not hold the samples, or it has no other dimension";
  std::string why;
  return findLinkKind(result, layer.operand, layer.type, axes, why) ? "" : why;
}

//===----------------------------------------------------------------------===//
// Links
//===----------------------------------------------------------------------===//

/// If the Jacobian only moves elements, as padding does, maps operand elements to result elements
/// or -1; else empty.
static std::vector<int32_t> getMovedRows(jacobian::MatrixType type) {
  if (type.getBatch() || type.getStructure().isDiagonal())
    return {};
  SparsityPattern pattern = type.computePattern();
  // Otherwise some row or column has several entries.
  if (pattern.getNumEntries() > std::min(pattern.getNumRows(), pattern.getNumCols()))
    return {};
  std::vector<int32_t> rows;
  std::vector<bool> isTaken(pattern.getNumCols());
  for (int64_t row = 0; row < pattern.getNumRows(); ++row) {
    ArrayRef<int32_t> cols = pattern.getRow(row);
    if (cols.size() > 1 || (!cols.empty() && isTaken[cols.front()]))
      return {};
    rows.push_back(cols.empty() ? -1 : cols.front());
    if (!cols.empty())
      isTaken[cols.front()] = true;
  }
  return rows;
}

static jacobian::MatrixType composeWithMoves(jacobian::MatrixType layer, jacobian::MatrixType moves,
                                             ArrayRef<int32_t> rows) {
  MLIRContext *context = layer.getContext();
  jacobian::StructureAttr structure;
  if (layer.getStructure().is(jacobian::StructureKind::BlockDiagonal)) {
    structure = jacobian::StructureAttr::product(moves.getStructure(), layer.getStructure(),
                                                 moves.getRows(), layer.getRows(), layer.getCols());
  } else {
    SparsityPattern pattern = layer.computePattern().selectRows(rows);
    structure = pattern.isDense() && !layer.getBatch()
                    ? jacobian::StructureAttr::get(context, jacobian::StructureKind::SharedDense)
                    : jacobian::StructureAttr::fromPattern(context, std::move(pattern));
  }
  return jacobian::MatrixType::get(context, moves.getRows(), layer.getCols(),
                                   layer.getElementType(), structure, layer.getBatch());
}

static bool isReshape(const Layer &layer) {
  return isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp, tensor::CastOp>(layer.op);
}

static bool isConstant(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
    unsigned number = argument.getArgNumber();
    return function && !attrs::Input::ofArgument(function, number) &&
           !attrs::Parameter::ofArgument(function, number);
  }
  auto fill = value.getDefiningOp<linalg::FillOp>();
  return matchPattern(fill ? fill.getInputs().front() : value, m_Constant()) ||
         value.getDefiningOp<tensor::EmptyOp>();
}

/// Result elements not from the layer operand must be constant; others might receive a cotangent.
static bool fillsWithConstants(const Layer &layer) {
  return llvm::all_of(layer.op->getOperands(), [&](Value value) {
    return value == layer.operand || isConstant(value) ||
           !isa<FloatType>(getElementTypeOrSelf(value.getType()));
  });
}

/// Absorbs `moves` and the operations in `entering` before it into `link`, if possible. Only sums
/// and selections absorb, because elementwise functions of padded elements have no diagonal
/// Jacobian.
static bool absorbLayer(LayerLink &link, ArrayRef<Layer> entering, const Layer &moves,
                        const SampleAxes &axes) {
  if (link.type.getStructure().isDiagonal() || !llvm::all_of(entering, isReshape) ||
      !fillsWithConstants(moves))
    return false;
  std::string why;
  bool isOfOnes = !axes.contains(moves.operand) ||
                  findLinkKind(cast<OpResult>(moves.op->getResult(0)), moves.operand, moves.type,
                               axes, why) == LinkValues::Kind::Ones;
  std::vector<int32_t> rows = isOfOnes ? getMovedRows(moves.type) : std::vector<int32_t>();
  if (rows.empty())
    return false;
  link.type = composeWithMoves(link.type, moves.type, rows);
  link.operand = moves.operand;
  llvm::append_range(link.absorbed, entering);
  link.absorbed.push_back(moves);
  if (!link.rows.empty())
    for (int32_t &row : rows)
      row = row < 0 ? row : link.rows[row];
  link.rows = std::move(rows);
  return true;
}

static SmallVector<LayerLink, 0> makeLinks(ArrayRef<Layer> layers, const SampleAxes &axes) {
  SmallVector<LayerLink, 0> links;
  SmallVector<Layer> entering;
  for (const Layer &layer : layers) {
    if (layer.type.getStructure().is(jacobian::StructureKind::Identity)) {
      entering.push_back(layer);
      continue;
    }
    if (links.empty() || !absorbLayer(links.back(), entering, layer, axes))
      links.push_back({layer, entering, {}, layer.operand, layer.type, {}});
    entering.clear();
  }
  return links;
}

static std::optional<Layer> annotateLayer(Value value, const SampleAxes &axes) {
  Operation *op = value.getDefiningOp();
  if (!op || !isRow(value, axes))
    return std::nullopt;
  annotateStructure(op, axes);
  std::optional<Layer> layer = getLayer(op);
  return layer && isRow(layer->operand, axes) ? layer : std::nullopt;
}

std::optional<LayerLink> bppsa::findLayerLink(OpResult result, const SampleAxes &axes) {
  std::optional<Layer> layer = annotateLayer(result, axes);
  if (!layer)
    return std::nullopt;
  LayerLink link = {*layer, {}, {}, layer->operand, layer->type, {}};
  SmallVector<Layer> entering;
  while ((layer = annotateLayer(layer->operand, axes))) {
    bool isIdentity = layer->type.getStructure().is(jacobian::StructureKind::Identity);
    if (!isIdentity && !absorbLayer(link, entering, *layer, axes))
      break;
    if (isIdentity)
      entering.push_back(*layer);
    else
      entering.clear();
  }
  return link;
}

//===----------------------------------------------------------------------===//
// Ends of chains
//===----------------------------------------------------------------------===//

/// Returns an empty string if cotangents have a single path through `op`.
static std::string getReasonInside(Operation *op) {
  std::string name = op->getName().getStringRef().str();
  jacobian::OperandJacobiansAttr jacobians = attrs::OperandJacobians::of(op);
  size_t numLinks =
      jacobians ? llvm::count_if(jacobians.getTypes(), llvm::IsaPred<jacobian::MatrixType>) : 0;
  if (numLinks == 0)
    return "no jacobian of " + name + " is known";
  if (numLinks > 1)
    return name + " joins " + std::to_string(numLinks) + " values";
  return "";
}

static std::string getReasonOfUsers(Operation *op) {
  return "several operations use the result of " + op->getName().getStringRef().str();
}

/// Returns an empty string at an argument.
static std::string getCutReason(Value operand) {
  Operation *op = operand.getDefiningOp();
  if (!op)
    return "";
  std::string reason = getReasonInside(op);
  return reason.empty() ? getReasonOfUsers(op) : reason;
}

static std::string getEndReason(Value result) {
  llvm::SetVector<Operation *> layers = getLayersAfter(result);
  if (layers.size() > 1)
    return getReasonOfUsers(result.getDefiningOp());
  if (layers.empty() || layers.front()->hasTrait<OpTrait::IsTerminator>())
    return "graph output";
  return getReasonInside(layers.front());
}

//===----------------------------------------------------------------------===//
// Chains
//===----------------------------------------------------------------------===//

/// Follows cotangents from `last` while there is a single path.
static SmallVector<Layer> followCotangents(const Layer &last) {
  SmallVector<Layer> layers;
  for (std::optional<Layer> layer = last; layer;) {
    layers.push_back(*layer);
    Operation *next = layer->operand.getDefiningOp();
    layer = next && getOnlyLayer(layer->operand) ? getLayer(next) : std::nullopt;
  }
  return layers;
}

std::vector<LayerChain> bppsa::findLayerChains(FunctionOpInterface function,
                                               ObstacleReport report) {
  std::vector<LayerChain> chains;
  SampleAxes axes = findSampleAxes(function, /*batchAxis=*/0);
  auto addChain = [&](ArrayRef<Layer> layers, StringRef begins, StringRef ends) {
    LayerChain chain = {makeLinks(layers, axes), begins.str(), ends.str()};
    if (chain.links.size() > 1)
      chains.push_back(std::move(chain));
  };
  function->walk([&](Operation *op) {
    std::optional<Layer> last = getLayer(op);
    // A chain ends at several cotangent operands or several readers.
    Operation *next = last ? getOnlyLayer(op->getResult(0)) : nullptr;
    if (!last || (next && getLayer(next)))
      return;
    std::string ends = getEndReason(op->getResult(0));
    SmallVector<Layer> all = followCotangents(*last), layers;
    for (const Layer &layer : all) {
      std::string why = getObstacle(layer, axes);
      if (why.empty()) {
        layers.push_back(layer);
        continue;
      }
      report(layer.op, why);
      std::string cut =
          "the jacobian of " + layer.op->getName().getStringRef().str() + " has no values: " + why;
      addChain(layers, cut, ends);
      layers.clear();
      ends = cut;
    }
    addChain(layers, getCutReason(all.back().operand), ends);
  });
  return chains;
}
