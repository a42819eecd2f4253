//===- AddLoss.cpp - a function that computes the loss of a model ---------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Losses.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
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
    auto attribute = forward.getResultAttrOfType<StringAttr>(i, "bppsa.output");
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
                               << forward.getResultAttr(number, "bppsa.output") << " of " << type
                               << "; choose another output with --loss-on";
  return success();
}

/// Appends the target of a loss of `output` to the arguments of `loss`.
/// `shape` is the output's attribute `bppsa.shape`, or null.
static Value addTarget(func::FuncOp loss, LossKind kind, RankedTensorType output,
                       AffineMapAttr shape) {
  Builder builder(loss.getContext());
  int64_t rank = output.getRank() - (hasClasses(kind) ? 1 : 0);
  Type element = hasClasses(kind) ? Type(builder.getI64Type()) : output.getElementType();
  SmallVector<NamedAttribute> attributes = {
      builder.getNamedAttr("bppsa.target", builder.getUnitAttr())};
  if (shape) {
    AffineMap sizes = shape.getValue();
    sizes = AffineMap::get(sizes.getNumDims(), sizes.getNumSymbols(),
                           sizes.getResults().take_front(rank), loss.getContext());
    attributes.push_back(builder.getNamedAttr("bppsa.shape", AffineMapAttr::get(sizes)));
  }
  unsigned number = loss.getNumArguments();
  (void)loss.insertArgument(number,
                            RankedTensorType::get(output.getShape().take_front(rank), element),
                            builder.getDictionaryAttr(attributes), loss.getLoc());
  return loss.getArgument(number);
}

/// Makes `loss`, a copy of the model, return its loss of kind `kind`, called `name`, instead of its
/// outputs.
static void buildLoss(func::FuncOp loss, LossKind kind, StringRef name, unsigned number) {
  auto terminator = cast<func::ReturnOp>(loss.getBody().front().getTerminator());
  Value output = terminator.getOperand(number), target;
  auto shape = loss.getResultAttrOfType<AffineMapAttr>(number, "bppsa.shape");
  if (kind != LossKind::None)
    target = addTarget(loss, kind, cast<RankedTensorType>(output.getType()), shape);
  OpBuilder builder(terminator);
  Location loc = NameLoc::get(builder.getStringAttr("loss " + name), loss.getLoc());
  auto unit = [&](StringRef name) {
    return builder.getDictionaryAttr(builder.getNamedAttr(name, builder.getUnitAttr()));
  };
  SmallVector<Value> results = {createLoss(builder, loc, kind, output, target)};
  SmallVector<DictionaryAttr> attributes = {unit("bppsa.loss")};
  if (hasClasses(kind)) {
    results.push_back(createCorrectCount(builder, loc, output, target));
    attributes.push_back(unit("bppsa.correct"));
  }
  // Programs that cut sequences into segments go on with the final states of one.
  for (unsigned i = 0, e = loss.getNumResults(); i < e; ++i)
    if (loss.getResultAttr(i, "bppsa.carried")) {
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
    FailureOr<unsigned> number = findOutput(forward, output);
    if (failed(number) || failed(verifyOutput(forward, *kind, loss, *number)))
      return signalPassFailure();
    func::FuncOp copy = forward.clone();
    copy.setName("loss");
    module.push_back(copy);
    buildLoss(copy, *kind, loss, *number);
  }
};
} // namespace
