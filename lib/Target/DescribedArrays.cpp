//===- DescribedArrays.cpp - inputs, outputs and losses as JSON -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "DescribedArrays.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Program/Keys.h"
#include "mlir/IR/AffineExpr.h"

using namespace mlir;
using namespace bppsa;
namespace json = llvm::json;
namespace keys = program::keys;

static json::Value describeSize(AffineExpr size, ArrayRef<StringRef> symbols) {
  if (auto constant = dyn_cast<AffineConstantExpr>(size))
    return constant.getValue();
  if (auto symbol = dyn_cast<AffineSymbolExpr>(size))
    return symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(size);
  const char *name = nullptr;
  switch (size.getKind()) {
  case AffineExprKind::Add:
    name = "+";
    break;
  case AffineExprKind::Mul:
    name = "*";
    break;
  case AffineExprKind::FloorDiv:
    name = "floordiv";
    break;
  case AffineExprKind::CeilDiv:
    name = "ceildiv";
    break;
  case AffineExprKind::Mod:
    name = "mod";
    break;
  default:
    llvm_unreachable("not a binary expression");
  }
  return json::Array{name, describeSize(binary.getLHS(), symbols),
                     describeSize(binary.getRHS(), symbols)};
}

static StringRef getTypeName(Type type) {
  if (type.isF32())
    return "f32";
  if (type.isInteger(64))
    return "i64";
  if (type.isInteger(32))
    return "i32";
  assert(type.isInteger(1) && "unexpected element type at the boundary");
  return "bool";
}

static json::Value describeAxis(IntegerAttr axis) {
  return axis ? json::Value(axis.getInt()) : json::Value(nullptr);
}

json::Array bppsa::describeSizes(AffineMapAttr map, ArrayRef<StringRef> symbols) {
  json::Array sizes;
  if (map)
    for (AffineExpr size : map.getValue().getResults())
      sizes.push_back(describeSize(size, symbols));
  return sizes;
}

static json::Array describeBatchAxes(DictionaryAttr attributes) {
  auto axes = attrs::BatchAxes::in(attributes);
  if (!axes)
    return json::Array{describeAxis(attrs::BatchAxis::in(attributes))};
  json::Array described;
  for (int64_t axis : axes.asArrayRef())
    described.push_back(axis < 0 ? json::Value(nullptr) : json::Value(axis));
  return described;
}

json::Object bppsa::describeArray(StringAttr name, Type type, DictionaryAttr attributes,
                                  ArrayRef<StringRef> symbols) {
  json::Object array{{keys::kName, name.getValue()},
                     {keys::kDtype, getTypeName(cast<ShapedType>(type).getElementType())},
                     {keys::kShape, describeSizes(attrs::Shape::in(attributes), symbols)},
                     {keys::kBatchAxes, describeBatchAxes(attributes)},
                     {keys::kTimeAxis, describeAxis(attrs::TimeAxis::in(attributes))}};
  if (StringAttr partner = attrs::Carried::in(attributes))
    array[keys::kCarried] = partner.getValue();
  return array;
}

/// Describes the target of a loss: like the output, but without the class axis if targets are class
/// indices.
static json::Value describeTarget(const json::Object &output, const LossTerm &loss) {
  if (!loss.hasTarget())
    return nullptr;
  json::Array shape = *output.getArray(keys::kShape);
  json::Array axes = *output.getArray(keys::kBatchAxes);
  json::Object target{{keys::kDtype, "f32"}};
  if (loss.hasClasses()) {
    target[keys::kDtype] = "i64";
    target[keys::kClasses] = shape.back();
    shape.pop_back();
    for (json::Value &axis : axes)
      if (axis.getAsInteger() == static_cast<int64_t>(shape.size()))
        axis = nullptr;
  }
  if (auto time = output.getInteger(keys::kTimeAxis);
      time && *time < static_cast<int64_t>(shape.size()))
    target[keys::kTimeAxis] = *time;
  target[keys::kBatchAxes] = std::move(axes);
  target[keys::kShape] = std::move(shape);
  return target;
}

json::Array bppsa::describeLosses(const TrainingOptions &options, const json::Array &outputs) {
  json::Array losses;
  for (const LossTerm &loss : options.getLossTerms()) {
    auto isRead = [&](const json::Value &output) {
      return loss.output.empty() || output.getAsObject()->getString(keys::kName) == loss.output;
    };
    const json::Object &output = *llvm::find_if(outputs, isRead)->getAsObject();
    losses.push_back(json::Object{{keys::kLoss, loss.kind},
                                  {keys::kOutput, output.getString(keys::kName)->str()},
                                  {keys::kFactor, loss.factor},
                                  {keys::kTargetArray, describeTarget(output, loss)}});
  }
  return losses;
}
