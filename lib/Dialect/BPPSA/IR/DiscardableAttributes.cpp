//===- DiscardableAttributes.cpp - attributes of functions and modules ----===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// What the arguments and results of a function are to a program: inputs, parameters,
// gradients and their axes. docs/Differentiation.md lists them.
//
//===----------------------------------------------------------------------===//

#include "Verifiers.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace bppsa;

/// The attribute `what` of `op` must be `expected`, and is not.
static LogicalResult refuse(Operation *op, NamedAttribute attribute, const Twine &expected) {
  return op->emitError() << "attribute '" << attribute.getName().getValue() << "' must be "
                         << expected << ", found " << attribute.getValue();
}

static LogicalResult refuseUnknown(Operation *op, NamedAttribute attribute, StringRef place) {
  return op->emitError() << "the dialect has no attribute '" << attribute.getName().getValue()
                         << "' for " << place << "; remove it";
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

/// Checks an axis of `type`, or -1 for none where `mayLack` is set. Once an array is a pointer, its
/// type has no axes.
static bool isAxis(int64_t axis, ShapedType type, bool mayLack) {
  return axis >= (mayLack ? -1 : 0) && (!type || axis < type.getRank());
}

/// Checks the attribute of an argument or a result of type `type`.
static LogicalResult verifyValueAttribute(Operation *op, NamedAttribute attribute, Type type,
                                          StringRef place) {
  auto shaped = dyn_cast<ShapedType>(type);
  if (shaped && !shaped.hasRank())
    shaped = {};
  StringRef name = attribute.getName().strref().drop_front(StringRef("bppsa.").size());
  Attribute value = attribute.getValue();
  if (llvm::is_contained({"input", "output", "parameter", "gradient", "carried"}, name)) {
    auto text = dyn_cast<StringAttr>(value);
    return text && !text.empty() ? success() : refuse(op, attribute, "the name of an array");
  }
  if (llvm::is_contained({"frozen", "loss", "target", "weight", "correct", "seed"}, name))
    return isa<UnitAttr>(value) ? success() : refuse(op, attribute, "a unit attribute");
  if (name == "batch_axis" || name == "time_axis") {
    auto axis = dyn_cast<IntegerAttr>(value);
    return axis && isAxis(axis.getInt(), shaped, /*mayLack=*/false)
               ? success()
               : refuse(op, attribute, "an axis of the array");
  }
  if (name == "batch_axes") {
    auto axes = dyn_cast<DenseI64ArrayAttr>(value);
    bool areAxes = axes && llvm::all_of(axes.asArrayRef(), [&](int64_t axis) {
                     return isAxis(axis, shaped, /*mayLack=*/true);
                   });
    return areAxes ? success() : refuse(op, attribute, "axes of the array, or -1");
  }
  if (name == "shape" || name == "index_bounds" || name == "length_bounds") {
    auto map = dyn_cast<AffineMapAttr>(value);
    bool isOfSymbols = map && map.getValue().getNumDims() == 0;
    bool hasRank = name != "shape" ||
                   (isOfSymbols && (!shaped || map.getValue().getNumResults() == shaped.getRank()));
    return isOfSymbols && hasRank
               ? success()
               : refuse(op, attribute,
                        name == "shape" ? "a map from symbols to a size for each dimension"
                                        : "a map from symbols to sizes");
  }
  if (name == "nonzeros") {
    auto elements = dyn_cast<DenseElementsAttr>(value);
    bool fits = elements && elements.getElementType().isInteger(1) &&
                (!shaped || elements.getType().getShape() == shaped.getShape());
    return fits ? success() : refuse(op, attribute, "a boolean for each element of the array");
  }
  return refuseUnknown(op, attribute, place);
}

LogicalResult BPPSADialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned argument,
                                                     NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return refuseUnknown(op, attribute, "the argument of a region");
  return verifyValueAttribute(op, attribute, function.getArgumentTypes()[argument],
                              "the argument of a function");
}

LogicalResult BPPSADialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned result,
                                                        NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return refuseUnknown(op, attribute, "the result of a region");
  return verifyValueAttribute(op, attribute, function.getResultTypes()[result],
                              "the result of a function");
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static LogicalResult verifyModuleAttribute(Operation *op, NamedAttribute attribute) {
  Attribute value = attribute.getValue();
  if (attribute.getName() == "bppsa.symbols") {
    auto names = dyn_cast<ArrayAttr>(value);
    return names && llvm::all_of(names, llvm::IsaPred<StringAttr>)
               ? success()
               : refuse(op, attribute, "the names of the symbols of shapes");
  }
  if (attribute.getName() == "bppsa.least_sizes")
    return isa<DenseI64ArrayAttr>(value) ? success()
                                         : refuse(op, attribute, "the least size of each symbol");
  return refuseUnknown(op, attribute, "a module");
}

static LogicalResult verifyFunctionAttribute(Operation *op, NamedAttribute attribute) {
  Attribute value = attribute.getValue();
  if (attribute.getName() == "bppsa.lanes") {
    auto lanes = dyn_cast<IntegerAttr>(value);
    return lanes && lanes.getInt() > 0 ? success()
                                       : refuse(op, attribute, "a positive number of lanes");
  }
  if (attribute.getName() == "bppsa.mixing_layouts")
    return isa<DenseBoolArrayAttr>(value) ? success()
                                          : refuse(op, attribute, "a boolean for each layout");
  return refuseUnknown(op, attribute, "a function");
}

LogicalResult BPPSADialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  // Where emulated code comes from.
  if (attribute.getName() == "bppsa.source")
    return isa<StringAttr>(attribute.getValue()) ? success()
                                                 : refuse(op, attribute, "the name of a node");
  if (isa<ModuleOp>(op))
    return verifyModuleAttribute(op, attribute);
  if (isa<FunctionOpInterface>(op))
    return verifyFunctionAttribute(op, attribute);
  if (attribute.getName() == "bppsa.mapping" || attribute.getName() == "bppsa.transition_mapping")
    return verifyMapping(op, attribute);
  if (attribute.getName() != "bppsa.jacobian")
    return refuseUnknown(op, attribute, "an operation");
  auto isStructure = [](Attribute entry) {
    auto type = dyn_cast<TypeAttr>(entry);
    return isa<UnitAttr>(entry) || (type && isa<JacobianType>(type.getValue()));
  };
  auto entries = dyn_cast<ArrayAttr>(attribute.getValue());
  return isStructure(attribute.getValue()) || (entries && llvm::all_of(entries, isStructure))
             ? success()
             : refuse(op, attribute, "a type of Jacobians, or one for each operand");
}
