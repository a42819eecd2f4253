//===- Bindings.cpp - bound inputs and dimensions -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Bindings.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace mlir;
using namespace bppsa;

std::optional<BindRequest> BindRequest::parse(const std::string &text) {
  // Names may contain '='; values cannot.
  auto [name, values] = StringRef(text).rsplit('=');
  if (name.empty() || values.empty())
    return std::nullopt;
  BindRequest request{name.str(), {}};
  for (StringRef value : llvm::split(values, ','))
    request.values.push_back(value.trim().str());
  return request;
}

std::string bppsa::getDimensionName(const onnx::ValueInfoProto &input, int64_t index) {
  const std::string &name = input.type().tensor_type().shape().dim(index).dim_param();
  return name.empty() ? input.name() + "." + std::to_string(index) : name;
}

/// Parses `text` as an element of type `type`.
static Attribute parseElement(StringRef text, Type type) {
  if (type.isF32()) {
    double number;
    if (text.getAsDouble(number))
      return {};
    return FloatAttr::get(type, static_cast<float>(number));
  }
  if (type.isInteger(1) && (text == "true" || text == "false"))
    return IntegerAttr::get(type, text == "true");
  int64_t number;
  if (text.getAsInteger(10, number) || (type.isInteger(1) && number != 0 && number != 1) ||
      (type.isInteger(32) && number != static_cast<int32_t>(number)))
    return {};
  return IntegerAttr::get(type, number);
}

namespace {
class BindingReader {
public:
  explicit BindingReader(const OnnxFile &file) : file(file), graph(file.model.graph()) {}
  FailureOr<GraphBindings> run(ArrayRef<BindRequest> requests);

private:
  InFlightDiagnostic error(const BindRequest &request) const {
    return emitError(file.location)
           << "--bind=" << request.name << "=" << llvm::join(request.values, ",") << ": ";
  }
  LogicalResult emitUnknown(const BindRequest &request) const;
  LogicalResult bindDimension(const BindRequest &request);
  LogicalResult bindInput(const BindRequest &request, const onnx::ValueInfoProto &input);
  /// Returns the sizes of `input`. An unbound dimension is inferred from the number of values.
  FailureOr<SmallVector<int64_t>> getShape(const BindRequest &request,
                                           const onnx::ValueInfoProto &input);

  const OnnxFile &file;
  const onnx::GraphProto &graph;
  GraphBindings result;
  std::set<std::string> inputs, dimensions;
};
} // namespace

LogicalResult BindingReader::emitUnknown(const BindRequest &request) const {
  InFlightDiagnostic diagnostic = error(request) << "the model has no input or symbolic dimension "
                                                 << quoted(request.name);
  diagnostic << "; its inputs are ";
  llvm::interleaveComma(inputs, diagnostic, [&](StringRef name) { diagnostic << quoted(name); });
  diagnostic << ", its symbolic dimensions ";
  if (dimensions.empty())
    diagnostic << "none";
  llvm::interleaveComma(dimensions, diagnostic,
                        [&](StringRef name) { diagnostic << quoted(name); });
  return diagnostic;
}

LogicalResult BindingReader::bindDimension(const BindRequest &request) {
  int64_t size;
  if (request.values.size() != 1 || StringRef(request.values.front()).getAsInteger(10, size) ||
      size < 1 || size > (int64_t(1) << 31))
    return error(request) << "a symbolic dimension is bound to a number, accepted: 1 to 2^31";
  if (!result.dimensions.try_emplace(request.name, size).second)
    return error(request) << "the dimension " << quoted(request.name) << " is bound twice";
  return success();
}

FailureOr<SmallVector<int64_t>> BindingReader::getShape(const BindRequest &request,
                                                        const onnx::ValueInfoProto &input) {
  const onnx::TypeProto::Tensor &type = input.type().tensor_type();
  SmallVector<int64_t> shape;
  int64_t known = 1, count = request.values.size();
  std::optional<int64_t> open;
  for (const auto &[i, dim] : llvm::enumerate(type.shape().dim())) {
    int64_t size = dim.dim_value();
    if (!dim.has_dim_value()) {
      auto it = result.dimensions.find(getDimensionName(input, i));
      if (it == result.dimensions.end() && open)
        return error(request) << "the input has several dimensions without a size; bind them too";
      if (it == result.dimensions.end())
        open = i;
      size = it == result.dimensions.end() ? 1 : std::get<int64_t>(it->second);
    }
    // The limit ensures that no product overflows.
    if (size < 1 || size > (1 << 20) || known > (1 << 20))
      return error(request) << "the input has too many elements, accepted: at most 2^20";
    shape.push_back(size);
    known *= size;
  }
  if (open) {
    shape[*open] = std::max<int64_t>(count / known, 1);
    known *= shape[*open];
    result.dimensions[getDimensionName(input, *open)] = shape[*open];
  }
  if (count != 1 && count != known) {
    InFlightDiagnostic diagnostic = error(request);
    diagnostic << count << " values for an input of shape [";
    llvm::interleaveComma(shape, diagnostic);
    return diagnostic << "], accepted: 1 or " << known;
  }
  return shape;
}

LogicalResult BindingReader::bindInput(const BindRequest &request,
                                       const onnx::ValueInfoProto &input) {
  const onnx::TypeProto::Tensor &type = input.type().tensor_type();
  Type elementType = convertDataType(type.elem_type(), file.location.getContext());
  if (!elementType || !type.has_shape())
    return error(request) << "the input has element type " << dataTypeName(type.elem_type())
                          << (type.has_shape() ? "" : " and no shape")
                          << ", accepted: float, int32, int64 or bool, with a shape";
  FailureOr<SmallVector<int64_t>> shape = getShape(request, input);
  if (failed(shape))
    return failure();
  SmallVector<Attribute> elements;
  for (const std::string &value : request.values) {
    elements.push_back(parseElement(value, elementType));
    if (!elements.back())
      return error(request) << quoted(value) << " is not a value of an input of type "
                            << dataTypeName(type.elem_type());
  }
  auto constant = DenseElementsAttr::get(RankedTensorType::get(*shape, elementType), elements);
  if (!result.inputs.try_emplace(request.name, constant).second)
    return error(request) << "the input " << quoted(request.name) << " is bound twice";
  return success();
}

FailureOr<GraphBindings> BindingReader::run(ArrayRef<BindRequest> requests) {
  std::set<std::string> initializers;
  for (const onnx::TensorProto &tensor : graph.initializer())
    initializers.insert(tensor.name());
  for (const onnx::ValueInfoProto &input : graph.input()) {
    if (initializers.count(input.name()))
      continue;
    inputs.insert(input.name());
    for (const auto &[i, dim] : llvm::enumerate(input.type().tensor_type().shape().dim()))
      if (!dim.has_dim_value())
        dimensions.insert(getDimensionName(input, i));
  }
  // Dimensions first, because bound inputs may have them.
  for (const BindRequest &request : requests)
    if (!inputs.count(request.name) &&
        (dimensions.count(request.name) ? failed(bindDimension(request))
                                        : failed(emitUnknown(request))))
      return failure();
  for (const onnx::ValueInfoProto &input : graph.input())
    for (const BindRequest &request : requests)
      if (request.name == input.name() && inputs.count(request.name) &&
          failed(bindInput(request, input)))
        return failure();
  return std::move(result);
}

FailureOr<GraphBindings> bppsa::readBindings(const OnnxFile &file, ArrayRef<BindRequest> requests) {
  return BindingReader(file).run(requests);
}
