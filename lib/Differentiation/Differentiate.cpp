//===- Differentiate.cpp - loss and gradient functions --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Layers/LayerLinks.h"
#include "TensorBuilders.h"
#include "Training/Objective.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSASchedule.h"
#include "bppsa/Dialect/BPPSA/IR/Entry.h"
#include "bppsa/Dialect/Dist/IR/Dist.h"
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

enum class Inputs { None, States, All };

static std::optional<Inputs> parseInputs(StringRef text) {
  return llvm::StringSwitch<std::optional<Inputs>>(text)
      .Case("parameters", Inputs::None)
      .Case("states", Inputs::States)
      .Case("all", Inputs::All)
      .Default(std::nullopt);
}

static StringAttr getDifferentiatedName(func::FuncOp function, unsigned i, Inputs inputs) {
  if (auto name = attrs::Parameter::ofArgument(function, i))
    return attrs::Frozen::ofArgument(function, i) ? StringAttr() : name;
  auto type = dyn_cast<RankedTensorType>(function.getArgument(i).getType());
  if (inputs == Inputs::None || !type || !type.getElementType().isF32() ||
      (inputs == Inputs::States && !attrs::Carried::ofArgument(function, i)))
    return {};
  return attrs::Input::ofArgument(function, i);
}

static unsigned findObjective(func::FuncOp function) {
  for (unsigned i = 0, e = function.getNumResults(); i < e; ++i)
    if (attrs::Objective::ofResult(function, i))
      return i;
  return 0;
}

namespace {
/// A result of a function and its initial cotangent, or null for a loss, whose cotangent is one.
struct Seed {
  unsigned result;
  Value cotangent;
};

/// Appends a backward pass to `function`, a copy of the function to differentiate.
class BackwardBuilder {
public:
  BackwardBuilder(func::FuncOp function, Inputs inputs)
      : function(function), body(function.front()),
        terminator(cast<func::ReturnOp>(body.getTerminator())), builder(terminator),
        inputs(inputs) {}

  FailureOr<Seed> addCotangent(StringRef name);
  LogicalResult build(ArrayRef<Seed> seeds, bool links);
  void keepResults(unsigned first, function_ref<bool(unsigned)> isKept);
  void appendGradients();
  void finish();

private:
  func::FuncOp function;
  Block &body;
  func::ReturnOp terminator;
  OpBuilder builder;
  Inputs inputs;
  DenseMap<Value, Value> gradients;
  SmallVector<Value> results;
  SmallVector<DictionaryAttr> attributes;
};
} // namespace

FailureOr<Seed> BackwardBuilder::addCotangent(StringRef name) {
  for (unsigned i = 0, e = function.getNumResults(); i < e; ++i) {
    if (attrs::Output::ofResult(function, i) != name)
      continue;
    SmallVector<NamedAttribute> role = {attrs::Target::make(builder.getUnitAttr())};
    if (auto shape = attrs::Shape::ofResult(function, i))
      role.push_back(attrs::Shape::make(shape));
    unsigned number = function.getNumArguments();
    if (failed(function.insertArgument(number, function.getResultTypes()[i],
                                       builder.getDictionaryAttr(role), function.getLoc())))
      return failure();
    return Seed{i, function.getArgument(number)};
  }
  return function.emitError() << "has no output '" << name << "' to start from";
}

LogicalResult BackwardBuilder::build(ArrayRef<Seed> seeds, bool links) {
  Location loc = terminator.getLoc();
  Activity activity;
  for (BlockArgument argument : body.getArguments())
    if (getDifferentiatedName(function, argument.getArgNumber(), inputs))
      activity.add(argument);
  activity.propagate(body);

  MarkPhaseOp::create(builder, loc, 1);
  SmallVector<Operation *> forward;
  for (Operation &op : body.without_terminator())
    forward.push_back(&op);
  ReverseSweep sweep(builder, activity);
  for (const Seed &seed : seeds)
    sweep.add(terminator.getOperand(seed.result),
              seed.cotangent ? seed.cotangent
                             : createFilled(builder, loc, {}, builder.getF32FloatAttr(1)));
  LayerLinks layers(builder, activity, sweep);
  if (links)
    layers.find(function);
  for (Operation *op : llvm::reverse(forward))
    if (failed(layers.contains(op) ? layers.visit(op) : sweep.visit(op)))
      return failure();
  for (BlockArgument argument : body.getArguments())
    gradients[argument] = sweep.lookup(argument);
  return success();
}

void BackwardBuilder::keepResults(unsigned first, function_ref<bool(unsigned)> isKept) {
  for (unsigned i = first, e = function.getNumResults(); i < e; ++i)
    if (isKept(i)) {
      results.push_back(terminator.getOperand(i));
      attributes.push_back(function.getResultAttrDict(i));
    }
}

void BackwardBuilder::appendGradients() {
  for (BlockArgument argument : body.getArguments()) {
    StringAttr name = getDifferentiatedName(function, argument.getArgNumber(), inputs);
    if (!name)
      continue;
    // If no cotangent reached an argument, its gradient is zero.
    Value gradient = gradients.lookup(argument);
    auto nonzeros = attrs::Nonzeros::ofArgument(function, argument.getArgNumber());
    // Zero weights stay zero; the gradient from a link is already masked.
    if (gradient && nonzeros && !gradient.getDefiningOp<jacobian::LinkOp>())
      gradient = createMasked(builder, argument.getLoc(), gradient, nonzeros);
    results.push_back(gradient ? gradient
                               : createZerosLike(builder, terminator.getLoc(), argument));
    attributes.push_back(builder.getDictionaryAttr(attrs::Gradient::make(name)));
  }
}

void BackwardBuilder::finish() {
  terminator->setOperands(results);
  function.setType(
      builder.getFunctionType(function.getArgumentTypes(), ValueRange(results).getTypes()));
  function.setAllResultAttrs(attributes);
  builder.setInsertionPointToStart(&body);
  MarkPhaseOp::create(builder, terminator.getLoc(), 0);
  // CSE can merge identical operations only without stop_gradient ops.
  function.walk([](StopGradientOp op) {
    op.getResult().replaceAllUsesWith(op.getOperand());
    op.erase();
  });
  eraseDeadOps(body);
}

namespace {
struct DifferentiatePass : bppsa::impl::DifferentiateBase<DifferentiatePass> {
  using DifferentiateBase::DifferentiateBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto source = module.lookupSymbol<func::FuncOp>(of);
    std::optional<Inputs> inputs = parseInputs(wrt);
    if (!inputs) {
      module.emitError() << "wrt must be parameters, states or all, found " << wrt;
      return signalPassFailure();
    }
    if (!source || source.isExternal()) {
      module.emitError() << "needs a function @" << of << " with a body to differentiate";
      return signalPassFailure();
    }
    if (cotangents.empty() ? !hasLoss(source) : !source.getBody().hasOneBlock()) {
      source.emitError()
          << "needs one block and a first result of type 'tensor<f32>' to be differentiated";
      return signalPassFailure();
    }
    std::optional<EntryRole> entryRole = symbolizeEntryRole(role);
    if (!role.empty() && !entryRole) {
      module.emitError() << "role must be a role of '#bppsa.entry', found '" << role << "'";
      return signalPassFailure();
    }
    auto entry = entryRole ? EntryAttr::get(&getContext(), *entryRole, variant) : EntryAttr();
    std::string symbol = entry ? entry.getSymbolName() : std::string(name);
    if (module.lookupSymbol(symbol)) {
      module.emitError() << "@" << symbol << " exists already; choose another name";
      return signalPassFailure();
    }
    func::FuncOp made = copyWithoutEntry(source, symbol);
    made.setPublic();
    if (entry)
      attrs::Entry::set(made, entry);
    if (failed(cotangents.empty() ? buildLossGradient(made, *inputs)
                                  : buildPullback(made, *inputs)))
      signalPassFailure();
  }

private:
  LogicalResult buildLossGradient(func::FuncOp step, Inputs inputs) {
    BackwardBuilder backward(step, inputs);
    if (failed(backward.build(Seed{findObjective(step), Value()}, links)))
      return failure();
    backward.keepResults(0, [](unsigned i) { return i == 0; });
    backward.appendGradients();
    backward.keepResults(1, [&](unsigned i) {
      return inputs != Inputs::All &&
             (attrs::Carried::ofResult(step, i) || attrs::Updated::ofResult(step, i) ||
              attrs::Loss::ofResult(step, i));
    });
    backward.finish();
    return success();
  }

  LogicalResult buildPullback(func::FuncOp function, Inputs inputs) {
    BackwardBuilder backward(function, inputs);
    SmallVector<Seed> seeds;
    for (const std::string &output : cotangents) {
      FailureOr<Seed> seed = backward.addCotangent(output);
      if (failed(seed))
        return failure();
      seeds.push_back(*seed);
    }
    if (failed(backward.build(seeds, links)))
      return failure();
    backward.keepResults(0, [](unsigned) { return true; });
    backward.appendGradients();
    backward.finish();
    return success();
  }
};
} // namespace
