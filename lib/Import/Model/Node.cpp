//===- Node.cpp - attributes and operands of one node ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace bppsa;

std::string bppsa::describeNumber(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", value);
  return text;
}

InFlightDiagnostic Node::emitError() const {
  StringRef name = proto.name();
  if (name.empty() && proto.output_size() != 0)
    name = proto.output(0);
  return mlir::emitError(file.location) << "node " << quoted(name) << " (" << getOp() << "): ";
}

const onnx::AttributeProto *Node::findAttribute(StringRef name) const {
  for (const onnx::AttributeProto &attribute : proto.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

int64_t Node::getInt(StringRef name, int64_t otherwise) const {
  const onnx::AttributeProto *attribute = findAttribute(name);
  return attribute ? attribute->i() : otherwise;
}

float Node::getFloat(StringRef name, float otherwise) const {
  const onnx::AttributeProto *attribute = findAttribute(name);
  return attribute ? attribute->f() : otherwise;
}

StringRef Node::getString(StringRef name, StringRef otherwise) const {
  const onnx::AttributeProto *attribute = findAttribute(name);
  return attribute ? StringRef(attribute->s()) : otherwise;
}

std::optional<ArrayRef<int64_t>> Node::getInts(StringRef name) const {
  const onnx::AttributeProto *attribute = findAttribute(name);
  if (!attribute)
    return std::nullopt;
  return ArrayRef<int64_t>(attribute->ints().data(), attribute->ints_size());
}

ArrayRef<float> Node::getFloats(StringRef name) const {
  const onnx::AttributeProto *attribute = findAttribute(name);
  return attribute ? ArrayRef<float>(attribute->floats().data(), attribute->floats_size())
                   : ArrayRef<float>();
}

SmallVector<StringRef> Node::getStrings(StringRef name) const {
  SmallVector<StringRef> values;
  if (const onnx::AttributeProto *attribute = findAttribute(name))
    values.append(attribute->strings().begin(), attribute->strings().end());
  return values;
}

LogicalResult Node::emitShapeError() const {
  InFlightDiagnostic diagnostic = emitError() << "the shapes of the inputs do not fit: ";
  llvm::interleaveComma(inputs, diagnostic, [&](const std::optional<Tensor> &tensor) {
    diagnostic << (tensor ? describeShape(*tensor) : "none");
  });
  return diagnostic;
}

static bool reads(const onnx::GraphProto &graph, const std::string &name) {
  auto readsInside = [&](const onnx::AttributeProto &attribute) {
    return attribute.has_g() && reads(attribute.g(), name);
  };
  return llvm::any_of(graph.output(), [&](const auto &output) { return output.name() == name; }) ||
         llvm::any_of(graph.node(), [&](const onnx::NodeProto &node) {
           return llvm::is_contained(node.input(), name) ||
                  llvm::any_of(node.attribute(), readsInside);
         });
}

bool Node::isRead(size_t index) const {
  return wantsOutput(index) && reads(parent, proto.output(index));
}

LogicalResult Node::setOutput(FailureOr<Tensor> tensor) {
  if (failed(tensor))
    return emitShapeError();
  return setOutput(0, std::move(*tensor));
}

LogicalResult Node::requireRank(size_t index, int64_t rank) const {
  if (!hasInput(index) || input(index).getRank() == rank)
    return success();
  SmallVector<const OperandRule *> rules;
  for (const OperandRule &operand : rule.inputs)
    if (operand.opsets.contains(opset))
      rules.push_back(&operand);
  return emitError() << "input " << quoted(rules[index]->name) << " has shape "
                     << describeShape(input(index)) << ", accepted: rank " << rank;
}

LogicalResult Node::requireOneElementType(ArrayRef<size_t> indices) const {
  Type type = input(indices.front()).elementType;
  for (size_t index : indices)
    if (input(index).elementType != type)
      return emitError() << "the inputs have element types " << type << " and "
                         << input(index).elementType << ", accepted: one type";
  return success();
}

FailureOr<int64_t> Node::normalizeAxis(int64_t axis, int64_t rank) const {
  if (axis < -rank || axis >= rank)
    return emitError() << "axis " << axis << " is out of range, accepted: " << -rank << " to "
                       << rank - 1;
  return axis < 0 ? axis + rank : axis;
}

FailureOr<SmallVector<int64_t>> Node::normalizeAxes(ArrayRef<int64_t> axes, int64_t rank) const {
  SmallVector<int64_t> result;
  for (int64_t axis : axes) {
    FailureOr<int64_t> normalized = normalizeAxis(axis, rank);
    if (failed(normalized))
      return failure();
    if (llvm::is_contained(result, *normalized))
      return emitError() << "axis " << axis << " is given twice";
    result.push_back(*normalized);
  }
  llvm::sort(result);
  return result;
}

FailureOr<SmallVector<AffineExpr>> Node::getExprs(size_t index) const {
  const Tensor &tensor = input(index);
  if (!tensor.elements)
    return emitError() << "input " << quoted(proto.input(index))
                       << " depends on data, accepted: a constant or a value computed from sizes";
  if (tensor.getRank() > 1)
    return emitError() << "input " << quoted(proto.input(index)) << " has rank " << tensor.getRank()
                       << ", accepted: at most 1";
  return *tensor.elements;
}

FailureOr<SmallVector<int64_t>> Node::getConstants(size_t index) const {
  FailureOr<SmallVector<AffineExpr>> exprs = getExprs(index);
  if (failed(exprs))
    return failure();
  SmallVector<int64_t> values;
  for (AffineExpr expr : *exprs) {
    std::optional<int64_t> value = getConstant(expr);
    if (!value)
      return emitError() << "input " << quoted(proto.input(index))
                         << " depends on the sizes of the graph inputs, accepted: a constant";
    values.push_back(*value);
  }
  return values;
}

FailureOr<int64_t> Node::getNumber(size_t index, StringRef name) const {
  FailureOr<SmallVector<int64_t>> values = getConstants(index);
  if (failed(values))
    return failure();
  if (values->size() != 1)
    return emitError() << "input " << quoted(name) << " has " << values->size()
                       << " elements, accepted: 1";
  return values->front();
}

FailureOr<std::optional<SmallVector<int64_t>>> Node::getList(StringRef attribute,
                                                             size_t index) const {
  if (std::optional<ArrayRef<int64_t>> values = getInts(attribute))
    return std::make_optional(SmallVector<int64_t>(*values));
  if (!hasInput(index))
    return std::optional<SmallVector<int64_t>>();
  FailureOr<SmallVector<int64_t>> values = getConstants(index);
  if (failed(values))
    return failure();
  return std::make_optional(*values);
}

std::optional<double> bppsa::getSplatConstant(const Tensor &tensor) {
  DenseElementsAttr attribute;
  if (tensor.elements && tensor.elements->size() == 1)
    if (std::optional<int64_t> value = getConstant(tensor.elements->front()))
      return *value;
  if (!tensor.value || !matchPattern(tensor.value, m_Constant(&attribute)) ||
      !attribute.isSplat() || !tensor.elementType.isF32())
    return std::nullopt;
  return attribute.getSplatValue<APFloat>().convertToFloat();
}

FailureOr<double> Node::getSetting(StringRef name, size_t index, double otherwise) const {
  if (hasAttribute(name))
    return getFloat(name, 0);
  if (!hasInput(index))
    return otherwise;
  std::optional<double> value = getSplatConstant(input(index));
  if (const onnx::TensorProto *initializer = initializers.lookup(proto.input(index));
      initializer && !value) {
    FailureOr<DenseElementsAttr> elements =
        decodeTensor(file, *initializer, "initializer " + quoted(initializer->name()));
    if (failed(elements))
      return failure();
    if (elements->isSplat())
      value = elements->getSplatValue<APFloat>().convertToFloat();
    freeze(index);
  }
  if (!value)
    return emitError() << "input " << quoted(proto.input(index))
                       << " is not a constant of one value, accepted: a constant or initializer";
  return *value;
}

void Node::freeze(size_t index) const {
  auto number = graph.parameterNumbers.find(proto.input(index));
  if (number != graph.parameterNumbers.end())
    attrs::Frozen::set(graph.argumentAttributes[number->second], UnitAttr::get(graph.getContext()));
}

FailureOr<SmallVector<Dim>> Node::makeDims(ArrayRef<AffineExpr> sizes) const {
  SmallVector<Dim> dims;
  // The limit ensures that sizes in bytes cannot overflow.
  constexpr int64_t maxElements = int64_t(1) << 40;
  int64_t elements = 1;
  for (AffineExpr size : sizes) {
    std::optional<int64_t> low = getLowerBound(size, graph.minSizes), constant = getConstant(size);
    if (!low || *low < 0)
      return emitError() << "the result would have a dimension of size " << graph.describe(size)
                         << ", which may be negative";
    if (constant && (llvm::MulOverflow(elements, *constant, elements) || elements > maxElements))
      return emitError() << "the result would have more than 2^40 elements";
    dims.push_back(graph.getDim(size));
  }
  return dims;
}
