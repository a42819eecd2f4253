//===- AddLoss.cpp - a function that computes the loss of a model ---------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Losses.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Differentiation/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace bppsa {
#define GEN_PASS_DEF_ADDLOSS
#include "bppsa/Differentiation/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// The number of the result called `name`, the first one by default. Fails
/// after an error.
static FailureOr<unsigned> findOutput(func::FuncOp forward, StringRef name) {
  SmallVector<StringRef> names;
  for (unsigned i = 0, e = forward.getNumResults(); i < e; ++i) {
    auto attribute = attrs::Output::ofResult(forward, i);
    names.push_back(attribute ? attribute.getValue() : "");
    if (names.back() == name || name.empty())
      return i;
  }
  forward.emitError() << "the loss needs an output called '" << name << "', found "
                      << llvm::join(names, ", ");
  return failure();
}

/// Checks that a loss of `kind` can be computed from the result `number`.
static LogicalResult verifyOutput(func::FuncOp forward, LossKind kind, StringRef lossName,
                                  unsigned number) {
  Type type = forward.getResultTypes()[number];
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.getElementType().isF32())
    return forward.emitError() << "loss " << lossName << " needs an f32 output, found " << type;
  if (hasClasses(kind) && tensor.getRank() == 0)
    return forward.emitError() << "loss " << lossName
                               << " needs an output with a last axis of classes, found " << type;
  if (hasClasses(kind) && tensor.isDynamicDim(tensor.getRank() - 1))
    return forward.emitError() << "loss " << lossName
                               << " needs an output with a fixed number of classes, its last axis, "
                                  "found "
                               << type << "; choose another output or a loss";
  if (kind == LossKind::None && (!tensor.hasStaticShape() || tensor.getNumElements() != 1))
    return forward.emitError() << "loss none needs an output with one element, found " << type
                               << "; choose another output or a loss";
  if (llvm::is_contained(tensor.getShape(), 0))
    return forward.emitError() << "loss " << lossName << " needs an output with elements, found "
                               << attrs::Output::ofResult(forward, number) << " of " << type
                               << "; choose another output with --loss-on";
  return success();
}

/// Checks that the options of the pass that are for classes suit a loss of the result `number`.
static LogicalResult verifyClassOptions(func::FuncOp forward, const LossOptions &options,
                                        StringRef lossName, unsigned number, bool hasWeights) {
  if (!options.classWeights.empty() && !hasClasses(options.kind))
    return forward.emitError() << "class weights need loss cross-entropy or nll, found "
                               << lossName;
  if (options.labelSmoothing != 0 && options.kind != LossKind::CrossEntropy)
    return forward.emitError() << "label smoothing needs loss cross-entropy, found " << lossName;
  if (!(options.labelSmoothing >= 0 && options.labelSmoothing < 1))
    return forward.emitError() << "label smoothing must be at least 0 and below 1, found "
                               << options.labelSmoothing;
  if (!hasWeights && (!options.classWeights.empty() || options.labelSmoothing != 0))
    return forward.emitError("class weights and label smoothing need weights of positions; set "
                             "weights=true");
  auto type = cast<RankedTensorType>(forward.getResultTypes()[number]);
  size_t given = options.classWeights.size();
  if (given != 0 && static_cast<int64_t>(given) != type.getShape().back())
    return forward.emitError() << "the class weights must be as many as the output has classes, "
                               << type.getShape().back() << ", found " << given;
  return success();
}

/// Appends an array with a value of type `element` for each position of a loss of `output` to the
/// arguments of `loss`. `role` is what the array is, `shape` the output's attribute `bppsa.shape`,
/// or null.
static Value addPositions(func::FuncOp loss, LossKind kind, NamedAttribute role, Type element,
                          RankedTensorType output, AffineMapAttr shape) {
  Builder builder(loss.getContext());
  int64_t rank = output.getRank() - (hasClasses(kind) ? 1 : 0);
  SmallVector<NamedAttribute> attributes = {role};
  if (shape) {
    AffineMap sizes = shape.getValue();
    sizes = AffineMap::get(sizes.getNumDims(), sizes.getNumSymbols(),
                           sizes.getResults().take_front(rank), loss.getContext());
    attributes.push_back(attrs::Shape::make(AffineMapAttr::get(sizes)));
  }
  unsigned number = loss.getNumArguments();
  (void)loss.insertArgument(number,
                            RankedTensorType::get(output.getShape().take_front(rank), element),
                            builder.getDictionaryAttr(attributes), loss.getLoc());
  return loss.getArgument(number);
}

/// Makes `loss`, a copy of the model, return the loss of `options`, called `name`, of its result
/// `number` instead of its outputs.
static void buildLoss(func::FuncOp loss, const LossOptions &options, StringRef name,
                      unsigned number, bool hasWeights) {
  LossKind kind = options.kind;
  auto terminator = cast<func::ReturnOp>(loss.getBody().front().getTerminator());
  OpBuilder builder(terminator);
  Value output = terminator.getOperand(number), target, weight;
  auto shape = attrs::Shape::ofResult(loss, number);
  auto type = cast<RankedTensorType>(output.getType());
  if (kind != LossKind::None)
    target = addPositions(loss, kind, attrs::Target::make(builder.getUnitAttr()),
                          hasClasses(kind) ? Type(builder.getI64Type()) : type.getElementType(),
                          type, shape);
  if (kind != LossKind::None && hasWeights)
    weight = addPositions(loss, kind, attrs::Weight::make(builder.getUnitAttr()),
                          builder.getF32Type(), type, shape);
  Location loc = NameLoc::get(builder.getStringAttr("loss " + name), loss.getLoc());
  SmallVector<Value> results = {createLoss(builder, loc, options, output, target, weight)};
  SmallVector<DictionaryAttr> attributes = {
      builder.getDictionaryAttr(attrs::Loss::make(builder.getUnitAttr()))};
  if (hasClasses(kind)) {
    results.push_back(createCorrectCount(builder, loc, output, target, weight));
    attributes.push_back(builder.getDictionaryAttr(attrs::Correct::make(builder.getUnitAttr())));
  }
  // Programs that cut sequences into segments go on with the final states of one.
  for (unsigned i = 0, e = loss.getNumResults(); i < e; ++i)
    if (attrs::Carried::ofResult(loss, i)) {
      results.push_back(terminator.getOperand(i));
      attributes.push_back(loss.getResultAttrDict(i));
    }
  terminator->setOperands(results);
  loss.setType(builder.getFunctionType(loss.getArgumentTypes(), ValueRange(results).getTypes()));
  loss.setAllResultAttrs(attributes);
}

namespace {
struct AddLossPass : bppsa::impl::AddLossBase<AddLossPass> {
  using AddLossBase::AddLossBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto forward = module.lookupSymbol<func::FuncOp>("forward");
    std::optional<LossKind> kind = parseLossKind(loss);
    if (!kind) {
      module.emitError() << "unknown loss '" << loss
                         << "'; there are cross-entropy, nll, mse, l1, huber, bce-with-logits and "
                            "none";
      return signalPassFailure();
    }
    if (!forward || forward.isExternal() || !forward.getBody().hasOneBlock()) {
      module.emitError("needs a function @forward with one block");
      return signalPassFailure();
    }
    LossOptions options{*kind, labelSmoothing, {}};
    options.classWeights.assign(classWeights.begin(), classWeights.end());
    FailureOr<unsigned> number = findOutput(forward, output);
    if (failed(number) || failed(verifyOutput(forward, *kind, loss, *number)) ||
        failed(verifyClassOptions(forward, options, loss, *number, weights)))
      return signalPassFailure();
    func::FuncOp copy = forward.clone();
    copy.setName("loss");
    module.push_back(copy);
    buildLoss(copy, options, loss, *number, weights);
  }
};
} // namespace
