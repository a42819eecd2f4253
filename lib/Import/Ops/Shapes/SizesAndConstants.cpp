//===- SizesAndConstants.cpp - importers of sizes and constants -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../../Graph/Elements.h"
#include "../../Model/Importer.h"
#include "../OpImporters.h"
#include <cmath>

using namespace mlir;
using namespace bppsa;

LogicalResult bppsa::importShape(Node &node) {
  const Tensor &data = node.input(0);
  int64_t rank = data.getRank();
  // ONNX clamps bounds that are out of range.
  auto clamp = [&](int64_t value) {
    return std::clamp<int64_t>(value < 0 ? value + rank : value, 0, rank);
  };
  int64_t start = clamp(node.getInt("start", 0)), end = clamp(node.getInt("end", rank));
  SmallVector<AffineExpr> sizes = data.getSizes();
  ArrayRef<AffineExpr> range = ArrayRef(sizes).slice(start, std::max<int64_t>(0, end - start));
  return node.setOutput(0, node.graph.makeElements(node.graph.builder.getI64Type(),
                                                   static_cast<int64_t>(range.size()), range));
}

LogicalResult bppsa::importSize(Node &node) {
  MaybeExpr total = multiplyAll(node.input(0).getSizes(), node.graph.getContext());
  if (!total)
    return node.emitError() << "the sizes of " << node.describeShape(node.input(0))
                            << " have too many terms";
  return node.setOutput(0, node.graph.makeElements(node.graph.builder.getI64Type(), {}, *total));
}

static FailureOr<DenseElementsAttr> getConstantValue(Node &node) {
  const onnx::AttributeProto &attribute = node.proto.attribute(0);
  Builder &b = node.graph.builder;
  auto vector = [&](size_t size, Type type) {
    return RankedTensorType::get(static_cast<int64_t>(size), type);
  };
  switch (attribute.type()) {
  case onnx::AttributeProto::FLOAT:
    return DenseElementsAttr::get(RankedTensorType::get({}, b.getF32Type()), attribute.f());
  case onnx::AttributeProto::INT:
    return DenseElementsAttr::get(RankedTensorType::get({}, b.getI64Type()), attribute.i());
  case onnx::AttributeProto::FLOATS:
    return DenseElementsAttr::get(
        vector(attribute.floats_size(), b.getF32Type()),
        ArrayRef<float>(attribute.floats().data(), attribute.floats_size()));
  case onnx::AttributeProto::INTS:
    return DenseElementsAttr::get(
        vector(attribute.ints_size(), b.getI64Type()),
        ArrayRef<int64_t>(attribute.ints().data(), attribute.ints_size()));
  default:
    return decodeTensor(node.file, attribute.t(),
                        "node " + quoted(node.proto.name()) + " (" + node.getOp().str() +
                            "): attribute 'value'");
  }
}

LogicalResult bppsa::importConstant(Node &node) {
  if (node.proto.attribute_size() != 1)
    return node.emitError() << "has " << node.proto.attribute_size() << " attributes, accepted: 1";
  FailureOr<DenseElementsAttr> value = getConstantValue(node);
  if (failed(value))
    return failure();
  return node.setOutput(0, node.graph.makeConstant(*value));
}

LogicalResult bppsa::importConstantOfShape(Node &node) {
  GraphBuilder &graph = node.graph;
  FailureOr<SmallVector<AffineExpr>> sizes = node.getExprs(0);
  if (failed(sizes))
    return failure();
  FailureOr<SmallVector<Dim>> dims = node.makeDims(*sizes);
  if (failed(dims))
    return failure();
  TypedAttr element = graph.builder.getF32FloatAttr(0);
  if (const onnx::AttributeProto *attribute = node.findAttribute("value")) {
    FailureOr<DenseElementsAttr> value =
        decodeTensor(node.file, attribute->t(),
                     "node " + quoted(node.proto.name()) + " (ConstantOfShape): attribute 'value'");
    if (failed(value))
      return failure();
    if (value->getNumElements() != 1)
      return node.emitError() << "attribute 'value' has " << value->getNumElements()
                              << " elements, accepted: 1";
    element = cast<TypedAttr>(*value->value_begin<Attribute>());
  }
  auto integer = dyn_cast<IntegerAttr>(element);
  bool isStatic = llvm::all_of(*dims, [](const Dim &dim) { return getConstant(dim.size); });
  if (integer && isStatic) {
    SmallVector<int64_t> shape =
        llvm::map_to_vector(*dims, [](const Dim &dim) { return *getConstant(dim.size); });
    if (std::optional<int64_t> count = countTrackedElements(shape)) {
      int64_t value =
          integer.getType().isInteger(1) ? integer.getValue().getZExtValue() : integer.getInt();
      SmallVector<AffineExpr> elements(*count, graph.getExpr(value));
      return node.setOutput(0, graph.makeElements(integer.getType(), shape, elements));
    }
  }
  return node.setOutput(0, graph.makeFilled(*dims, element));
}

/// Imports a range of floats; ONNX defines the number of elements.
static LogicalResult importFloatRange(Node &node) {
  float bounds[3];
  for (size_t i = 0; i < 3; ++i) {
    FailureOr<double> value = node.getSetting("", i, 0);
    if (failed(value))
      return failure();
    bounds[i] = static_cast<float>(*value);
  }
  auto [start, limit, delta] = bounds;
  double count = std::ceil((static_cast<double>(limit) - start) / delta);
  constexpr double maxElements = 1 << 24;
  if (!(delta != 0 && count <= maxElements))
    return node.emitError() << "has a 'delta' of " << describeNumber(delta) << " from "
                            << describeNumber(start) << " to " << describeNumber(limit)
                            << ", accepted: any number but 0, for at most 2^24 elements";
  SmallVector<float> elements;
  for (int64_t i = 0; i < static_cast<int64_t>(count); ++i)
    elements.push_back(start + static_cast<float>(i) * delta);
  auto type =
      RankedTensorType::get(static_cast<int64_t>(elements.size()), node.graph.builder.getF32Type());
  return node.setOutput(
      0, node.graph.makeConstant(DenseElementsAttr::get(type, ArrayRef<float>(elements))));
}

LogicalResult bppsa::importRange(Node &node) {
  if (failed(node.requireOneElementType({0, 1, 2})))
    return failure();
  if (node.input(0).elementType.isF32())
    return importFloatRange(node);
  SmallVector<int64_t> bounds;
  for (size_t i = 0; i < 3; ++i) {
    FailureOr<int64_t> value = node.getNumber(i, node.proto.input(i));
    if (failed(value))
      return failure();
    bounds.push_back(*value);
  }
  int64_t start = bounds[0], limit = bounds[1], delta = bounds[2];
  constexpr int64_t maxElements = 4096;
  SmallVector<AffineExpr> elements;
  if (delta == 0)
    return node.emitError() << "input 'delta' is 0, accepted: any other number";
  for (int64_t value = start; delta > 0 ? value < limit : value > limit;) {
    elements.push_back(node.graph.getExpr(value));
    if (elements.size() > maxElements || llvm::AddOverflow(value, delta, value))
      return node.emitError() << "has more than " << maxElements << " elements";
  }
  return node.setOutput(0,
                        node.graph.makeElements(node.input(0).elementType,
                                                static_cast<int64_t>(elements.size()), elements));
}
