//===- NodeChecks.cpp - check nodes against the support table -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace bppsa;

static std::optional<AttributeKind> getKind(const onnx::AttributeProto &attribute) {
  switch (attribute.type()) {
  case onnx::AttributeProto::INT:
    return AttributeKind::Int;
  case onnx::AttributeProto::INTS:
    return AttributeKind::Ints;
  case onnx::AttributeProto::FLOAT:
    return AttributeKind::Float;
  case onnx::AttributeProto::FLOATS:
    return AttributeKind::Floats;
  case onnx::AttributeProto::STRING:
    return AttributeKind::String;
  case onnx::AttributeProto::STRINGS:
    return AttributeKind::Strings;
  case onnx::AttributeProto::TENSOR:
    return AttributeKind::Tensor;
  case onnx::AttributeProto::SPARSE_TENSOR:
    return AttributeKind::SparseTensor;
  case onnx::AttributeProto::GRAPH:
    return AttributeKind::Graph;
  default:
    return std::nullopt;
  }
}

static std::string describeValue(const onnx::AttributeProto &attribute) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto list = [&](const auto &values, auto print) {
    os << '[';
    llvm::interleaveComma(ArrayRef(values.data(), std::min<size_t>(values.size(), 8)), os, print);
    os << (values.size() > 8 ? ", ...]" : "]");
  };
  switch (attribute.type()) {
  case onnx::AttributeProto::INT:
    os << attribute.i();
    break;
  case onnx::AttributeProto::FLOAT:
    os << describeNumber(attribute.f());
    break;
  case onnx::AttributeProto::STRING:
    os << quoted(attribute.s());
    break;
  case onnx::AttributeProto::INTS:
    list(attribute.ints(), [&](int64_t value) { os << value; });
    break;
  case onnx::AttributeProto::FLOATS:
    list(attribute.floats(), [&](float value) { os << describeNumber(value); });
    break;
  case onnx::AttributeProto::STRINGS:
    list(attribute.strings(), [&](const std::string *value) { os << quoted(*value); });
    break;
  default:
    os << "a value of type "
       << StringRef(onnx::AttributeProto::AttributeType_Name(attribute.type())).lower();
  }
  return text;
}

LogicalResult Node::checkAttribute(const onnx::AttributeProto &attribute) const {
  auto it = llvm::find_if(rule.attributes, [&](const AttributeRule &candidate) {
    return candidate.name == attribute.name();
  });
  if (it == rule.attributes.end())
    return emitError() << "attribute " << quoted(attribute.name()) << " is "
                       << describeValue(attribute) << ", but the op has no such attribute";
  if (!it->opsets.contains(opset))
    return emitError() << "attribute " << quoted(attribute.name()) << " is "
                       << describeValue(attribute) << ", but in opset " << opset
                       << " the op has no such attribute; accepted in opset " << it->opsets.first
                       << " to " << it->opsets.last;
  if (it->isRefused)
    return emitError() << "attribute " << quoted(attribute.name()) << " is "
                       << describeValue(attribute)
                       << ", which is not supported; accepted: no such attribute";
  if (!attribute.ref_attr_name().empty())
    return emitError() << "attribute " << quoted(attribute.name())
                       << " refers to an attribute of a function, accepted: "
                       << describeAccepted(*it);
  bool accepted = getKind(attribute) == it->kind;
  if (accepted && !it->integers.empty())
    accepted = llvm::is_contained(it->integers, attribute.i());
  auto isAccepted = [&](const std::string &value) {
    return llvm::is_contained(it->strings, value);
  };
  if (accepted && !it->strings.empty())
    accepted = it->kind == AttributeKind::String ? isAccepted(attribute.s())
                                                 : llvm::all_of(attribute.strings(), isAccepted);
  if (!accepted)
    return emitError() << "attribute " << quoted(attribute.name()) << " is "
                       << describeValue(attribute) << ", accepted: " << describeAccepted(*it);
  return success();
}

LogicalResult Node::checkAttributes() const {
  if (!proto.overload().empty())
    return emitError() << "has the overload " << quoted(proto.overload()) << ", accepted: none";
  for (const onnx::AttributeProto &attribute : proto.attribute()) {
    if (findAttribute(attribute.name()) != &attribute)
      return emitError() << "attribute " << quoted(attribute.name()) << " is given twice";
    if (failed(checkAttribute(attribute)))
      return failure();
  }
  for (const AttributeRule &attribute : rule.attributes)
    if (attribute.isRequired && attribute.opsets.contains(opset) && !hasAttribute(attribute.name))
      return emitError() << "attribute " << quoted(attribute.name)
                         << " is missing, accepted: " << describeAccepted(attribute);
  return success();
}

LogicalResult Node::checkOperands() const {
  SmallVector<const OperandRule *> rules;
  for (const OperandRule &operand : rule.inputs)
    if (operand.opsets.contains(opset))
      rules.push_back(&operand);
  bool isVariadic = !rules.empty() && rules.back()->status == OperandStatus::Variadic;
  if (!isVariadic && inputs.size() > rules.size())
    return emitError() << "has " << inputs.size() << " inputs, accepted: at most " << rules.size()
                       << " in opset " << opset;
  if (isVariadic && inputs.empty())
    return emitError() << "has no inputs, accepted: at least 1";
  for (size_t i = 0; i < std::max(inputs.size(), rules.size()); ++i) {
    const OperandRule &operand = *rules[std::min(i, rules.size() - 1)];
    if (!hasInput(i)) {
      bool mayMiss =
          operand.status == OperandStatus::Optional || (isVariadic && i >= inputs.size());
      if (!mayMiss)
        return emitError() << "input " << quoted(operand.name) << " is missing";
      continue;
    }
    Type type = input(i).elementType;
    unsigned kind = input(i).list       ? ListOfTensors
                    : type.isF32()      ? F32
                    : type.isInteger(1) ? Bool
                                        : Integers;
    if (kind == ListOfTensors && !(operand.elementTypes & kind))
      return emitError() << "input " << quoted(operand.name)
                         << " is a list of tensors, accepted: " << describe(operand.elementTypes)
                         << "; ConcatFromSequence turns a list into a tensor";
    if (!(operand.elementTypes & kind))
      return emitError() << "input " << quoted(operand.name) << " has element type "
                         << (type.isF32()   ? "float"
                             : kind == Bool ? "bool"
                                            : "int")
                         << ", accepted: " << describe(operand.elementTypes);
  }
  bool variadicOutputs =
      !rule.outputs.empty() && rule.outputs.back().status == OperandStatus::Variadic;
  if (outputs.empty() || (!variadicOutputs && outputs.size() > rule.outputs.size()))
    return emitError() << "has " << outputs.size() << " outputs, accepted: 1"
                       << (rule.outputs.size() > 1 ? " to " + std::to_string(rule.outputs.size())
                           : variadicOutputs       ? " or more"
                                                   : "");
  return success();
}
