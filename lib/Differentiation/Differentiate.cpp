//===- Differentiate.cpp - a function of a loss and its gradients ---------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Layers/LayerLinks.h"
#include "TensorBuilders.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Differentiation/Differentiation.h"
#include "bppsa/Differentiation/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace bppsa {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "bppsa/Differentiation/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// The name of argument `i` if it is to be differentiated, else null.
static StringAttr getDifferentiatedName(func::FuncOp function, unsigned i, bool withInputs) {
  if (auto name = attrs::Parameter::ofArgument(function, i))
    return attrs::Frozen::ofArgument(function, i) ? StringAttr() : name;
  auto type = dyn_cast<RankedTensorType>(function.getArgument(i).getType());
  if (!withInputs || !type || !type.getElementType().isF32())
    return {};
  return attrs::Input::ofArgument(function, i);
}

/// Continues `step`, a copy of the loss, with the backward pass.
static LogicalResult buildBackward(func::FuncOp step, bool withInputs, bool links) {
  Block &body = step.getBody().front();
  auto terminator = cast<func::ReturnOp>(body.getTerminator());
  Value loss = terminator.getOperand(0);
  Location loc = terminator.getLoc();

  Activity activity;
  for (BlockArgument argument : body.getArguments())
    if (getDifferentiatedName(step, argument.getArgNumber(), withInputs))
      activity.add(argument);
  activity.propagate(body);

  OpBuilder builder(terminator);
  MarkPhaseOp::create(builder, loc, 1);
  SmallVector<Operation *> forward;
  for (Operation &op : body.without_terminator())
    forward.push_back(&op);
  ReverseSweep sweep(builder, activity);
  sweep.add(loss, createFilled(builder, loc, {}, builder.getF32FloatAttr(1)));
  LayerLinks layers(builder, activity, sweep);
  if (links)
    layers.find(step);
  for (Operation *op : llvm::reverse(forward))
    if (failed(layers.contains(op) ? layers.visit(op) : sweep.visit(op)))
      return failure();

  SmallVector<Value> results = {terminator.getOperand(0)};
  SmallVector<DictionaryAttr> attributes = {step.getResultAttrDict(0)};
  for (BlockArgument argument : body.getArguments()) {
    StringAttr name = getDifferentiatedName(step, argument.getArgNumber(), withInputs);
    if (!name)
      continue;
    // The loss does not change with an argument that no cotangent reached.
    Value gradient = sweep.lookup(argument);
    auto nonzeros = attrs::Nonzeros::ofArgument(step, argument.getArgNumber());
    // What is zero stays so; the gradient that a link gives has these zeros already.
    if (gradient && nonzeros && !gradient.getDefiningOp<LinkOp>())
      gradient = createMasked(builder, argument.getLoc(), gradient, nonzeros);
    results.push_back(gradient ? gradient : createZerosLike(builder, loc, argument));
    attributes.push_back(builder.getDictionaryAttr(attrs::Gradient::make(name)));
  }
  for (unsigned i = 1, e = step.getNumResults(); i < e && !withInputs; ++i)
    if (attrs::Carried::ofResult(step, i) || attrs::Updated::ofResult(step, i) ||
        attrs::Loss::ofResult(step, i)) {
      results.push_back(terminator.getOperand(i));
      attributes.push_back(step.getResultAttrDict(i));
    }
  terminator->setOperands(results);
  step.setType(builder.getFunctionType(step.getArgumentTypes(), ValueRange(results).getTypes()));
  step.setAllResultAttrs(attributes);
  builder.setInsertionPointToStart(&body);
  MarkPhaseOp::create(builder, loc, 0);
  eraseDeadOps(body);
  return success();
}

namespace {
struct DifferentiatePass : bppsa::impl::DifferentiateBase<DifferentiatePass> {
  using DifferentiateBase::DifferentiateBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto source = module.lookupSymbol<func::FuncOp>(of);
    if (wrt != "parameters" && wrt != "all") {
      module.emitError() << "wrt must be parameters or all, found " << wrt;
      return signalPassFailure();
    }
    if (!source || source.isExternal()) {
      module.emitError() << "needs a function @" << of << " with a body to differentiate";
      return signalPassFailure();
    }
    auto lossType = RankedTensorType::get({}, Float32Type::get(&getContext()));
    if (!source.getBody().hasOneBlock() || source.getNumResults() == 0 ||
        source.getResultTypes()[0] != lossType) {
      source.emitError() << "needs one block and a first result of type " << lossType
                         << " to be differentiated";
      return signalPassFailure();
    }
    if (module.lookupSymbol(name)) {
      module.emitError() << "@" << name << " exists already; choose another name";
      return signalPassFailure();
    }
    func::FuncOp step = source.clone();
    step.setName(name);
    step.setPublic();
    module.push_back(step);
    if (failed(buildBackward(step, wrt == "all", links)))
      signalPassFailure();
  }
};
} // namespace
