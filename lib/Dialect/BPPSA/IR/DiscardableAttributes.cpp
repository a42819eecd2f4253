//===- DiscardableAttributes.cpp - verifiers of annotations ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Roles and axes of arguments and results (docs/Reference/Attributes.md).
//
//===----------------------------------------------------------------------===//

#include "Verifiers/Verifiers.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSASchedule.h"
#include "bppsa/Dialect/BPPSA/IR/Entry.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace bppsa;

static LogicalResult refuse(Operation *op, NamedAttribute attribute, const Twine &expected) {
  return op->emitError() << "attribute '" << attribute.getName().getValue() << "' must be "
                         << expected << ", found " << attribute.getValue();
}

static LogicalResult refuseUnknown(Operation *op, NamedAttribute attribute, StringRef place) {
  return op->emitError() << "the dialect has no attribute '" << attribute.getName().getValue()
                         << "' for " << place << "; remove it";
}

template <typename... Attributes> static bool isAnyOf(NamedAttribute attribute) {
  return ((attribute.getName() == Attributes::getName()) || ...);
}

namespace {
struct BoundaryValue {
  FunctionOpInterface function;
  Type type;
  DictionaryAttr attributes;
  StringRef place;

  /// Returns null for pointers and unranked types.
  ShapedType getShaped() const {
    auto shaped = dyn_cast<ShapedType>(type);
    return shaped && shaped.hasRank() ? shaped : ShapedType();
  }
  bool isAxis(int64_t axis, bool mayLack) const {
    ShapedType shaped = getShaped();
    return axis >= (mayLack ? -1 : 0) && (!shaped || axis < shaped.getRank());
  }
  bool hasAny(ArrayRef<StringRef> names) const {
    return llvm::any_of(names, [&](StringRef name) { return attributes.contains(name); });
  }
};
} // namespace

/// An argument or result has at most one role.
static const StringRef roles[] = {
    attrs::Input::getName(),    attrs::Output::getName(),    attrs::Parameter::getName(),
    attrs::Gradient::getName(), attrs::Loss::getName(),      attrs::Target::getName(),
    attrs::Weight::getName(),   attrs::Correct::getName(),   attrs::Seed::getName(),
    attrs::Updated::getName(),  attrs::Objective::getName(), attrs::Cotangent::getName()};

static LogicalResult verifyRole(const BoundaryValue &value, NamedAttribute attribute) {
  Operation *op = value.function;
  if (isAnyOf<attrs::Input, attrs::Output, attrs::Parameter, attrs::Gradient, attrs::Updated,
              attrs::Cotangent>(attribute)) {
    auto text = dyn_cast<StringAttr>(attribute.getValue());
    if (!text || text.empty())
      return refuse(op, attribute, "the name of an array");
  } else if (!isa<UnitAttr>(attribute.getValue())) {
    return refuse(op, attribute, "a unit attribute");
  }
  for (StringRef other : roles)
    if (other != attribute.getName() && value.attributes.contains(other))
      return op->emitError() << value.place << " must have one role, found '"
                             << attribute.getName().getValue() << "' and '" << other
                             << "'; remove one of them";
  return success();
}

/// `attribute` has no meaning in roles other than `wanted`.
static LogicalResult requireRole(const BoundaryValue &value, NamedAttribute attribute,
                                 ArrayRef<StringRef> wanted) {
  if (value.hasAny(wanted))
    return success();
  return value.function->emitError()
         << "attribute '" << attribute.getName().getValue() << "' is for " << value.place
         << " that has '" << llvm::join(wanted, "' or '") << "', found one without; remove it";
}

/// Maps symbols to sizes, or to upper bounds of elements.
static LogicalResult verifySizes(const BoundaryValue &value, NamedAttribute attribute) {
  bool isShape = isAnyOf<attrs::Shape>(attribute);
  auto map = dyn_cast<AffineMapAttr>(attribute.getValue());
  ShapedType shaped = value.getShaped();
  if (!map || map.getValue().getNumDims() != 0 ||
      (isShape && shaped && map.getValue().getNumResults() != shaped.getRank()))
    return refuse(value.function, attribute,
                  isShape ? "a map from symbols to a size for each dimension"
                          : "a map from symbols to sizes");
  auto module = value.function->getParentOfType<ModuleOp>();
  SymbolsAttr symbols = module ? attrs::Symbols::of(module) : SymbolsAttr();
  if (symbols && map.getValue().getNumSymbols() > symbols.getNames().size())
    return refuse(value.function, attribute,
                  "a map from the " + Twine(symbols.getNames().size()) + " symbols of the module");
  return success();
}

static LogicalResult verifyAxes(const BoundaryValue &value, NamedAttribute attribute) {
  if (isAnyOf<attrs::BatchAxes>(attribute)) {
    auto axes = dyn_cast<DenseI64ArrayAttr>(attribute.getValue());
    bool areAxes = axes && llvm::all_of(axes.asArrayRef(), [&](int64_t axis) {
                     return value.isAxis(axis, /*mayLack=*/true);
                   });
    return areAxes ? success() : refuse(value.function, attribute, "axes of the array, or -1");
  }
  auto axis = dyn_cast<IntegerAttr>(attribute.getValue());
  return axis && value.isAxis(axis.getInt(), /*mayLack=*/false)
             ? success()
             : refuse(value.function, attribute, "an axis of the array");
}

static LogicalResult verifyNonzeros(const BoundaryValue &value, NamedAttribute attribute) {
  auto elements = dyn_cast<DenseElementsAttr>(attribute.getValue());
  ShapedType shaped = value.getShaped();
  if (!elements || !elements.getElementType().isInteger(1) ||
      (shaped && elements.getType().getShape() != shaped.getShape()))
    return refuse(value.function, attribute, "a boolean for each element of the array");
  return requireRole(value, attribute, {attrs::Parameter::getName()});
}

static LogicalResult verifyStage(Operation *op, NamedAttribute attribute) {
  auto stage = dyn_cast<IntegerAttr>(attribute.getValue());
  return stage && stage.getType().isInteger(64) && stage.getInt() >= 0
             ? success()
             : refuse(op, attribute, "the number of a stage, from 0 on");
}

static LogicalResult verifyValueAttribute(const BoundaryValue &value, NamedAttribute attribute) {
  if (llvm::is_contained(roles, attribute.getName()))
    return verifyRole(value, attribute);
  if (isAnyOf<attrs::BatchAxis, attrs::TimeAxis, attrs::BatchAxes>(attribute))
    return verifyAxes(value, attribute);
  if (isAnyOf<attrs::Shape, attrs::IndexBounds, attrs::LengthBounds>(attribute))
    return verifySizes(value, attribute);
  if (isAnyOf<attrs::Nonzeros>(attribute))
    return verifyNonzeros(value, attribute);
  if (isAnyOf<attrs::Frozen, attrs::Statistic>(attribute))
    return isa<UnitAttr>(attribute.getValue())
               ? requireRole(value, attribute, {attrs::Parameter::getName()})
               : refuse(value.function, attribute, "a unit attribute");
  if (isAnyOf<attrs::Stage>(attribute))
    return succeeded(verifyStage(value.function, attribute))
               ? requireRole(value, attribute, {attrs::Parameter::getName()})
               : failure();
  if (isAnyOf<attrs::Carried>(attribute)) {
    auto partner = dyn_cast<StringAttr>(attribute.getValue());
    return partner && !partner.empty()
               ? requireRole(value, attribute, {attrs::Input::getName(), attrs::Output::getName()})
               : refuse(value.function, attribute, "the name of an array");
  }
  return refuseUnknown(value.function, attribute, value.place);
}

LogicalResult BPPSADialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned argument,
                                                     NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return refuseUnknown(op, attribute, "the argument of a region");
  return verifyValueAttribute({function, function.getArgumentTypes()[argument],
                               function.getArgAttrDict(argument), "the argument of a function"},
                              attribute);
}

LogicalResult BPPSADialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned result,
                                                        NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return refuseUnknown(op, attribute, "the result of a region");
  return verifyValueAttribute({function, function.getResultTypes()[result],
                               function.getResultAttrDict(result), "the result of a function"},
                              attribute);
}

static LogicalResult verifyMixingLayouts(FunctionOpInterface function, NamedAttribute attribute) {
  auto layouts = dyn_cast<DenseBoolArrayAttr>(attribute.getValue());
  if (!layouts)
    return refuse(function, attribute, "a boolean for each layout");
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
    if (auto axes = attrs::BatchAxes::ofArgument(function, i);
        axes && axes.size() != layouts.size())
      return refuse(function, attribute,
                    "a boolean for each of the " + Twine(axes.size()) + " layouts of argument " +
                        Twine(i));
  return success();
}

static LogicalResult verifyFunctionAttribute(FunctionOpInterface function,
                                             NamedAttribute attribute) {
  if (isAnyOf<attrs::Lanes>(attribute)) {
    auto lanes = dyn_cast<IntegerAttr>(attribute.getValue());
    return lanes && lanes.getInt() > 0 ? success()
                                       : refuse(function, attribute, "a positive number of lanes");
  }
  if (isAnyOf<attrs::MixingLayouts>(attribute))
    return verifyMixingLayouts(function, attribute);
  if (isAnyOf<attrs::Entry>(attribute))
    return isa<EntryAttr>(attribute.getValue())
               ? success()
               : refuse(function, attribute, "the role of a function, '#bppsa.entry<...>'");
  if (isAnyOf<attrs::BackwardOrder>(attribute))
    return isa<BackwardOrderAttr>(attribute.getValue())
               ? success()
               : refuse(function, attribute,
                        "the order of a backward pass, '#bppsa.backward_order<...>'");
  if (isAnyOf<attrs::StageWork>(attribute)) {
    auto work = dyn_cast<DenseF64ArrayAttr>(attribute.getValue());
    return work && work.size() == 3 &&
                   llvm::all_of(work.asArrayRef(), [](double flops) { return flops >= 0; })
               ? success()
               : refuse(function, attribute,
                        "the FLOPs of forward operations, cotangents and gradients of parameters");
  }
  return refuseUnknown(function, attribute, "a function");
}

LogicalResult BPPSADialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  // Emulated code has this attribute on all operations.
  if (isAnyOf<attrs::Source>(attribute))
    return isa<StringAttr>(attribute.getValue()) ? success()
                                                 : refuse(op, attribute, "the name of a node");
  if (isa<ModuleOp>(op) && isAnyOf<attrs::Symbols>(attribute))
    return isa<SymbolsAttr>(attribute.getValue())
               ? success()
               : refuse(op, attribute, "the symbols of sizes, '#bppsa.symbols<...>'");
  if (isa<ModuleOp>(op))
    return refuseUnknown(op, attribute, "a module");
  if (auto function = dyn_cast<FunctionOpInterface>(op))
    return verifyFunctionAttribute(function, attribute);
  if (isAnyOf<attrs::Mapping>(attribute))
    return verifyMapping(op, attribute);
  if (isAnyOf<attrs::BackwardPart>(attribute))
    return isa<BackwardPartAttr>(attribute.getValue())
               ? success()
               : refuse(op, attribute, "a part of the backward pass, '#bppsa.backward_part<...>'");
  if (isAnyOf<attrs::Stage>(attribute))
    return verifyStage(op, attribute);
  return refuseUnknown(op, attribute, "an operation");
}
