//===- AddLoss.cpp - create the loss function of a model ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Losses.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Dialect/BPPSA/IR/Entry.h"
#include "bppsa/Dialect/Dist/IR/Dist.h"
#include "bppsa/Differentiation/Passes.h"
#include "bppsa/Support/Refusal.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace bppsa {
#define GEN_PASS_DEF_ADDLOSS
#include "bppsa/Differentiation/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static FailureOr<unsigned> findOutput(func::FuncOp forward, StringRef name) {
  SmallVector<StringRef> names;
  for (unsigned i = 0, e = forward.getNumResults(); i < e; ++i) {
    auto attribute = attrs::Output::ofResult(forward, i);
    names.push_back(attribute ? attribute.getValue() : "");
    if (names.back() == name || name.empty())
      return i;
  }
  refuse(forward) << "the loss needs an output called '" << name << "', found "
                  << llvm::join(names, ", ");
  return failure();
}

static LogicalResult verifyOutput(func::FuncOp forward, LossKind kind, StringRef lossName,
                                  unsigned number) {
  Type type = forward.getResultTypes()[number];
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.getElementType().isF32())
    return refuse(forward) << "loss " << lossName << " needs an f32 output, found " << type;
  if (hasClasses(kind) && tensor.getRank() == 0)
    return refuse(forward) << "loss " << lossName
                           << " needs an output with a last axis of classes, found " << type;
  if (hasClasses(kind) && tensor.isDynamicDim(tensor.getRank() - 1))
    return refuse(forward) << "loss " << lossName
                           << " needs an output with a fixed number of classes, its last axis, "
                              "found "
                           << type << "; choose another output or a loss";
  if (kind == LossKind::None && (!tensor.hasStaticShape() || tensor.getNumElements() != 1))
    return refuse(forward) << "loss none needs an output with one element, found " << type
                           << "; choose another output or a loss";
  if (llvm::is_contained(tensor.getShape(), 0))
    return refuse(forward) << "loss " << lossName << " needs an output with elements, found "
                           << attrs::Output::ofResult(forward, number) << " of " << type
                           << "; choose another output";
  return success();
}

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

namespace {
struct OutputLoss {
  StringRef name;
  LossOptions options;
  unsigned number;
};

/// Rewrites `loss`, a copy of the model, to return losses instead of outputs.
class LossBuilder {
public:
  LossBuilder(func::FuncOp loss, bool hasWeights)
      : loss(loss), terminator(cast<func::ReturnOp>(loss.getBody().front().getTerminator())),
        builder(terminator), hasWeights(hasWeights) {}

  void add(const OutputLoss &term);
  void finish(ArrayRef<double> factors);

private:
  func::FuncOp loss;
  func::ReturnOp terminator;
  OpBuilder builder;
  bool hasWeights;
  SmallVector<Value> losses, counts;
};
} // namespace

void LossBuilder::add(const OutputLoss &term) {
  LossKind kind = term.options.kind;
  Value output = terminator.getOperand(term.number), target, weight;
  auto shape = attrs::Shape::ofResult(loss, term.number);
  auto type = cast<RankedTensorType>(output.getType());
  UnitAttr unit = builder.getUnitAttr();
  if (kind != LossKind::None)
    target = addPositions(loss, kind, attrs::Target::make(unit),
                          hasClasses(kind) ? Type(builder.getI64Type()) : type.getElementType(),
                          type, shape);
  if (kind != LossKind::None && kind != LossKind::VJP && hasWeights)
    weight = addPositions(loss, kind, attrs::Weight::make(unit), builder.getF32Type(), type, shape);
  Location loc = NameLoc::get(builder.getStringAttr("loss " + term.name), loss.getLoc());
  losses.push_back(createLoss(builder, loc, term.options, output, target, weight));
  if (!hasClasses(kind))
    return;
  counts.push_back(createCorrectCount(builder, loc, output, target, weight));
}

void LossBuilder::finish(ArrayRef<double> factors) {
  if (losses.size() > 1) {
    Location loc = NameLoc::get(builder.getStringAttr("loss"), loss.getLoc());
    losses.insert(losses.begin(), createLossSum(builder, loc, losses, factors));
  }
  UnitAttr unit = builder.getUnitAttr();
  SmallVector<Value> results = llvm::to_vector(llvm::concat<Value>(losses, counts));
  SmallVector<DictionaryAttr> attributes(losses.size(),
                                         builder.getDictionaryAttr(attrs::Loss::make(unit)));
  attributes.append(counts.size(), builder.getDictionaryAttr(attrs::Correct::make(unit)));
  // Keep the final states: programs that cut sequences into segments continue from them.
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
    if (!forward || forward.isExternal() || !forward.getBody().hasOneBlock()) {
      refuse(module) << "needs a function @forward with one block";
      return signalPassFailure();
    }
    // With exchanges, a rank takes part in the step even if its weights are zero.
    ranksMeet = shares || !forward.getOps<dist::RankMeanOp>().empty();
    SmallVector<OutputLoss> terms;
    if (failed(collectTerms(forward, terms)))
      return signalPassFailure();
    func::FuncOp copy = forward.clone();
    setEntry(forward, EntryAttr::get(&getContext(), EntryRole::Forward));
    setEntry(copy, EntryAttr::get(&getContext(), EntryRole::Loss));
    module.push_back(copy);
    LossBuilder builder(copy, weights);
    for (const OutputLoss &term : terms)
      builder.add(term);
    SmallVector<double> scales(factors.begin(), factors.end());
    scales.resize(terms.size(), 1);
    builder.finish(scales);
  }

  bool ranksMeet = false;

  LogicalResult collectTerms(func::FuncOp forward, SmallVectorImpl<OutputLoss> &terms) {
    size_t count = std::max<size_t>(outputs.size(), 1);
    if ((losses.size() > 1 && losses.size() != count) ||
        (!factors.empty() && factors.size() != count))
      return refuse(forward) << "as many losses and factors as outputs are needed, "
                             << outputs.size() << ", found " << losses.size() << " and "
                             << factors.size();
    for (size_t i = 0; i < count; ++i) {
      StringRef name = program::kLosses[0].name;
      if (!losses.empty())
        name = losses[losses.size() == 1 ? 0 : i];
      const program::Loss *known = program::findNamed(program::kLosses, name);
      if (!known)
        return refuse(forward) << "unknown loss '" << name << "'; there are "
                               << program::listNames(program::kLosses, "and");
      FailureOr<unsigned> number = findOutput(forward, outputs.empty() ? "" : outputs[i]);
      if (failed(number) || failed(verifyOutput(forward, known->kind, name, *number)))
        return failure();
      if (llvm::any_of(terms, [&](const OutputLoss &term) { return term.number == *number; }))
        return refuse(forward) << "an output has one loss, found two of '" << outputs[i]
                               << "'; remove one";
      terms.push_back({name, getOptions(known->kind, count), *number});
    }
    return verifyClassOptions(forward, terms);
  }

  LossOptions getOptions(LossKind kind, size_t count) {
    bool mayLackWeight = weights && (count > 1 || ranksMeet);
    LossOptions options{kind, 0, {}, mayLackWeight};
    if (kind == LossKind::CrossEntropy)
      options.labelSmoothing = labelSmoothing;
    if (hasClasses(kind))
      options.classWeights.assign(classWeights.begin(), classWeights.end());
    return options;
  }

  LogicalResult verifyClassOptions(func::FuncOp forward, ArrayRef<OutputLoss> terms) {
    std::string found =
        llvm::join(llvm::map_range(terms, [](auto &term) { return term.name; }), ", ");
    auto isClassLoss = [](const OutputLoss &term) { return hasClasses(term.options.kind); };
    auto isSmoothed = [](const OutputLoss &term) {
      return term.options.kind == LossKind::CrossEntropy;
    };
    if (!classWeights.empty() && llvm::none_of(terms, isClassLoss))
      return refuse(forward) << "class weights need loss cross-entropy or nll, found " << found;
    if (labelSmoothing != 0 && llvm::none_of(terms, isSmoothed))
      return refuse(forward) << "label smoothing needs loss cross-entropy, found " << found;
    if (!(labelSmoothing >= 0 && labelSmoothing < 1))
      return refuse(forward) << "label smoothing must be at least 0 and below 1, found "
                             << labelSmoothing;
    if (!weights && (!classWeights.empty() || labelSmoothing != 0))
      return refuse(forward) << "class weights and label smoothing need weights of positions; set "
                                "weights=true";
    for (const OutputLoss &term : llvm::make_filter_range(terms, isClassLoss)) {
      auto type = cast<RankedTensorType>(forward.getResultTypes()[term.number]);
      if (int64_t given = classWeights.size(); given != 0 && given != type.getShape().back())
        return refuse(forward) << "the class weights must be as many as the output has classes, "
                               << type.getShape().back() << ", found " << given;
    }
    return success();
  }
};
} // namespace
